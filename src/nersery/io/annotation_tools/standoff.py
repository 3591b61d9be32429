"""Texts with labels by character offsets, split into sentences and words.

Each line is a sentence. Words are split at punctuation. A label that begins or ends inside a word is an issue, which a
repair can fix.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Entity, Sentence
from nersery.io.base import Pass, Source, issues_in, lone_return, repair_hint, unread
from nersery.io.repairs import CRLF_OFFSETS, CUT_WORDS, UTF16_OFFSETS, WHOLE_WORDS
from nersery.io.text import LONGEST, SPLIT_HINT
from nersery.io.tokenization import Splitter, is_joined, runs_on, splitter

Place = tuple[int, int]
"""The characters ``[start, end)`` of a text."""
LAST_OF_PLANE = "\uffff"
"""The last character that is a single unit in UTF-16."""


@dataclass(frozen=True, slots=True)
class Span:
    """A label of a text.

    Args:
        start: First character.
        end: Character after the last one.
        line: Line in the file, from 1.
        text: The covered text according to the file, or None.
        parts: Number of fragments.
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

    def inner(self, text: str) -> Place:
        """The place without the white space at its ends; an empty one where nothing else is there."""
        covered = text[max(0, self.start) : max(0, self.end)]
        start = self.start + len(covered) - len(covered.lstrip())
        return start, max(start, self.end - (len(covered) - len(covered.rstrip())))

    def __str__(self) -> str:
        """As messages have it, and comments of rejects."""
        return f"{' '.join(self.type.split())} [{self.start}, {self.end})"


