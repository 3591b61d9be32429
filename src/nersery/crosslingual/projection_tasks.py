"""Rows to project: sentences with their alignments, and notes about likely mistakes in them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nersery.core.alignments import Alignment
from nersery.core.errors import DataError, Issue, did_you_mean
from nersery.core.outcome import Reject, Tally
from nersery.core.sentence import Sentence
from nersery.crosslingual.bitext import Bitext, fault_of
from nersery.crosslingual.projection import OUT_OF_RANGE, Projection, Task, Translation
from nersery.io.pharaoh import AlignmentFile


def _check_lengths(files: Sequence[AlignmentFile], rows: Sequence[int]) -> None:
    """Refuse alignments of other text.

    Raises:
        DataError: When a file does not have one line for each row of its source.
    """
    counts = [sum(1 for _ in file.file.lines()) for file in files]
    problems = [
        Issue(f"{count:,} lines of alignments, expected {expected:,}: one for each pair of sentences", file.file.name)
        for file, count, expected in zip(files, counts, rows, strict=True)
        if count != expected
    ]
    if problems:
        raise DataError(
            problems, fix="align the same files again; the aligner must write an empty line for an empty pair"
        )


@dataclass
class ProjectionNotes:
    """Collect signs of likely mistakes while rows are read."""

    types: set[str] = field(default_factory=set)
    has_first_word: bool = False

    def note(self, translation: Translation) -> None:
        """Note the labels and the alignment of a pair."""
        self.types.update([entity.type for entity in translation.source.entities])
        self.has_first_word = self.has_first_word or any(link[0] == 0 for link in translation.alignment[:1])

    def notes(self, tally: Tally, projection: Projection, first: int) -> Iterator[str]:
        """What is odd about all that was read."""
        if tally.written and not self.types:
            yield "no source sentence has an entity, so there was nothing to project; is the source the labelled file?"
        named = {*(projection.keep or ()), *projection.drop, *projection.rename}
        if self.types and (unknown := sorted(named - self.types)):
            hint = did_you_mean(unknown[0], sorted(self.types))
            yield f'no source entity has the type "{unknown[0]}", which keep, drop or rename names; {hint}'
        outside = tally.reasons[OUT_OF_RANGE]
        if outside and first == 0 and not self.has_first_word:
            yield "links point outside their sentences, none to word 0: do the files count from 1 (--first 1)?"
        elif 2 * outside > tally.read:
            yield (
                "the alignments of most pairs point outside their sentences: do they belong to this text, in this "
                "direction (source-target), and was it split into words the same way?"
            )


@dataclass(frozen=True)
class ProjectionTasks:
    """What is projected: each row with its alignments."""

    bitext: Bitext
    files: Sequence[AlignmentFile]
    seen: ProjectionNotes

    def count(self) -> int:
        """The number of rows; alignments of other text are refused."""
        if self.bitext.paired_by == "order":
            rows = self.bitext.count()
            _check_lengths(self.files, [rows] * len(self.files))
            return rows
        found = Counter(row.of for row in self.bitext)
        _check_lengths(self.files, [found[None] + found[number] for number in range(len(self.files))])
        return found.total()

    def outcomes(self) -> Iterator[Task | Reject]:
        """The tasks, read again with each call."""
        files = [*map(iter, self.files)]
        for row in self.bitext:
            target, sources, of = row
            aligned = [next(file) for file in (files if of is None else [files[of]])]
            if fault := fault_of(row):
                yield fault
            elif isinstance(target, Reject):
                yield target
            else:
                translations = [_translation(*pair, target) for pair in zip(sources, aligned, strict=True)]
                for translation in translations:
                    if not isinstance(translation, Reject):
                        self.seen.note(translation)
                yield Task(target, translations)
        for file in files:  # reading to the end reports its errors
            deque(file, maxlen=0)


def _translation(source: Sentence | Reject, alignment: Alignment | Reject, target: Sentence) -> Translation | Reject:
    if isinstance(source, Reject):
        return Reject(source.reason, target)
    if isinstance(alignment, Reject):
        comments = alignment.sentence.comments if alignment.sentence is not None else ()
        return Reject(alignment.reason, replace(target, comments=(*target.comments, *comments)))
    return Translation(source, alignment)
