"""Texts with labels by character offsets, split into sentences and words.

Each line is a sentence. Words are split at punctuation. A label that begins or ends inside a word is an issue, which a
repair can fix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Sentence
from nersery.core.text.spacing import are_written_together, lacks_spaces
from nersery.core.warnings import warn
from nersery.io.annotation_tools.labelled_text import (
    LEAVE_OUT,
    SIGNS_HINT,
    CharacterSpan,
    Document,
    LabelledSpan,
    Line,
    options_of,
    suits,
)
from nersery.io.base import RETURN_HINT, Findings, Source, carriage_return_issue, issues_in, unreadable_sentence
from nersery.io.repairs import CUT_WORDS, OFFSET_REPAIRS, UTF16_OFFSETS, WHOLE_WORDS, repair_hint
from nersery.io.text import MAX_LINE_LENGTH, SPLIT_HINT
from nersery.io.word_splitting.tokenization import splitter, suggested_splitting

APART_HINT = "the labels of other texts fit only with {}: read the two kinds of texts from files of their own"
DOCUMENTS_READ = 100
"""The number of texts that are examined before their file is split into words."""


def layout(sentence: Sentence, *, spaced: bool = False) -> tuple[str, list[CharacterSpan]]:
    """The text of a sentence and the characters of its words in it.

    The distance between words is that in the document if it is known, otherwise the usual one.

    Args:
        spaced: Put a space between words also in scripts without spaces, for a format that splits the text again.

    >>> layout(Sentence(("Oslo", "!"), offsets=((3, 7), (7, 8))))
    ('Oslo!', [(0, 4), (4, 5)])
    >>> layout(Sentence(("北京", "很", "大")))[0], layout(Sentence(("Oslo", "!")))[0]
    ('北京很大', 'Oslo !')
    """
    known, text, offsets = sentence.offsets, "", list[CharacterSpan]()
    for number, word in enumerate(sentence.words):
        if number == 0:
            distance = 0
        elif known:  # not the offsets themselves, because a repair may have changed the length of a word
            distance = known[number][0] - known[number - 1][1]
        else:
            distance = int(spaced or not are_written_together(sentence.words[number - 1], word))
        text += " " * distance + word
        offsets.append((len(text) - len(word), len(text)))
    return text, offsets


def strict_layout(sentence: Sentence) -> tuple[str, list[CharacterSpan]]:
    """Like `layout`, but raise `DataError` for a word that begins or ends with white space, which reading strips."""
    if odd := next((word for word in sentence.words if word.strip() != word), None):
        message = f"the word {odd!r} begins or ends with white space, which labels by characters cannot keep"
        raise DataError(Issue(message, sentence=sentence.id), fix="write .jsonl, which holds everything")
    return layout(sentence)


def splits_alike(text: str, sentence: Sentence) -> bool:
    """Whether reading the text of a sentence gives its words even without their offsets."""
    splittings = (StandoffSource.splitting, "characters") if lacks_spaces(text) else (StandoffSource.splitting,)
    return all(tuple(splitter(name, sentence.language)(text)) == sentence.words for name in splittings)


def are_in_characters(lines: Sequence[str], *, run_on: bool) -> bool:
    """Whether the lines of a file are split into characters; see `StandoffSource.run_on`."""
    return (run_on and any(map(lacks_spaces, lines))) or suggested_splitting(lines) == "characters"


class StandoffSource(Source):
    """Sentences from texts with labels by code points.

    Unless the options say otherwise, a file whose first texts run on without spaces is split into characters.
    """

    splits_text = True
    splitting = "punctuation"
    """How other texts are split."""
    return_hint = RETURN_HINT
    """The fix for carriage returns inside lines."""
    numbers_lines = False
    """Whether the id of a sentence has the number of its line even if there is only one line."""
    run_on = False
    """Whether the first texts in its folder run on without spaces. Its own texts are then split as they are."""

    def _words(self, language: str, text: str) -> list[str]:
        return splitter(self.options.split or self._suggested, language)(text)

    @cached_property
    def _suggested(self) -> str:
        lines = [*self.first_lines(Findings(self.file, self.options))]
        return "characters" if are_in_characters(lines, run_on=self.run_on) else self.splitting

    def first_lines(self, findings: Findings) -> Iterator[str]:
        """The lines that show how the texts are split."""
        first = islice(self.documents(findings), DOCUMENTS_READ)
        return (line.text for document in first for line in document.lines())

    @abstractmethod
    def documents(self, findings: Findings) -> Iterator[Document]:
        """Read the texts once and record everything that is wrong in ``findings``."""

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        first_shifted, is_decided, gains, types = "", False, Counter[tuple[str, ...]](), set[str]()
        stretched = [name for name in (WHOLE_WORDS, CUT_WORDS) if name in self.options.repair]
        for document in map(partial(self._recounted, findings), self.documents(findings)):
            if document.unmoved is not None and document.unmoved.fitting_count < document.fitting_count:
                applied = options_of(document.repairs)
                findings.instead[LEAVE_OUT.format(applied)] = APART_HINT.format(applied)
            if UTF16_OFFSETS in document.suitable_repairs and (UTF16_OFFSETS,) in document.gains:
                first_shifted = first_shifted or document.id
                is_decided = is_decided or document.gains[UTF16_OFFSETS,] != 0
            types.update(span.type for span in document.spans)
            if stretched:
                gains.update(document.gains)
            lines = list(document.lines())
            for line in lines:
                alone = len(lines) == 1 and not self.numbers_lines
                sentence = self._sentence(line, document.id if alone else f"{document.id}:{line.number}", findings)
                if sentence is not None:
                    yield sentence
                    continue
                if not stretched:
                    gains.update(document.gains)
                findings.overruled = other_repairs(gains)
        if stretched and (way := best_way(gains)):
            better = f"{options_of(way)} in place of {options_of(stretched)}"
            warn(f"{self.file.name}: more labels fit if their offsets are counted differently. Try {better}")
        if first_shifted and not is_decided:
            warn(
                f"{self.file.name}: some labels come after an emoji (first in {first_shifted}), and fit words "
                "whether it counts as one character or as two. It was counted as one. If your tool counts two, as "
                f"JavaScript does: {options_of([UTF16_OFFSETS])}"
            )
        if tagged := sorted(type_[2:] for type_ in types if type_[:2] == "B-" and f"I-{type_[2:]}" in types):
            warn(
                f"{self.file.name}: the types B-{tagged[0]} and I-{tagged[0]} seem to be tags of single words. They "
                f"were read as two types; expected one label {tagged[0]} for each whole mention"
            )

    def _recounted(self, findings: Findings, document: Document) -> Document:
        """The document with its offsets counted as the requested repairs say."""
        names = [name for name in document.suitable_repairs if name in self.options.repair]
        if not names:
            return document
        moved = document.moved(names)
        count = sum(map(LabelledSpan.__ne__, document.spans, moved.spans))
        findings.count_repairs(+Counter(dict.fromkeys(names, count)))
        return moved

    def _sentence(self, line: Line, id: str, findings: Findings) -> Sentence | None:
        document = line.document
        possible = (
            *document.issues.get(line.number, ()),
            _too_long(line),
            carriage_return_issue(line.text, document.line, self.return_hint),
        )
        issues = [issue for issue in possible if issue]
        if clash := findings.record_id(id, document.line):
            issues.append(clash)
        language = self.options.language if document.language is None else document.language
        offsets = uncut = [] if issues else line.offsets(partial(self._words, language))
        widened = 0
        if WHOLE_WORDS in self.options.repair:
            unwidened, line = line, line.widened(uncut)
            widened = sum(map(LabelledSpan.__ne__, unwidened.spans, line.spans))
        if CUT_WORDS in self.options.repair:
            offsets = line.cut_at_labels(uncut)
        words, cleaned = findings.clean([document.text[start:end] for start, end in offsets])
        if not issues:
            issues += line.issues(offsets)
            try:
                entities = () if issues else line.entities(offsets)
                name, start = document.source or (document.id, 0)
                in_document = tuple((start + first, start + end) for first, end in offsets)
                sentence = Sentence(words, entities, id, language, document=name, offsets=in_document)
            except DataError as error:
                issues += issues_in(error, document.line)
        if not issues:
            findings.count_repairs(+Counter({WHOLE_WORDS: widened, CUT_WORDS: len(offsets) - len(uncut)}), cleaned)
            return sentence
        labels = [f"# label: {span}" for span in line.spans]
        findings.record_broken(id, issues, unreadable_sentence(" ".join(words) or line.text, labels))
        return None


def best_way(gains: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """The other way to count offsets with which most labels of a file fit, by its repairs; empty if no more do."""
    way, gain = max(gains.items(), key=itemgetter(1), default=((), 0))
    return way if gain > 0 else ()


def other_repairs(gains: Mapping[tuple[str, ...], int]) -> list[str]:
    """The hints that do not suit a file: beside a better way to count offsets, or with which fewer labels fit."""
    if way := best_way(gains):
        return [
            SIGNS_HINT,
            *(repair_hint(name) for name in (*OFFSET_REPAIRS, WHOLE_WORDS, CUT_WORDS) if name not in way),
        ]
    worse = {name for way in gains for name in way} - {name for way in gains if suits(way, gains[way]) for name in way}
    return [*map(repair_hint, sorted(worse))]


def _too_long(line: Line) -> Issue | None:
    if line.end - line.start <= MAX_LINE_LENGTH:
        return None
    message = f"a line of the text has more than {MAX_LINE_LENGTH:,} characters, expected one sentence"
    return Issue(message, line=line.document.line, kind="line too long", fixes=(SPLIT_HINT,))
