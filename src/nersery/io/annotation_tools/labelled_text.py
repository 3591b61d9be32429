"""A text with labels by character offsets, its lines, and the issues with its labels.

Offsets count code points. Some tools count differently. The number of labels that then fit words shows this.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise, repeat
from unicodedata import is_normalized, normalize

from nersery.core.errors import Issue, shown
from nersery.core.sentence import Entity
from nersery.core.text.spacing import lacks_spaces
from nersery.core.text.text_forms import HANGUL_LETTER, composed
from nersery.core.wording import either
from nersery.io.repairs import (
    CRLF_OFFSETS,
    CUT_WORDS,
    NFC_OFFSETS,
    NFD_OFFSETS,
    UTF8_OFFSETS,
    UTF16_OFFSETS,
    WHOLE_WORDS,
    repair_hint,
)
from nersery.io.text import word_offsets
from nersery.io.word_splitting.scripts_without_spaces import is_mark
from nersery.io.word_splitting.tokenization import Splitter, is_joined, splitter

CharacterSpan = tuple[int, int]
"""The characters ``[start, end)`` of a text."""
SIGNS_HINT = "--split signs (each punctuation mark is a word, also in raw text, where no label says where to cut)"
LEAVE_OUT = "leave out {}: more labels fit without"
MIXED_HINT = "some labels of a text fit only {}, others only otherwise: correct the offsets of one of these groups"
_RARE = frozenset({UTF8_OFFSETS, NFC_OFFSETS, NFD_OFFSETS})
LAST_OF_PLANE = "\uffff"  # the last character that is a single unit in UTF-16


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A label of a text.

    Args:
        start: First character.
        end: Character after the last one.
        line: Line in the file, from 1.
        text: The covered text according to the file, or None.
        parts: Number of fragments.
        written: Its offsets according to the file, if a repair has moved it.
    """

    start: int
    end: int
    type: str
    line: int
    text: str | None = None
    parts: int = 1
    written: CharacterSpan | None = None

    def fits(self, text: str) -> bool:
        """Whether it covers the text that the file gives for it, if the file gives any."""
        is_within = 0 <= self.start <= self.end <= len(text)
        return self.text is None or (
            is_within and whitespace_tokens(text[self.start : self.end]) == whitespace_tokens(self.text)
        )

    def inner(self, text: str) -> CharacterSpan:
        """The offsets without the white space at both ends; an empty range if there is nothing else."""
        covered = text[max(0, self.start) : max(0, self.end)]
        start = self.start + len(covered) - len(covered.lstrip())
        return start, max(start, self.end - (len(covered) - len(covered.rstrip())))

    def __str__(self) -> str:
        start, end = self.written or (self.start, self.end)
        return f"{' '.join(self.type.split())} [{start}, {end})"


