"""Writers for tools that label or train on characters: Label Studio, Prodigy, brat, GLiNER.

Formats that are not written line by line are packed at the end, from the lines that a job has written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Corpus, Sentence
from nersery.core.sentence_validation import MAX_SENTENCE_LENGTH
from nersery.core.system.files import BRAT_LABELS, BRAT_TEXT
from nersery.core.text.spacing import spaces_in
from nersery.core.warnings import warn
from nersery.io.annotation_tools.labelled_text import CharacterSpan
from nersery.io.annotation_tools.standoff import are_in_characters, layout, splits_alike, strict_layout
from nersery.io.annotation_tools.word_spans import WordSpansSource, recognises
from nersery.io.base import ReadOptions, Writer
from nersery.io.columns_and_rows.objects import ENCODER, JsonObject
from nersery.io.formats import DOCUMENTS, ENTITIES, OFFSETS, PLAIN, WORDS, Format
from nersery.io.input_files.text_file import BYTE_ORDER_MARK, TextFile
from nersery.io.jsonl import JsonlSource
from nersery.io.word_splitting.tokenization import splitter, suggested_splitting

_UNSAFE = re.compile(r"[^\w.-]+")
MAX_NAME_LENGTH = 200
"""The maximum bytes of a document's file name, without number and extension. File systems allow 255 in total."""


def _labels(sentence: Sentence, text: str, offsets: Sequence[CharacterSpan]) -> Iterator[tuple[int, int, str, str]]:
    """The entities by characters of the sentence's text: start, end, type and covered text."""
    for start, end, type_ in sentence.labels:
        first, last = offsets[start][0], offsets[end - 1][1]
        yield first, last, type_, text[first:last]


def _source(sentence: Sentence) -> JsonObject:
    """What identifies a sentence: its id, and its position in the document if that is known."""
    reference: JsonObject = {"id": sentence.id, "language": sentence.language, "document": sentence.document}
    if sentence.offsets:
        reference["start"] = sentence.offsets[0][0]
    return {key: value for key, value in reference.items() if value != ""}


class LabelStudioWriter(Writer):
    """Writes tasks with predictions; offsets count code points, as Label Studio has done since 2022.

    The offsets of words are added if splitting the text would give other words.
    """

    def encode(self, sentence: Sentence) -> str:
        text, offsets = strict_layout(sentence)
        results = [
            {
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": {"start": start, "end": end, "text": covered, "labels": [type_]},
            }
            for start, end, type_, covered in _labels(sentence, text, offsets)
        ]
        origin = sentence.origin.method if sentence.origin else "nersery"
        words = {} if splits_alike(text, sentence) else {"words": offsets}
        task = {"data": {"text": text, "meta": _source(sentence) | words}}
        return f"{ENCODER.encode({**task, 'predictions': [{'model_version': origin, 'result': results}]})}\n"


class ProdigyWriter(Writer):
    """Writes tasks with ``tokens`` and ``spans`` for ``ner.manual`` and ``db-in``."""

    def encode(self, sentence: Sentence) -> str:
        text, offsets = strict_layout(sentence)
        tokens = [
            {"text": text[start:end], "start": start, "end": end, "id": number, "ws": has_space}
            for number, ((start, end), has_space) in enumerate(zip(offsets, [*spaces_in(offsets), False], strict=True))
        ]
        labels = _labels(sentence, text, offsets)
        spans = [
            {"start": first, "end": last, "token_start": entity.start, "token_end": entity.end - 1, "label": type_}
            for entity, (first, last, type_, _) in zip(sentence.entities, labels, strict=True)
        ]
        return f"{ENCODER.encode({'text': text, 'tokens': tokens, 'spans': spans, 'meta': _source(sentence)})}\n"


class GlinerWriter(Writer):
    """Writes training data of GLiNER: words, and entities with their last word."""

    def encode(self, sentence: Sentence) -> str:
        entities = [[start, end - 1, type_] for start, end, type_ in sentence.labels]
        return f"{ENCODER.encode({'tokenized_text': list(sentence.words), 'ner': entities})}\n"


def pack_array(lines: Path, target: Path) -> None:
    """Make one JSON array from the objects in the lines of a file."""
    with lines.open(encoding="utf-8", newline="\n") as source, target.open("w", encoding="utf-8", newline="\n") as out:
        out.write("[")
        for number, line in enumerate(source):
            out.write((",\n" if number else "\n") + line.rstrip("\n"))
        out.write("\n]\n")