@dataclass(frozen=True)
class Document:
    """A text with its labels.

    Args:
        id: Id of its sentence; with several lines, each sentence adds its line number.
        line: First line in the file, from 1.
        places: Words of the text, if the file has them.
        language: None takes that of the options.
        issues: What is wrong with its lines, by their numbers from 1.
        counts_characters: Its offsets are known to be right, so that none are in UTF-16.
    """

    id: str
    text: str
    spans: Sequence[Span]
    line: int = 1
    places: Sequence[Place] | None = None
    language: str | None = None
    issues: Mapping[int, Sequence[Issue]] = field(default_factory=dict)
    counts_characters: bool = False

    @cached_property
    def has_pairs(self) -> bool:
        """Whether offsets may be in UTF-16, where a character counts for two."""
        return not self.counts_characters and max(self.text, default="") > LAST_OF_PLANE

    @cached_property
    def counts_ends_once(self) -> bool:
        """Whether more labels fit if their offsets count a line end of two characters as one."""
        if self.counts_characters or "\r\n" not in self.text:
            return False
        return sum(map(self._is_apt, self.moved([CRLF_OFFSETS]).spans)) > sum(map(self._is_apt, self.spans))

    def _is_apt(self, span: Span) -> bool:
        """Whether a label covers what it should, or seems to cover whole words."""
        (start, end), text = span.inner(self.text), self.text
        if span.text is not None or not 0 <= start < end <= len(text):
            return span.text is not None and span.fits(text)
        return not any(text[max(0, at - 1) : at].isalnum() and text[at : at + 1].isalnum() for at in (start, end))

    def moved(self, repairs: Collection[str]) -> Document:
        """Convert offsets in UTF-16, as in JavaScript, or without CR, to characters. Labels whose text fits stay."""
        units = [0]  # the number of units before each character; those above U+FFFF take two in UTF-16
        for character, after in zip(self.text, f"{self.text[1:]} ", strict=False):
            is_pair = UTF16_OFFSETS in repairs and character > LAST_OF_PLANE
            is_left_out = CRLF_OFFSETS in repairs and character + after == "\r\n"
            units.append(units[-1] + 1 + is_pair - is_left_out)
        character_of_unit = {unit: number for number, unit in enumerate(units)}  # the middle of a pair is no place: -1
        spans = [
            span if span.text is not None and span.fits(self.text)
            else replace(span, start=character_of_unit.get(span.start, -1), end=character_of_unit.get(span.end, -1))
            for span in self.spans
        ]  # fmt: skip
        return replace(self, spans=spans)

    def lines(self) -> Iterator[Line]:
        """The lines with words or issues, each with all labels that touch it; of a blank text the first."""
        ends, beginning = [], 0
        for text in self.text.split("\n"):
            ends.append((beginning, beginning + len(text)))
            beginning += len(text) + 1
        numbered = [
            (n, *place) for n, place in enumerate(ends, start=1) if self.text[slice(*place)].strip() or n in self.issues
        ] or [(1, *ends[0])]
        starts = [start for _, start, _ in numbered]
        touching: list[list[Span]] = [[] for _ in numbered]
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
        number: From 1.
        start: First character.
        end: Character after the last one.
        spans: Labels that touch it.
    """

    document: Document
    number: int
    start: int
    end: int
    spans: Sequence[Span]

    @property
    def text(self) -> str:
        """What stands in it."""
        return self.document.text[self.start : self.end]

    def places(self, cut: Splitter) -> list[Place]:
        """The words."""
        known_places = self.document.places
        if known_places is not None:
            return list(known_places[bisect_left(known_places, (self.start,)) : bisect_left(known_places, (self.end,))])
        places, at = [], self.start
        for word in cut(self.text):
            at = self.document.text.index(word, at)
            places.append((at, at + len(word)))
            at += len(word)
        return places

    def finer(self, places: Sequence[Place]) -> list[Place]:
        """The words, those cut in two in which a label begins or ends; no letter is cut from its marks."""
        text = self.document.text
        ends = {border for span in self.spans for border in span.inner(text) if 0 < border < len(text)}
        borders = sorted(border for border in ends if not is_joined(text, border))
        inside = (
            (start, end, borders[bisect_right(borders, start) : bisect_left(borders, end)]) for start, end in places
        )
        return [place for start, end, cuts in inside for place in pairwise([start, *cuts, end])]

    def widened(self, places: Sequence[Place]) -> Line:
        """The line, whose labels cover whole words."""
        return replace(self, spans=[self._whole(span, places) for span in self.spans])

    def _whole(self, span: Span, places: Sequence[Place]) -> Span:
        start, end = span.inner(self.document.text)
        touched = self._touched(start, end, places)
        is_broken = span.parts > 1 or self._misplaced(span, start, end) or not touched
        if is_broken or self._cut_by(start, end, places) is None:
            return span
        return replace(span, start=touched[0][0], end=touched[-1][1], text=None)

    def entities(self, places: Sequence[Place]) -> tuple[Entity, ...]:
        """The labels by words, each once; they have no issues."""
        first, last = {start: n for n, (start, _) in enumerate(places)}, {end: n for n, (_, end) in enumerate(places)}
        inner = {(*span.inner(self.document.text), span.type): None for span in self.spans}
        return tuple(Entity(first[start], last[end] + 1, type_) for start, end, type_ in inner)

    def issues(self, places: Sequence[Place]) -> Iterator[Issue]:
        """What is wrong with its labels."""
        recount = [repair_hint(UTF16_OFFSETS)] if self.document.has_pairs else []
        recount += [repair_hint(CRLF_OFFSETS)] if self.document.counts_ends_once else []
        rightmost: tuple[int, Span] | None = None
        for span in self.spans:
            start, end = span.inner(self.document.text)
            if span.parts > 1:
                message = f"{span} is in {span.parts} parts, expected one"
                yield Issue(message, line=span.line, kind="label in parts", fixes=("label each part by itself",))
            elif message := self._misplaced(span, start, end):
                yield Issue(message, line=span.line, kind="label out of place", fixes=tuple(recount))
            elif (part := self._cut_by(start, end, places)) is not None:
                fixes = ["--split characters"] if runs_on([part]) else []
                fixes += [] if self.document.counts_ends_once else [repair_hint(WHOLE_WORDS), repair_hint(CUT_WORDS)]
                fixes += recount
                message = f"{span} covers {self.document.text[start:end]!r:.60}, a part of {part!r:.60}"
                yield Issue(message, line=span.line, kind="label within a word", fixes=tuple(fixes))
            elif rightmost is not None and start < rightmost[0] and not _same(span, rightmost[1], self.document.text):
                message = (
                    f"{span} {self.document.text[start:end]!r:.60} overlaps {rightmost[1]}, expected one label a word"
                )
                yield Issue(message, line=span.line, kind="labels overlap", fixes=("keep one of them",))
            rightmost = max(rightmost or (end, span), (end, span), key=lambda pair: pair[0])

    def _misplaced(self, span: Span, start: int, end: int) -> str:
        """What is wrong with the place of a label, whatever the words are; empty where nothing is."""
        text = self.document.text
        if 0 <= span.end < span.start:
            return f"{span} ends before it begins"
        if not 0 <= span.start <= span.end <= len(text):
            return f"{span} does not lie within the {len(text):,} characters of its text"
        if start == end:
            return f"{span} covers no word"
        if not span.fits(text):
            return f"{span} covers {text[span.start : span.end]!r:.60}, and should cover {span.text!r:.60}"
        is_inside = self.start <= start and end <= self.end
        return "" if is_inside else f"{span} continues past the end of its line, expected a label for each line"

    def _cut_by(self, start: int, end: int, places: Sequence[Place]) -> str | None:
        """The words that a label covers in part; None where it covers whole ones."""
        touched = self._touched(start, end, places)
        if touched and (touched[0][0], touched[-1][1]) == (start, end):
            return None
        return " ".join(self.document.text[slice(*place)] for place in touched)

    def _touched(self, start: int, end: int, places: Sequence[Place]) -> list[Place]:
        """The words of which a label covers something."""
        first = max(0, bisect_right(places, (start, len(self.document.text))) - 1)
        return [place for place in places[first : bisect_left(places, (end,))] if place[1] > start]


def _same(span: Span, other: Span, text: str) -> bool:
    return (span.inner(text), span.type) == (other.inner(text), other.type)


def layout(sentence: Sentence) -> tuple[str, list[Place]]:
    """The text of a sentence and the characters of its words in it.

    Words are as far apart as in the document if that is known, else by one space.

    >>> layout(Sentence(("Oslo", "!"), offsets=((3, 7), (7, 8))))
    ('Oslo!', [(0, 4), (4, 5)])
    """
    offsets = sentence.offsets
    if any(end - start != len(word) for word, (start, end) in zip(sentence.words, offsets, strict=False)):
        return sentence.text, list(replace(sentence, offsets=()).character_offsets)
    beginning = offsets[0][0] if offsets else 0
    places = [(start - beginning, end - beginning) for start, end in sentence.character_offsets]
    text, at = [], 0
    for word, (start, end) in zip(sentence.words, places, strict=True):
        text += [" " * (start - at), word]
        at = end
    return "".join(text), places


def refuse_outer_space(sentence: Sentence) -> None:
    """Raise `DataError` for a word that begins or ends with white space, which reading strips."""
    if odd := next((word for word in sentence.words if word.strip() != word), None):
        message = f"the word {odd!r} begins or ends with white space, which labels by characters cannot keep"
        raise DataError(Issue(message, sentence=sentence.id or None), fix="write .jsonl, which holds everything")


class StandoffSource(Source):
    """Sentences from texts with labels by code points.

    ``--split characters`` also separates the characters of scripts without spaces.
    """

    is_split = True
    splitting = "punctuation"
    """How words are split unless the options say otherwise."""
    numbers_lines = False
    """Whether the id of a sentence has the number of its line even where there is one line alone."""

    @abstractmethod
    def documents(self, findings: Pass) -> Iterator[Document]:
        """One pass over the texts; what is wrong goes to ``findings``."""

    def sentences(self, findings: Pass) -> Iterator[Sentence]:
        """One pass: the lines that are not blank."""
        for document in self.documents(findings):
            applying = {UTF16_OFFSETS: document.has_pairs, CRLF_OFFSETS: "\r\n" in document.text}
            if names := [name for name in applying if applying[name] and name in self.options.repair]:
                unmoved, document = document, document.moved(names)
                findings.count(+Counter(dict.fromkeys(names, sum(map(Span.__ne__, unmoved.spans, document.spans)))))
            lines = list(document.lines())
            for line in lines:
                alone = len(lines) == 1 and not self.numbers_lines
                sentence = self._sentence(line, document.id if alone else f"{document.id}:{line.number}", findings)
                if sentence is not None:
                    yield sentence

    def _sentence(self, line: Line, id: str, findings: Pass) -> Sentence | None:
        document = line.document
        possible = (*document.issues.get(line.number, ()), _too_long(line), lone_return(line.text, document.line))
        issues = [issue for issue in possible if issue]
        if clash := findings.clash(id, document.line):
            issues.append(clash)
        language = self.options.language if document.language is None else document.language
        places = uncut_places = [] if issues else line.places(splitter(self.options.split or self.splitting, language))
        widened = 0
        if WHOLE_WORDS in self.options.repair:
            unwidened, line = line, line.widened(uncut_places)
            widened = sum(map(Span.__ne__, unwidened.spans, line.spans))
        if CUT_WORDS in self.options.repair:
            places = line.finer(uncut_places)
        words, cleaned = findings.clean([document.text[start:end] for start, end in places])
        if not issues:
            issues += line.issues(places)
            try:
                entities = () if issues else line.entities(places)
                sentence = Sentence(words, entities, id, language, document=document.id, offsets=tuple(places))
            except DataError as error:
                issues += issues_in(error, document.line)
        if not issues:
            findings.count(+Counter({WHOLE_WORDS: widened, CUT_WORDS: len(places) - len(uncut_places)}), cleaned)
            return sentence
        findings.broken(id, issues, unread(" ".join(words) or line.text, [f"# label: {span}" for span in line.spans]))
        return None


def _too_long(line: Line) -> Issue | None:
    if line.end - line.start <= LONGEST:
        return None
    message = f"a line of the text has more than {LONGEST:,} characters, expected one sentence"
    return Issue(message, line=line.document.line, kind="line too long", fixes=(SPLIT_HINT,))
