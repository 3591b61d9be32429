"""A person's decisions about sentences, written line by line so that a kill loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self

from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue, NerseryError, shown
from nersery.core.outcome import NOT_REVIEWED, REJECTED_BY_HAND, Outcome, Reject
from nersery.core.random import is_whole, item_seed
from nersery.core.sentence import Entity, Sentence
from nersery.core.system.files import naming_the_file
from nersery.core.system.locks import locked
from nersery.core.warnings import warn
from nersery.evaluate.acceptance import Acceptance, acceptance
from nersery.io.temporary_tables.sentence_table import SentenceTable

Verdict = Literal["accept", "reject", ""]
VERDICTS: tuple[Verdict, ...] = ("accept", "reject", "")
"""The empty verdict takes a decision back."""
FILE = "decisions.jsonl"
MAX_NOTE_LENGTH = 500
"""Maximum length of a note in characters."""


class OutdatedError(NerseryError):
    """A decision on a sentence about which somebody else has decided in the meantime."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a sentence.

    Args:
        verdict: ``accept``, ``reject``, or empty if nothing has been decided.
        labels: The entities of the sentence according to that person, as ``(start, end, type)``.
        note: A note by the person; it becomes a comment of the sentence.
    """

    verdict: Verdict
    labels: tuple[tuple[int, int, str], ...]
    note: str = ""

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """A decision from an object with verdict, labels and note.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: If the value is something else.
            NerseryError: If there is no such verdict.
        """
        labels = tuple(
            (checked_integer(start), checked_integer(end), type_ + "") for start, end, type_ in value["labels"]
        )
        decision = cls(value["verdict"], labels, value.get("note", "") + "")
        if decision.verdict not in VERDICTS:
            raise NerseryError(f"the verdict is {shown(decision.verdict)}, expected one of {', '.join(VERDICTS[:2])}")
        return decision


class Decisions:
    """The decisions on the sentences of a corpus, in their own folder. The last decision on a sentence counts.

    Args:
        corpus: The sentences under review; more may be added, each after `check`.
        folder: The folder to which each decision is written as it is made.
        encode: Writes a sentence in the output's format, so that a sentence that it cannot write is refused at once.

    Attributes:
        types: The types that decisions have used, in the order of their first use.
    """

    def __init__(self, corpus: SentenceTable, folder: Path, encode: Callable[[Sentence], str] = str) -> None:
        self.corpus, self.file, self._encode = corpus, folder / FILE, encode
        self.types: dict[str, None] = {}
        self._by_id: dict[str, Decision] = {}
        self._versions = Counter[str]()
        self._unchecked: dict[str, tuple[int, str]] = {}
        self._size = 0  # of the file as this process has read or written it

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls, corpus: SentenceTable, folder: Path, encode: Callable[[Sentence], str] = str, *, start_over: bool = False
    ) -> Iterator[Self]:
        """Open the decisions in a folder to read them and add more. The folder is locked against other processes.

        Args:
            start_over: Leave out the existing decisions; call `put_aside` before the first new one.

        Raises:
            SettingsError: If another process reviews into this folder.
            DataError: If a line of the file is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            decisions = cls(corpus, folder, encode)
            is_new = not decisions.file.exists()
            decisions.file.touch()
            if not start_over:
                decisions._read()
            decisions._size = decisions.file.stat().st_size
            try:
                yield decisions
            except NerseryError:
                if is_new and decisions.file.exists() and not decisions.file.stat().st_size:
                    decisions.file.unlink()  # otherwise the next call would take it for a review that has begun
                raise

    def put_aside(self) -> Path | None:
        """Rename the file and start a new one. Decisions made by people are never deleted.

        Returns:
            The new path of the decisions; None if there were none.
        """
        if not self.file.stat().st_size:
            return None
        names = (self.file.with_name(f"{self.file.name}.{number}.old") for number in count(1))
        aside = next(path for path in names if not path.exists())
        self.file.rename(aside)
        self.file.touch()
        self._size = 0
        return aside

    def __getitem__(self, id: str) -> Decision:
        """The decision on a sentence; if there is none, an empty verdict with the sentence's own labels."""
        return self._by_id.get(id) or Decision("", self._sentence(id).labels)

    @property
    def verdicts(self) -> dict[int, Verdict]:
        """The verdicts by the numbers of their sentences."""
        verdicts = {id: decision.verdict for id, decision in self._by_id.copy().items()}  # others decide meanwhile
        numbers = {id: self.corpus.number_of(id) for id in verdicts}
        return {number: verdicts[id] for id, number in numbers.items() if number is not None}

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences were accepted, how many of these corrected, and how many rejected."""
        verdicts = Counter(decision.verdict for decision in self._by_id.values())
        accepted = ((id, decision.labels) for id, decision in self._by_id.items() if decision.verdict == "accept")
        corrected = sum(labels != self._sentence(id).labels for id, labels in accepted)
        return {"accept": verdicts["accept"], "corrected": corrected, "reject": verdicts["reject"]}

    def types_of(self, sentence: Sentence) -> set[str]:
        """The types of the labels of a sentence, as corrected."""
        decision = self._by_id.get(sentence.id)
        return {type_ for _, _, type_ in (decision.labels if decision else sentence.labels)}

    def version(self, id: str) -> int:
        """The number of decisions that were made about a sentence."""
        return self._versions[id]

    def by_method(self) -> dict[str, Acceptance]:
        """The acceptance of the sentences that each method made, by its name."""
        pairs: dict[str, list[tuple[Sentence, Sentence | None]]] = {}
        for id, decision in self._by_id.items():
            sentence = self._sentence(id)
            if decision.verdict and sentence.origin is not None:
                kept = _corrected(sentence, decision) if decision.verdict == "accept" else None
                pairs.setdefault(sentence.origin.method, []).append((sentence, kept))
        return {method: acceptance(p) for method, p in sorted(pairs.items())}

    def decide(self, id: str, decision: Decision, version: int | None = None) -> None:
        """Write a decision. When this returns, it is on the disk.

        Args:
            version: The version of the decision that the person saw; None replaces any version.

        Raises:
            DataError: If there is no such sentence, or the labels do not fit it, the note is too long, or the
                output's format cannot hold it.
            OutdatedError: If there is a newer version.
            OSError: If it cannot be written; earlier decisions stay as they were.
        """
        original = self._sentence(id)
        sentence = _corrected(original, decision)
        if len(decision.note) > MAX_NOTE_LENGTH:
            message = f"the note has {len(decision.note):,} characters, expected at most {MAX_NOTE_LENGTH}"
            raise DataError(Issue(message, sentence=id), fix="shorten it")
        if version is not None and version != self.version(id):
            raise OutdatedError(f"sentence {id}: another person or tab has decided on it since it was shown here")
        if decision.verdict == "accept":
            self._encode(_with_note(sentence, decision.note))
        decision = replace(decision, labels=sentence.labels)
        self.write_again_if_changed()
        self._append(_line(original, decision))
        self._record(id, decision)
        self.corpus.set_types(id, {type_ for _, _, type_ in decision.labels})

    def write_again_if_changed(self) -> None:
        """Write all decisions again if somebody has removed or changed their file since it was opened."""
        if self.file.exists() and self.file.stat().st_size == self._size:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.touch()
        aside, self._size = self.put_aside(), -1  # so that they are written by the next call if the disk is full now
        self._append(b"".join(_line(self._sentence(id), decision) for id, decision in self._by_id.items()))
        event = (
            f"changed during the review (the changed file is kept in {aside})" if aside else "removed during the review"
        )
        warn(f"{self.file} was {event}; its {plural(len(self._by_id), 'decision')} are written again")

    def _append(self, line: bytes) -> None:
        """Append a line completely or not at all."""
        with naming_the_file(self.file), self.file.open("ab", buffering=0) as stream:
            size = stream.tell()
            try:
                while line:  # an unbuffered write may stop half way; only the next one fails, with the cause
                    line = line[stream.write(line) :]
                os.fsync(stream.fileno())
                self._size = stream.tell()
            except OSError:
                stream.truncate(size)
                raise

    def _record(self, id: str, decision: Decision) -> None:
        self._by_id[id] = decision
        self._versions[id] += 1
        self.types |= dict.fromkeys(type_ for _, _, type_ in decision.labels)

    def outcome(self, sentence: Sentence) -> Outcome:
        """The outcome for a sentence of the corpus: the accepted sentence, as corrected, or why there is none."""
        decision = self._by_id.get(sentence.id)
        if decision is None:  # of most sentences, if the corpus is large
            return Reject(NOT_REVIEWED, sentence)
        if decision.verdict == "accept":
            return _with_note(_corrected(sentence, decision), decision.note)
        return Reject(REJECTED_BY_HAND if decision.verdict else NOT_REVIEWED, _with_note(sentence, decision.note))

    def _sentence(self, id: str) -> Sentence:
        if (sentence := self.corpus.find(id)) is None:
            raise DataError(Issue("there is no such sentence", sentence=id))
        return sentence

    def _lines(self) -> Iterator[bytes]:
        """The lines of the file. An incomplete line at the end, which a kill has left, is cut off."""
        complete = 0
        with self.file.open("rb+") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    stream.truncate(complete)
                    return
                complete += len(line)
                yield line

    def _read(self) -> None:
        for number, line in enumerate(self._lines(), start=1):
            try:
                values = json.loads(line)
                id, shown, decision = values["id"] + "", values["shown"] + "", Decision.from_json(values)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError, NerseryError):
                raise self._damaged(number) from None
            self._unchecked[id] = number, shown
            self._record(id, decision)

    def _damaged(self, number: int) -> DataError:
        return DataError(
            f"{self.file}, line {number} is damaged: expected what `nersery label review` wrote",
            fix="delete the line, which keeps all other decisions; or start over (--force)",
        )

    def check(self, sentence: Sentence) -> None:
        """Compare a sentence with the one that a decision was made about.

        Raises:
            DataError: If they differ, or the labels of the decision do not fit the sentence.
        """
        number, shown = self._unchecked.pop(sentence.id, (0, ""))
        if not number:
            return
        if shown != _shown(sentence):
            raise self._misplaced(sentence.id, number)
        try:
            _corrected(sentence, self._by_id[sentence.id])
        except DataError:
            raise self._damaged(number) from None

    def check_all(self) -> None:
        """Raise `DataError` for a decision on a sentence that the corpus does not have."""
        for id, (number, _) in self._unchecked.items():
            raise self._misplaced(id, number)

    def _misplaced(self, id: str, number: int) -> DataError:
        return DataError(
            Issue("the decision is about a sentence that the input does not have", str(self.file), number, id),
            fix="review the input that it was made for, choose another output, or start over (--force)",
        )


def checked_integer(value: Any) -> int:
    """A whole number unchanged; a `TypeError` for anything else, including truth values."""
    if not is_whole(value):
        raise TypeError
    return value


def _corrected(sentence: Sentence, decision: Decision) -> Sentence:
    """The sentence with a decision's labels. An entity that it had before keeps its score."""
    entities = {(entity.start, entity.end, entity.type): entity for entity in sentence.entities}
    return sentence.with_entities(entities.get(label) or Entity(*label) for label in sorted(decision.labels))


def _with_note(sentence: Sentence, note: str) -> Sentence:
    note = " ".join(note.split())
    return replace(sentence, comments=(*sentence.comments, f"# review: {note}")) if note else sentence


def _line(original: Sentence, decision: Decision) -> bytes:
    values = {
        "id": original.id, "verdict": decision.verdict, "labels": decision.labels, "note": decision.note,
        "shown": _shown(original),
    }  # fmt: skip
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _shown(sentence: Sentence) -> str:
    """A hash of what a person saw of a sentence."""
    return f"{item_seed(sentence.words, sentence.labels):x}"