def pack_brat(lines: Path, target: Path) -> None:
    """Make a folder with two files for each document. Sentences of unknown documents become lines of one document."""
    documents: dict[str, list[Sentence]] = {}
    corpus = Corpus(JsonlSource(TextFile(lines), ReadOptions()))
    _check_names(corpus.types)
    for sentence in corpus:
        documents.setdefault(sentence.document, []).append(sentence)
    _note_lost_words([*documents.values()])
    target.mkdir(exist_ok=True)
    names: set[str] = set()
    for document, sentences in documents.items():
        safe_name = _UNSAFE.sub("_", document).strip(".").encode()
        stem = safe_name[:MAX_NAME_LENGTH].decode(errors="ignore") or "sentences"  # without half of a character
        free = chain([stem], (f"{stem}_{number}" for number in count(2)))
        name = next(name for name in free if name.casefold() not in names)
        names.add(name.casefold())
        text, labels = _whole(sentences)
        (target / f"{name}{BRAT_TEXT}").write_text(text, "utf-8", newline="\n")
        (target / f"{name}{BRAT_LABELS}").write_text(labels, "utf-8", newline="\n")


def _note_lost_words(documents: Sequence[Sequence[Sentence]]) -> None:
    """Warn about a word that is split when brat's files, which hold no words, are read."""
    texts = [[layout(sentence, spaced=True)[0] for sentence in sentences] for sentences in documents]
    run_on = suggested_splitting(chain.from_iterable(texts)) == "characters"
    is_spaced, lost = True, ""
    for sentences, lines in zip(documents, texts, strict=True):
        splitting = "characters" if are_in_characters(lines, run_on=run_on) else "signs"
        for sentence, line in zip(sentences, lines, strict=True):
            words = {*splitter(splitting, sentence.language)(line)}
            lost = lost or next((word for word in sentence.words if word not in words), "")
            is_spaced = is_spaced and tuple(line.split()) == sentence.words
    if lost:
        advice = "read them with --split spaces" if is_spaced else "write .jsonl"
        warn(f'brat does not store words: "{lost}" is split when its files are read. To keep such words, {advice}')


def _check_names(types: Sequence[str]) -> None:
    """Warn about types that get another name in brat. Raise `DataError` if two types get the same name."""
    names: dict[str, str] = {}
    for type_ in types:
        name = _joined(type_)
        if (other := names.setdefault(name, type_)) != type_:
            message = f"the types {other!r} and {type_!r} would both be {name}: brat allows no spaces in types"
            fix = f"rename one of them, e.g. by nersery dataset convert --type {shlex.quote(f'{type_}=NEW')}"
            raise DataError(message, fix=fix)
    if spaced := [f"{type_} is {name}" for name, type_ in names.items() if name != type_]:
        warn(f"brat allows no spaces in types, so they become underscores: {', '.join(spaced)}")


def _joined(type_: str) -> str:
    return "_".join(type_.split())


def _whole(sentences: list[Sentence]) -> tuple[str, str]:
    """The text of a document with a line per sentence, and its labels, at their original positions if these are known.

    Offsets of sentences without a document, such as those of raw text, count within their own lines.
    """
    parts: list[str] = []
    labels: list[str] = []
    at = 0
    for sentence in sorted(sentences, key=lambda sentence: (_place(sentence) is None, _place(sentence) or 0)):
        text, offsets = layout(sentence, spaced=True)
        # Sentences that overlap or touch, such as those of a copy, follow each other. A byte order mark gets a space in
        # front of it: brat counts a mark at the start of a file as a character, but most readers skip it.
        first = at + bool(parts or text.startswith(BYTE_ORDER_MARK))
        first = max(first, _place(sentence) or 0)
        if (gap := first - at) > MAX_SENTENCE_LENGTH:
            message = f"{gap:,} characters are before this sentence, expected at most {MAX_SENTENCE_LENGTH:,}"
            raise DataError(Issue(message, sentence=sentence.id), fix="correct its offsets, or leave them out")
        parts += [" " * (gap - 1) + "\n" if parts and gap else " " * gap, text]
        at = first + len(text)
        for start, end, type_, covered in _labels(sentence, text, offsets):
            labels.append(f"T{len(labels) + 1}\t{_joined(type_)} {first + start} {first + end}\t{covered}\n")
    return "".join(parts) + "\n", "".join(labels)


def _place(sentence: Sentence) -> int | None:
    """The first character of a sentence in its document, if both are known."""
    return sentence.offsets[0][0] if sentence.document and sentence.offsets else None


FORMATS = (
    Format(
        "label-studio",
        "tasks with predictions, for import into Label Studio",
        writer=LabelStudioWriter,
        pack=pack_array,
        keeps=PLAIN | {DOCUMENTS, OFFSETS},
    ),
    Format(
        "prodigy", "tasks of Prodigy with tokens and spans", writer=ProdigyWriter, keeps=PLAIN | {DOCUMENTS, OFFSETS}
    ),
    Format(
        "gliner",
        "training data of GLiNER; also reads that of DyGIE and SpERT",
        reader=WordSpansSource,
        writer=GlinerWriter,
        pack=pack_array,
        keeps=frozenset({WORDS, ENTITIES}),
        recognises=recognises,
    ),
)
