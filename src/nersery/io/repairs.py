"""Named repairs of broken input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from nersery.core.sentence import Entity, Sentence
from nersery.core.sentence_validation import without_control
from nersery.core.tags import (
    EMPTY,
    NO_ENTITY,
    OUTSIDE,
    SCHEMES,
    Scheme,
    TagIssue,
    decode,
    has_letter_last,
    has_other_dash,
    has_small_letter,
    is_bare,
    meanings_of,
    without_outer_space,
)
from nersery.core.text.text_forms import composed
from nersery.io.input_files.text_file import BLANKS


@dataclass(frozen=True, slots=True)
class Repair:
    """A named repair.

    Args:
        summary: One line.
        repair_tags: Maps broken tags to the same number of tags; None if the reader does the repair.
    """

    summary: str
    repair_tags: Callable[[list[str], Scheme], list[str]] | None = None


def _outer_space(tags: list[str], scheme: Scheme) -> list[str]:
    return [*map(without_outer_space, tags)]


def _small_letter(tags: list[str], scheme: Scheme) -> list[str]:
    return [f"{tag[0].upper()}{tag[1:]}" if has_small_letter(tag, scheme.letters) else tag for tag in tags]


def _letter_last(tags: list[str], scheme: Scheme) -> list[str]:
    return [f"{tag[-1]}-{tag[:-2]}" if has_letter_last(tag, scheme.letters) else tag for tag in tags]


def _underscore(tags: list[str], scheme: Scheme) -> list[str]:
    return [f"{tag[0]}-{tag[2:]}" if has_other_dash(tag, scheme.letters) else tag for tag in tags]


def _lost_prefix(tags: list[str], scheme: Scheme) -> list[str]:
    return _with_letters(tags, scheme, [tag[1:] if tag[:1] == "-" else "" for tag in tags])


def _bare_type(tags: list[str], scheme: Scheme) -> list[str]:
    return _with_letters(tags, scheme, [tag if is_bare(tag) else "" for tag in tags])


def _with_letters(tags: list[str], scheme: Scheme, types: Iterable[str]) -> list[str]:
    """The tags, replaced where a type is given: the type continues an open entity of that type, or begins one."""
    meanings, mended, previous = meanings_of(scheme.name), list(tags), NO_ENTITY
    for index, type_ in enumerate(types):
        if type_:
            continues = previous.type == type_ and not previous.closes
            mended[index] = f"{scheme.inside if continues else scheme.begin}-{type_}"
        previous = meanings[mended[index]]
    return mended


def _bare_dash(tags: list[str], scheme: Scheme) -> list[str]:
    return [OUTSIDE if tag in EMPTY else tag for tag in tags]


def _orphan_inside(tags: list[str], scheme: Scheme) -> list[str]:
    meanings, mended = meanings_of(scheme.name), list(tags)
    for entity in () if scheme.lazy else decode(tags, scheme.name)[0]:
        meaning = meanings[tags[entity.start]]
        if not meaning.opens:
            mended[entity.start] = f"{scheme.single if meaning.closes else scheme.begin}-{entity.type}"
    return mended


def _open_end_repair(tags: list[str], scheme: Scheme) -> list[str]:
    meanings, mended = meanings_of(scheme.name), list(tags)
    for entity in decode(tags, scheme.name)[0] if scheme.marks_ends else ():
        first, last = meanings[tags[entity.start]], meanings[tags[entity.end - 1]]
        alone = entity.end - entity.start == 1 and first.opens != last.closes
        if alone or not last.closes:
            mended[entity.end - 1] = f"{scheme.single if alone else scheme.end}-{entity.type}"
    return mended


RAGGED_LINES, OUTER_SPACE, DROP_SENTENCE = "ragged-lines", "outer-space", "drop-sentence"
EXTRA_ROWS, BLANK_WORDS, LANGUAGE_PREFIX = "extra-rows", "blank-words", "language-prefix"
CONTROL_CHARACTERS, INNER_MARK, WORD_DIGIT = "control-characters", "byte-order-mark", "word-digit"
UTF16_OFFSETS, UTF8_OFFSETS, CRLF_OFFSETS = "utf16-offsets", "utf8-offsets", "crlf-offsets"
NFC_OFFSETS, NFD_OFFSETS = "nfc-offsets", "nfd-offsets"
OFFSET_REPAIRS = (UTF16_OFFSETS, UTF8_OFFSETS, NFC_OFFSETS, NFD_OFFSETS, CRLF_OFFSETS)
WHOLE_WORDS, CUT_WORDS, NFC = "whole-words", "cut-words", "nfc"
REPAIRS: Mapping[str, Repair] = MappingProxyType(
    {
        INNER_MARK: Repair("a sentence in columns loses its byte order mark"),
        EXTRA_ROWS: Repair("CoNLL-U's ranges (3-4) and empty nodes (8.1) are left out"),
        BLANK_WORDS: Repair("a word that is empty or a space is left out"),
        RAGGED_LINES: Repair("a line with another number of columns keeps only its word and tag"),
        OUTER_SPACE: Repair("a word, tag or type loses outer white space", _outer_space),
        LANGUAGE_PREFIX: Repair("en:Oslo becomes Oslo if all words begin with a language"),
        WORD_DIGIT: Repair("西0 becomes 西 if all words are a character and a number"),
        "small-letter": Repair("b-per becomes B-per, and o becomes O", _small_letter),
        "letter-last": Repair("PER-B becomes B-PER", _letter_last),
        "underscore": Repair("B_PER or B–PER becomes B-PER", _underscore),
        "lost-prefix": Repair("-PER becomes I-PER after a PER entity's word, else B-PER", _lost_prefix),
        "bare-type": Repair("PER becomes I-PER after a PER entity's word, else B-PER", _bare_type),
        "bare-dash": Repair("-, _ or nothing becomes O", _bare_dash),
        "orphan-inside": Repair("I-PER (M-, E-) that continues nothing begins an entity", _orphan_inside),
        "open-end": Repair("an entity without its E- or L- ends at its last word", _open_end_repair),
        CONTROL_CHARACTERS: Repair("a word loses its control characters, such as NUL"),
        UTF16_OFFSETS: Repair("offsets of labels count as in JavaScript, an emoji as two"),
        UTF8_OFFSETS: Repair("offsets of labels count bytes of UTF-8"),
        NFC_OFFSETS: Repair("offsets of labels count as in NFC, é as one"),
        NFD_OFFSETS: Repair("offsets of labels count as in NFD, é as two"),
        CRLF_OFFSETS: Repair("offsets of labels count a line end of CR and LF as one character"),
        WHOLE_WORDS: Repair("a label of part of a word covers the whole word"),
        CUT_WORDS: Repair("a word in which a label begins or ends is cut there"),
        NFC: Repair("words and types in NFC, é as one character"),
        DROP_SENTENCE: Repair("a sentence that is still broken is rejected"),
    }
)
"""All repairs by name, in the order in which they run."""
WORD_REPAIRS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {CONTROL_CHARACTERS: without_control, OUTER_SPACE: lambda word: word.strip(BLANKS)}
)
"""The repairs of words in any format, by name."""


def repair(tags: Sequence[str], scheme: str, names: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """Apply repairs to tags, in the order of `REPAIRS`.

    Returns:
        The tags, and the number of tags that each repair changed.

    >>> repair(["O", "-LOC", "-LOC"], "IOB2", ["lost-prefix"])
    (['O', 'B-LOC', 'I-LOC'], Counter({'lost-prefix': 2}))
    """
    mended, counts, wanted = list(tags), Counter[str](), set(names)
    for name, known in REPAIRS.items():
        if name in wanted and known.repair_tags is not None:
            unmended, mended = mended, known.repair_tags(mended, SCHEMES[scheme])
            counts[name] += sum(old != new for old, new in zip(unmended, mended, strict=True))
    return mended, +counts


def composed_tags(tags: Sequence[str], names: Collection[str]) -> Sequence[str]:
    """The tags, in NFC if the repairs ``names`` include it: only then is ``I-É`` of the same type as ``B-É``."""
    return [*map(composed, tags)] if NFC in names else tags


def decode_repaired(
    written: Sequence[str], scheme: str, names: Collection[str]
) -> tuple[tuple[Entity, ...], tuple[TagIssue, ...], Mapping[str, int]]:
    """The entities in the tags, the issues left by the repairs ``names``, and the number of changes by repair."""
    if not names:
        return *decode(written, scheme), {}
    tags, counts = composed_tags(written, names), Counter[str]()
    entities, issues = decode(tags, scheme)
    if issues:
        mended, counts = repair(tags, scheme, names)
        entities, issues = decode(mended, scheme)
    changed = [old != new for old, new in zip(written, tags, strict=True)]
    if count := sum(any(changed[entity.start : entity.end]) for entity in entities):
        counts[NFC] += count
    return entities, issues, counts


def in_nfc(sentences: Iterable[Sentence], names: Collection[str], repaired: Counter[str]) -> Iterable[Sentence]:
    """The sentences, with words and types in NFC if the repairs ``names`` include it. The changes are counted.

    Offsets stay those in the document.
    """
    if NFC not in names:
        return sentences

    def mended(sentence: Sentence) -> Sentence:
        words = tuple(map(composed, sentence.words))
        entities = tuple(replace(entity, type=composed(entity.type)) for entity in sentence.entities)
        soft_labels = tuple(replace(label, type=composed(label.type)) for label in sentence.soft_labels)
        pairs = zip((*sentence.words, *sentence.entities), (*words, *entities), strict=True)
        if count := sum(old != new for old, new in pairs):
            repaired[NFC] += count
        return replace(sentence, words=words, entities=entities, soft_labels=soft_labels)

    return map(mended, sentences)


def repair_hint(name: str) -> str:
    """The words with which a message offers a repair."""
    return f"--repair {name} ({REPAIRS[name].summary})"