@dataclass(frozen=True)
class Document:
    """A text with its labels.

    Args:
        id: Id of its sentence. If it has several lines, each sentence adds its line number.
        line: First line in the file, from 1.
        offsets: Offsets of the words of the text, if the file has them.
        language: None means that of the options.
        issues: Issues with its lines, by their numbers from 1.
        counts_characters: Whether its offsets are known to be right, so that none are in UTF-16.
        source: The document that the text is part of, and the character there at which it begins; None for itself.
        unmoved: The document before repairs moved its labels.
        repairs: The names of these repairs.
    """

    id: str
    text: str
    spans: Sequence[LabelledSpan]
    line: int = 1
    offsets: Sequence[CharacterSpan] | None = None
    language: str | None = None
    issues: Mapping[int, Sequence[Issue]] = field(default_factory=dict)
    counts_characters: bool = False
    source: tuple[str, int] | None = None
    unmoved: Document | None = None
    repairs: Sequence[str] = ()

    @cached_property
    def suitable_repairs(self) -> list[str]:
        """The repairs of offsets that would change some of them."""
        if self.counts_characters:
            return []
        has_pairs = max(self.text, default="") > LAST_OF_PLANE
        suits = {
            UTF16_OFFSETS: has_pairs,
            UTF8_OFFSETS: not self.text.isascii(),
            NFC_OFFSETS: not is_normalized("NFC", self.text),
            NFD_OFFSETS: not is_normalized("NFD", self.text),
            CRLF_OFFSETS: "\r\n" in self.text,
        }
        return [name for name, is_suitable in suits.items() if is_suitable]

    @cached_property
    def _recounts(self) -> dict[tuple[str, ...], Sequence[LabelledSpan]]:
        """The labels with each other way to count offsets that changes some, by its repairs."""
        ends = [()] + [(CRLF_OFFSETS,)] * (CRLF_OFFSETS in self.suitable_repairs)
        units = [(), *((name,) for name in self.suitable_repairs if name != CRLF_OFFSETS)]
        ways = [(*unit, *end) for unit in units for end in ends if unit or end]
        spans_by_way = {way: recounted(self.spans, self.text, way) for way in ways}
        return {way: spans for way, spans in spans_by_way.items() if spans != self.spans}

    @cached_property
    def gains(self) -> dict[tuple[str, ...], int]:
        """How many more labels fit with each other way to count offsets, by its repairs; empty after repairs."""
        recounts = self._recounts if self.unmoved is None else {}
        return {way: count_fitting(spans, self.text) - self.fitting_count for way, spans in recounts.items()}

    @property
    def best_recount(self) -> tuple[str, ...]:
        """The other way to count offsets with which most labels fit; empty if none `suits`."""
        way = max(self.gains, key=self.gains.__getitem__, default=())
        return way if suits(way, self.gains.get(way, -1)) else ()

    @property
    def is_miscounted(self) -> bool:
        """Whether more labels fit if offsets are counted differently, or as before repairs."""
        read = self.unmoved or self
        return read.fitting_count + max([0, *read.gains.values()]) > self.fitting_count

    @cached_property
    def mixed_with(self) -> str:
        """With or without which repairs several labels fit that do not fit as they are read; empty if not all do."""
        misfits = [number for number, span in enumerate(self.spans) if not _fits_words(span, self.text)]
        read = self.unmoved or self
        ways = {(): read.spans, **read._recounts} if len(misfits) > 1 else {}  # one alone may fit by chance
        for way, spans in ways.items():
            if all(_fits_words(spans[number], self.text) for number in misfits):
                return f"with {options_of(way)}" if way else f"without {options_of(self.repairs)}"
        return ""

    @cached_property
    def fitting_count(self) -> int:
        """The number of labels that cover what they should, or seem to cover whole words."""
        return count_fitting(self.spans, self.text)

    def moved(self, repairs: Collection[str]) -> Document:
        """The document with its offsets counted in another way; see `recounted`."""
        return replace(self, spans=recounted(self.spans, self.text, repairs), unmoved=self, repairs=[*repairs])

    def lines(self) -> Iterator[Line]:
        """The lines with words or issues, each with all labels that touch it. A blank text has its first line."""
        ends, beginning = [], 0
        for text in self.text.split("\n"):
            ends.append((beginning, beginning + len(text)))
            beginning += len(text) + 1
        numbered = [
            (n, *place) for n, place in enumerate(ends, start=1) if self.text[slice(*place)].strip() or n in self.issues
        ] or [(1, *ends[0])]
        starts = [start for _, start, _ in numbered]
        touching: list[list[LabelledSpan]] = [[] for _ in numbered]
        for span in sorted(self.spans, key=lambda span: (span.start, span.end, span.type)):
            start, end = span.inner(self.text)
            first = max(0, bisect_right(starts, start) - 1)
            for number in range(first, max(first + 1, bisect_left(starts, end))):
                touching[number].append(span)
        for (number, start, end), spans in zip(numbered, touching, strict=True):
            yield Line(self, number, start, end, spans)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document.

    Args:
        number: Line number, from 1.
        start: First character.
        end: Character after the last one.
        spans: Labels that touch it.
    """

    document: Document
    number: int
    start: int
    end: int
    spans: Sequence[LabelledSpan]

    @property
    def text(self) -> str:
        """The text of the line."""
        return self.document.text[self.start : self.end]

    def offsets(self, cut: Splitter) -> list[CharacterSpan]:
        """The offsets of the words."""
        known = self.document.offsets
        if known is not None:
            return list(known[bisect_left(known, (self.start,)) : bisect_left(known, (self.end,))])
        return [(self.start + start, self.start + end) for start, end in word_offsets(cut(self.text), self.text)]

    def cut_at_labels(self, offsets: Sequence[CharacterSpan]) -> list[CharacterSpan]:
        """The words, cut where a label begins or ends within one. No letter is cut off from its marks."""
        text = self.document.text
        ends = {border for span in self.spans for border in span.inner(text) if 0 < border < len(text)}
        borders = sorted(border for border in ends if not is_joined(text, border))
        inside = (
            (start, end, borders[bisect_right(borders, start) : bisect_left(borders, end)]) for start, end in offsets
        )
        return [place for start, end, cuts in inside for place in pairwise([start, *cuts, end])]

    def widened(self, offsets: Sequence[CharacterSpan]) -> Line:
        """The line with labels that cover whole words."""
        return replace(self, spans=[self._whole(span, offsets) for span in self.spans])

    def _whole(self, span: LabelledSpan, offsets: Sequence[CharacterSpan]) -> LabelledSpan:
        start, end = span.inner(self.document.text)
        touched = self._touched(start, end, offsets)
        is_broken = span.parts > 1 or self._misplaced(span, start, end) or not touched
        if is_broken or self._cut_by(start, end, offsets) is None:
            return span
        return replace(span, start=touched[0][0], end=touched[-1][1], text=None)

    def entities(self, offsets: Sequence[CharacterSpan]) -> tuple[Entity, ...]:
        """The labels by words, each once. They must not have issues."""
        first, last = {start: n for n, (start, _) in enumerate(offsets)}, {end: n for n, (_, end) in enumerate(offsets)}
        inner = {(*span.inner(self.document.text), span.type): None for span in self.spans}
        return tuple(Entity(first[start], last[end] + 1, type_) for start, end, type_ in inner)

    def issues(self, offsets: Sequence[CharacterSpan]) -> Iterator[Issue]:
        """The issues with its labels."""
        recount, split = self._recount(), cache(lambda splitting: self.offsets(splitter(splitting)))
        runs_on = lacks_spaces(self.text)
        is_mixed = not recount and bool(self.document.mixed_with)
        recount = [MIXED_HINT.format(self.document.mixed_with)] if is_mixed else recount
        rightmost: tuple[int, LabelledSpan] | None = None
        for span in self.spans:
            start, end = span.inner(self.document.text)
            covered = self.document.text[start:end]
            if span.parts > 1:
                message = f"{span} is in {span.parts} parts, expected one"
                yield Issue(message, line=span.line, kind="label in parts", fixes=("label each part, or all as one",))
            elif message := self._misplaced(span, start, end):
                yield Issue(message, line=span.line, kind="label out of place", fixes=tuple(recount))
            elif (part := self._cut_by(start, end, offsets)) is not None:
                by_character = runs_on and self._cut_by(start, end, split("characters")) is None
                fixes = ["--split characters"] * by_character
                if not (self.document.is_miscounted or is_mixed):
                    by_signs = self._cut_by(start, end, split("signs")) is None
                    fixes += [SIGNS_HINT] * by_signs + [repair_hint(WHOLE_WORDS), repair_hint(CUT_WORDS)]
                fixes += recount
                message = f"{span} covers {shown(covered)}, a part of {shown(part)}"
                yield Issue(message, line=span.line, kind="label within a word", fixes=tuple(fixes))
            elif rightmost is not None and start < rightmost[0] and not _same(span, rightmost[1], self.document.text):
                message = f"{span} {shown(covered)} overlaps {rightmost[1]}, expected one label per word"
                yield Issue(message, line=span.line, kind="labels overlap", fixes=("keep one of them",))
            rightmost = max(rightmost or (end, span), (end, span), key=lambda pair: pair[0])

    def _recount(self) -> list[str]:
        """The fixes if the offsets seem to be counted differently from how they are read."""
        document, unmoved = self.document, self.document.unmoved
        if unmoved is None:
            return [repair_hint(name) for name in document.best_recount]
        applied, way = options_of(document.repairs), unmoved.best_recount
        if unmoved.is_miscounted and unmoved.moved(way).fitting_count > document.fitting_count:
            return [f"{options_of(way)} in place of {applied}: more labels fit"]
        return [LEAVE_OUT.format(applied)] if document.is_miscounted else []

    def _misplaced(self, span: LabelledSpan, start: int, end: int) -> str:
        """What is wrong with the position of a label, whatever the words are; empty if nothing is."""
        text = self.document.text
        if 0 <= span.end < span.start:
            return f"{span} ends before it begins"
        if span.written and -1 in (span.start, span.end):
            return f"{span} does not fit the characters of its text with {options_of(self.document.repairs)}"
        if not 0 <= span.start <= span.end <= len(text):
            return f"{span} does not lie within the {len(text):,} characters of its text"
        if start == end:
            return f"{span} covers no word"
        if not span.fits(text):
            return f"{span} covers {shown(text[span.start : span.end])}, but should cover {shown(span.text)}"
        is_inside = self.start <= start and end <= self.end
        return "" if is_inside else f"{span} continues past the end of its line, expected a label for each line"

    def _cut_by(self, start: int, end: int, offsets: Sequence[CharacterSpan]) -> str | None:
        """The words that a label covers partly; None if it covers whole words."""
        touched = self._touched(start, end, offsets)
        if touched and (touched[0][0], touched[-1][1]) == (start, end):
            return None
        return " ".join(self.document.text[slice(*place)] for place in touched)

    def _touched(self, start: int, end: int, offsets: Sequence[CharacterSpan]) -> list[CharacterSpan]:
        """The words that a label covers at least partly."""
        first = max(0, bisect_right(offsets, (start, len(self.document.text))) - 1)
        return [place for place in offsets[first : bisect_left(offsets, (end,))] if place[1] > start]


def recounted(spans: Sequence[LabelledSpan], text: str, repairs: Collection[str]) -> list[LabelledSpan]:
    """Convert offsets in UTF-16 (as in JavaScript), in bytes, in NFC, in NFD or without CR.

    Labels that only fit unmoved stay.

    >>> [(span.start, span.end) for span in recounted([LabelledSpan(3, 7, "LOC", 1)], "🙂 Oslo", [UTF16_OFFSETS])]
    [(2, 6)]
    """
    units = [0]  # the number of units before each character; those above U+FFFF take two in UTF-16
    sizes: Iterable[int] = repeat(1)
    if NFC_OFFSETS in repairs:
        sizes = _composed_sizes(text)
    elif NFD_OFFSETS in repairs:
        sizes = (len(normalize("NFD", character)) for character in text)
    for character, after, size_in_form in zip(text, f"{text[1:]} ", sizes, strict=False):
        size = size_in_form + (UTF16_OFFSETS in repairs and character > LAST_OF_PLANE)
        size = len(character.encode(errors="replace")) if UTF8_OFFSETS in repairs else size
        is_left_out = CRLF_OFFSETS in repairs and character + after == "\r\n"
        units.append(units[-1] + size - is_left_out)
    character_of_unit = {unit: number for number, unit in enumerate(units)}  # a place within a character becomes -1

    def place(span: LabelledSpan) -> LabelledSpan:
        start, end = (character_of_unit.get(unit, -1) for unit in (span.start, span.end))
        moved = replace(span, start=start, end=end, written=(span.start, span.end))
        stays = span.text is not None and span.fits(text) and not moved.fits(text)
        return span if stays or (start, end) == (span.start, span.end) else moved

    return [*map(place, spans)]


def suits(way: Collection[str], gain: int) -> bool:
    """Whether no fewer labels fit with a way to count offsets. With bytes, NFC or NFD, which are rare, more must."""
    return gain >= (not _RARE.isdisjoint(way))


def count_fitting(spans: Iterable[LabelledSpan], text: str) -> int:
    """The number of labels that cover what they should, or seem to cover whole words."""
    return sum(_fits_words(span, text) for span in spans)


def _fits_words(span: LabelledSpan, text: str) -> bool:
    start, end = span.inner(text)
    if span.text is not None or not 0 <= start < end <= len(text):
        return span.text is not None and span.fits(text)
    around = [text[at - 1 : at + 1] for at in (start, end) if 0 < at < len(text)]
    return not any(all(c.isalnum() or is_mark(c) for c in pair) and not lacks_spaces(pair) for pair in around)


def _composed_sizes(text: str) -> list[int]:
    """How many characters each one adds to the text in NFC. An accent that is part of its letter there adds none.

    >>> _composed_sizes("Zoe\N{COMBINING DIAERESIS}!")
    [1, 1, 1, 0, 1]
    """
    lengths, first = [0], 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not (is_mark(text[end]) or HANGUL_LETTER.match(text[end])):
            lengths += [lengths[first] + len(composed(text[first:at])) for at in range(first + 1, end + 1)]
            first = end
    return [after - before for before, after in pairwise(lengths)]


def whitespace_tokens(text: str) -> list[str]:
    r"""The parts of a text between white space. In the covered text in Label Studio's labels, a line end is ``\n``.

    >>> whitespace_tokens("Ada\n"), whitespace_tokens("Ada\\n")
    (['Ada'], ['Ada'])
    """
    return composed(text).replace(r"\n", " ").split()


def options_of(repairs: Iterable[str]) -> str:
    """The options with which a user requests repairs."""
    names = [*repairs]
    options = " ".join(f"--repair {name}" for name in names)
    return options if len(names) == 1 else either(options, f"repair={json.dumps(names)}")


def _same(span: LabelledSpan, other: LabelledSpan, text: str) -> bool:
    return (span.inner(text), span.type) == (other.inner(text), other.type)
