"""Texts whose labels stand apart, by characters, as annotation tools write them: cut into sentences and words.

A line of a text is a sentence. Words are cut at punctuation, in every format the same, and never inside a label: where
a label begins or ends in the middle of a word, that is a fault, which can be mended by name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nersery.data import UNKNOWN_COLUMN, Entity, Sentence
from nersery.errors import DataError
from nersery.io.base import Flaw, Pass, Source, flaws_of, repair_hint, storable
from nersery.io.splitting import Splitter, runs_on, splitter
from nersery.io.text import LONGEST, SPLIT_HINT
from nersery.repairs import CUT_WORDS, UTF16_OFFSETS

Place = tuple[int, int]
"""The characters ``[start, end)`` of a text."""
LAST_OF_PLANE = "\uffff"
"""The last character that is a single unit in UTF-16."""


@dataclass(frozen=True, slots=True)
class Span:
    """A label of a text.

    Args:
        start: The first character.
        end: The character behind the last.
        type: Of the entity.
        line: Where it stands in the file, from 1.
        text: What it covers as the file says, white space apart; None where it says nothing.
        parts: In how many pieces it is.
    """

    start: int
    end: int
    type: str
    line: int
    text: str | None = None
    parts: int = 1

    def fits(self, text: str) -> bool:
        """Whether it covers what the file says it does, if it says anything."""
        return self.text is None or text[self.start : self.end].split() == self.text.split()

    def __str__(self) -> str:
        """As messages have it, and comments of rejects."""
        return f"{self.type} [{self.start}, {self.end})"


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its labels.

    Args:
        id: Of its sentence; of several lines each has the number of its line behind it.
        line: Where it begins in the file, from 1.
        places: Its words, in order, where the file has them; None has them cut.
        language: Of the text; None takes that of the options.
    """

    id: str
    text: str
    spans: Sequence[Span]
    line: int = 1
    places: Sequence[Place] | None = None
    language: str | None = None


