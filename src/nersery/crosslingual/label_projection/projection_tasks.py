"""Rows to project: sentences with their alignments, and notes about likely mistakes in them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

from nersery import io
from nersery.core.alignments import Alignment
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.outcome import Reject, Tally
from nersery.core.sentence import Sentence
from nersery.core.wording import either
from nersery.crosslingual.label_projection.projection import Projection, Task, Translation
from nersery.crosslingual.parallel_corpus.bitext import Bitext, ShiftDetector
from nersery.crosslingual.parallel_corpus.complete_pairs import reject_of
from nersery.crosslingual.parallel_corpus.sides import is_empty
from nersery.io.pharaoh import AlignmentFile

Alignments = AlignmentFile | Sequence[Alignment | Reject]
"""The alignments of the pairs of a text, in order: a file, or in memory."""

MIN_LINES = 10
"""Lines of links needed to see whether other words were aligned, or words were counted from 1. In fewer, first or last
words may lack links by chance: 0.03 to 0.18 of lines have none to a first word, in 8 languages, 4 in a row at most.
"""
MIN_REACHED = 0.1
"""Share of lines with a link to the last word: 0.4 to 1 in 8 languages, below 0.04 if text was split differently."""


@dataclass(slots=True)
class LinkCounts:
    """Counts, while the links of a file are read, lines that show whether they belong to these sentences and words."""

    lines: int = 0
    """Lines with links."""
    reached: int = 0
    """Lines with a link to the last word of the target."""
    outside: int = 0
    """Lines with links outside their sentences."""
    first_outside: int = 0
    """The number of the first of these lines."""
    has_first_word: bool = False
    """Whether a link names word 0, on either side."""
    touching: int = 0
    """Lines whose source has a word, other than punctuation, whose number is above that of the words between spaces."""
    beyond: int = 0
    """Of these, lines with a link to such a word."""

    def add(self, alignment: Alignment, source: Sentence, target: Sentence, line: int) -> None:
        """Record the links of a line, which must not be empty."""
        starts, ends, _ = zip(*alignment, strict=True)
        last_source, last_target = max(starts), max(ends)
        space_separated = _words_between_spaces(source) if source.offsets else len(source.words)
        if any(character.isalnum() for word in source.words[space_separated:] for character in word):
            self.touching += 1
            self.beyond += last_source >= space_separated
        self.lines += 1
        self.reached += last_target + 1 == len(target.words)
        self.has_first_word |= 0 in starts or 0 in ends
        if last_source >= len(source.words) or last_target >= len(target.words):
            self.outside += 1
            self.first_outside = self.first_outside or line


@dataclass
class ProjectionTasks:
    """The rows to project, each with its alignments. Records evidence of likely mistakes while they are read.

    Args:
        files: The alignments of each source, in order.

    Raises:
        SettingsError: If there are more or fewer alignments than sources.
    """

    bitext: Bitext
    files: Sequence[Alignments]
    _types: set[str] = field(default_factory=set, init=False)
    _shift_detector: ShiftDetector | None = field(default=None, init=False)
    _link_counts: list[LinkCounts] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.files) != len(self.bitext.sources):
            counts = f"{len(self.bitext.sources)} sources and {len(self.files)} alignment files"
            raise SettingsError(f"{counts}: give one per source, in order")
        self._link_counts = [LinkCounts() for _ in self.files]

    @property
    def _names(self) -> list[str]:
        """The names of the alignments in messages."""
        return [file.file.name if isinstance(file, AlignmentFile) else "alignments" for file in self.files]

    def fingerprint(self) -> Any:
        """See `nersery.pipeline.stage_job.Rows`."""
        files = [file.fingerprint() if isinstance(file, AlignmentFile) else io.digest_of(file) for file in self.files]
        return {**self.bitext.fingerprint(), "alignments": files}

    def count(self) -> int:
        """The number of rows. Alignments of other text are refused."""
        if self.bitext.paired_by == "order":
            rows = self.bitext.count()
            self._check_lengths([rows] * len(self.files))
            return rows
        counts = Counter(row.unpaired_source for row in self.bitext)
        self._check_lengths([counts[None] + counts[number] for number in range(len(self.files))])
        return counts.total()

    def _check_lengths(self, rows: Sequence[int]) -> None:
        """Refuse alignments of other text: each file has a line for each row of its source."""
        issues = [
            Issue(f"{count:,} lines of alignments, expected {expected:,}: one for each pair of sentences", name)
            for file, expected, name in zip(self.files, rows, self._names, strict=True)
            if (count := len(file)) != expected and not self._differ_in_blank_lines(file, count, expected)
        ]
        if issues:
            fix = "align the same files again; the aligner must write an empty line for an empty pair"
            raise DataError(issues, fix=fix)

    def _differ_in_blank_lines(self, file: Alignments, lines: int, rows: int) -> bool:
        """Whether a file and its text differ only in blank lines at the end of the longer one."""
        if lines > rows:
            return isinstance(file, AlignmentFile) and lines - rows <= file.blank_at_end()
        return all(is_empty(side) for row in islice(self.bitext, lines, None) for side in (row.target, *row.sources))

    def outcomes(self) -> Iterator[Task | Reject]:
        """The tasks. Each call reads the files again."""
        files = [*map(iter, self.files)]
        self._shift_detector = ShiftDetector(self.bitext)
        self._link_counts = [LinkCounts() for _ in files]
        for line, row in enumerate(self.bitext, start=1):
            self._shift_detector.add(row)
            target, sources, unpaired_source = row
            for source in sources:
                if isinstance(source, Sentence):
                    self._types.update([entity.type for entity in source.entities])
            here = slice(None) if unpaired_source is None else slice(unpaired_source, unpaired_source + 1)
            aligned = [next(file, ()) for file in files[here]]
            if reject := reject_of(row):
                yield reject
            else:
                assert isinstance(target, Sentence)
                translations = [_translation(*pair, target) for pair in zip(sources, aligned, strict=True)]
                for counts, translation in zip(self._link_counts[here], translations, strict=True):
                    if not isinstance(translation, Reject) and translation.alignment:
                        counts.add(translation.alignment, translation.source, target, line)
                yield Task(target, translations)
        for file in files:  # reading to the end reports its errors
            deque(file, maxlen=0)

    def notes(self, tally: Tally, projection: Projection) -> Iterator[str]:
        """Notes about everything odd that was read."""
        yield from self._shift_detector.notes() if self._shift_detector else ()
        if tally.written and not self._types:
            yield "no source sentence has an entity, so there was nothing to project; is the source the labelled file?"
        named = {*(projection.keep or ()), *projection.drop, *projection.rename}
        if self._types and (unknown := sorted(named - self._types)):
            hint = did_you_mean(unknown[0], sorted(self._types))
            yield f'no source entity has the type "{unknown[0]}", which keep, drop or rename names; {hint}'
        if counted_from_1 := self._note_of_counting():
            yield counted_from_1
            return
        both_sides = either(" (--split, --language, --target-split, --target-language)", "")
        target = either(" (--target-split, --target-language)", "")
        for name, counts, source in zip(self._names, self._link_counts, self.bitext.sources, strict=True):
            if counts.outside:
                yield (
                    f"{name} does not seem to belong to {source.file.name} and {self.bitext.target.file.name}: links "
                    f"point outside their sentences, first in line {counts.first_outside:,} (such lines: "
                    f"{counts.outside:,}). Name the alignments in the order of the sources, in this direction "
                    f"(source-target), and split text into words as for `align`{both_sides}"
                )
        for name, counts, source in zip(self._names, self._link_counts, self.bitext.sources, strict=True):
            if counts.touching >= MIN_LINES and not counts.beyond:
                yield (
                    f"{name} seems to have been aligned with words split at spaces in {source.file.name}, but its "
                    "punctuation is separate here, so labels go to wrong words. Give `align` the same file as source"
                )
            if not counts.outside and counts.lines >= MIN_LINES and counts.reached < MIN_REACHED * counts.lines:
                yield (
                    f"the words of {self.bitext.target.file.name} seem to differ from those that were aligned: in only "
                    f"{counts.reached:,} of {counts.lines:,} lines of {name}, a link reaches the last word. Split "
                    f"the text into words as for `align`{target}"
                )

    def _note_of_counting(self) -> str:
        """A note if files read as counting words from 0 seem to count from 1; otherwise empty."""
        shifted = [
            (name, counts)
            for name, file, counts in zip(self._names, self.files, self._link_counts, strict=True)
            if isinstance(file, AlignmentFile) and not file.first and counts.lines and not counts.has_first_word
        ]
        from_one = f"do the files count from 1{either(' (--first 1)', '')}?"
        if (
            shifted
            and any(x.outside for x in self._link_counts)
            and not any(x.has_first_word for x in self._link_counts)
        ):
            return f"links point outside their sentences, and none to word 0: {from_one}"
        names = [name for name, counts in shifted if counts.lines >= MIN_LINES]
        return f"no link in {' or '.join(names)} points to word 0: {from_one}" if names else ""


def _words_between_spaces(sentence: Sentence) -> int:
    """The number of words between white space, in a sentence with offsets."""
    return 1 + sum(end < start for (_, end), (start, _) in pairwise(sentence.offsets))


def _translation(source: Sentence | Reject, alignment: Alignment | Reject, target: Sentence) -> Translation | Reject:
    if isinstance(source, Reject):
        return replace(source, sentence=target)
    if isinstance(alignment, Reject):
        comments = alignment.sentence.comments if alignment.sentence is not None else ()
        return replace(alignment, sentence=replace(target, comments=(*target.comments, *comments)))
    return Translation(source, alignment)