class StandoffSource(Source):
    """Sentences from texts with labels by characters.

    Characters are code points. ``--split characters`` also parts each character of scripts without spaces.
    """

    numbers_lines = False
    """Whether the id of a sentence has the number of its line even where there is one line alone."""

    @abstractmethod
    def documents(self, found: Pass) -> Iterator[Document]:
        """One pass over the texts; what is wrong goes to ``found``."""

    def sentences(self, found: Pass) -> Iterator[Sentence]:
        """One pass: the lines that are not blank, each with the labels that begin in it."""
        for document in self.documents(found):
            document, moved = self._in_code_points(document)
            found.count(+Counter({UTF16_OFFSETS: moved}))
            yield from self._sentences(document, found)

    def _in_code_points(self, document: Document) -> tuple[Document, int]:
        """The document with places counted in characters, and how many labels that moved."""
        if UTF16_OFFSETS not in self.options.repair or not _has_pairs(document.text):
            return document, 0
        spans = [_in_code_points(span, document.text) for span in document.spans]
        return replace(document, spans=spans), sum(map(Span.__ne__, spans, document.spans))

    def _sentences(self, document: Document, found: Pass) -> Iterator[Sentence]:
        lines, beginning = [], 0
        for number, text in enumerate(document.text.split("\n"), start=1):
            lines.append((number, beginning, beginning + len(text)))
            beginning += len(text) + 1
        lines = [line for line in lines if document.text[line[1] : line[2]].strip()] or lines[:1]
        ends = [start for _, start, _ in lines[1:]] + [max(len(document.text), beginning) + 1]
        spans = sorted(set(document.spans), key=lambda span: (span.start, span.end, span.type))
        for nth, ((number, start, end), next_start) in enumerate(zip(lines, ends, strict=True)):
            own = [span for span in spans if (span.start < next_start or nth == len(lines) - 1)]
            spans = spans[len(own) :]
            alone = len(lines) == 1 and not self.numbers_lines
            line = _Line(document, f"{document.id}:{number}" * (not alone) or document.id, start, end, own)
            if (sentence := self._sentence(line, found)) is not None:
                yield sentence

    def _sentence(self, line: _Line, found: Pass) -> Sentence | None:
        language = self.options.language if line.document.language is None else line.document.language
        splitting = "characters" if self.options.split == "characters" else "punctuation"
        places = whole = line.places(splitter(splitting, language))
        if CUT_WORDS in self.options.repair:
            places = line.finer(whole)
        flaws = list(line.flaws(places))
        if clash := found.clash(line.id, line.document.line):
            flaws.append(clash)
        words = tuple(line.document.text[start:end] for start, end in places)
        try:
            sentence = Sentence(words, () if flaws else line.entities(places), line.id, language)
        except DataError as error:
            flaws += flaws_of(error, line.document.line)
        if not flaws:
            found.count(+Counter({CUT_WORDS: len(places) - len(whole)}))
            return sentence
        comments = tuple(storable(f"# label: {span}") for span in line.spans)
        found.broken(line.id, flaws, Sentence(tuple(map(storable, words)) or (UNKNOWN_COLUMN,), comments=comments))
        return None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a document, with the labels that begin in it."""

    document: Document
    id: str
    start: int
    end: int
    spans: Sequence[Span]

    def places(self, cut: Splitter) -> list[Place]:
        """The words."""
        if self.document.places is not None:
            return [place for place in self.document.places if self.start <= place[0] < self.end]
        places, at = [], self.start
        for word in cut(self.document.text[self.start : self.end]):
            at = self.document.text.index(word, at)
            places.append((at, at + len(word)))
            at += len(word)
        return places

    def finer(self, places: Sequence[Place]) -> list[Place]:
        """The words, those cut in two in which a label begins or ends."""
        borders = {border for span in self.spans for border in self._inner(span)}
        cuts = [[start, *sorted(b for b in borders if start < b < end), end] for start, end in places]
        return [place for cut in cuts for place in pairwise(cut)]

    def entities(self, places: Sequence[Place]) -> tuple[Entity, ...]:
        """The labels by words; they have no flaws."""
        first, last = {start: n for n, (start, _) in enumerate(places)}, {end: n for n, (_, end) in enumerate(places)}
        inner = {(*self._inner(span), span.type): None for span in self.spans}
        return tuple(Entity(first[start], last[end] + 1, type_) for start, end, type_ in inner)

    def flaws(self, places: Sequence[Place]) -> Iterator[Flaw]:
        """What is wrong with the text and its labels."""
        if self.end - self.start > LONGEST:
            message = f"a line of the text has more than {LONGEST:,} characters, expected one sentence"
            yield Flaw(self.document.line, "line too long", message, (SPLIT_HINT,))
        of_javascript = [repair_hint(UTF16_OFFSETS)] if _has_pairs(self.document.text) else []
        for span in self.spans:
            if span.parts > 1:
                message = f"{span} is in {span.parts} parts, expected one"
                yield Flaw(span.line, "label in parts", message, ("label each part by itself",))
            elif message := self._misplaced(span):
                yield Flaw(span.line, "label out of place", message, tuple(of_javascript))
            elif part := self._cut_by(span, places):
                covered = self.document.text[slice(*self._inner(span))]
                fixes = [*(["--split characters"] if runs_on([part]) else []), repair_hint(CUT_WORDS), *of_javascript]
                message = f"{span} covers {covered!r:.60}, a part of {part!r:.60}"
                yield Flaw(span.line, "label within a word", message, tuple(fixes))

    def _misplaced(self, span: Span) -> str:
        """What is wrong with the place of a label, whatever the words are; empty where nothing is."""
        text, (start, end) = self.document.text, self._inner(span)
        if not 0 <= span.start <= span.end <= len(text):
            return f"{span} does not lie within the {len(text):,} characters of its text"
        if start == end:
            return f"{span} covers no word"
        if not span.fits(text):
            return f"{span} covers {text[span.start : span.end]!r:.60}, and should cover {span.text!r:.60}"
        return f"{span} goes on behind the end of its line, expected a label for each line" if end > self.end else ""

    def _cut_by(self, span: Span, places: Sequence[Place]) -> str:
        """The words that a label covers in part; empty where it covers whole ones."""
        start, end = self._inner(span)
        touched = [place for place in places if place[0] < end and place[1] > start]
        if touched and (touched[0][0], touched[-1][1]) == (start, end):
            return ""
        return " ".join(self.document.text[slice(*place)] for place in touched)

    def _inner(self, span: Span) -> Place:
        """The place of a label without the white space at its ends."""
        covered = self.document.text[max(0, span.start) : max(0, span.end)]
        start = span.start + len(covered) - len(covered.lstrip())
        return start, max(start, span.end - (len(covered) - len(covered.rstrip())))


def _has_pairs(text: str) -> bool:
    """Whether there is a character that counts for two in JavaScript."""
    return max(text, default="") > LAST_OF_PLANE


def _in_code_points(span: Span, text: str) -> Span:
    """A label counted in units of UTF-16, as JavaScript counts; one whose text says otherwise stays as it is."""
    if span.text is not None and span.fits(text):
        return span
    units = [0]
    for character in text:
        units.append(units[-1] + 1 + (character > LAST_OF_PLANE))
    place = {unit: number for number, unit in enumerate(units)}
    return replace(span, start=place.get(span.start, -1), end=place.get(span.end, -1))
