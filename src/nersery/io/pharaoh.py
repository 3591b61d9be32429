"""Links in Pharaoh's format: one line per pair of sentences, ``0-0 1-2``, with probabilities ``0-0:0.83``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, zip_longest
from operator import lt
from pathlib import Path
from typing import Any

from nersery.core.alignments import Alignment, Link
from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.outcome import Reject
from nersery.core.system.files import content_hash
from nersery.core.wording import either
from nersery.io.base import unreadable_sentence
from nersery.io.formats import extensions
from nersery.io.input_files.text_file import TextFile

MALFORMED = "malformed alignment"
_PROBABILITY = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINK = re.compile(rf"(?<!\S)(\d+)-(\d+)(?::({_PROBABILITY}))?(?!\S)", re.ASCII)
_WEIGHTED = re.compile(r"\d+-\d+:\d*\.?\d+(?: \d+-\d+:\d*\.?\d+)*\n?", re.ASCII)
"""A line of links that all have a probability, as `format_alignment` writes it unless one is tiny."""
_HINTS = {
    re.compile(r"\|\|\|"): "; delete the scores after the links: sed 's/ *|||.*//' old > new",
    re.compile(r"\d+[p?]\d+"): "; turn possible links into sure ones: sed 's/[p?]/-/g' old > new",
    re.compile(r"\d+-\d+/[\d.]+"): "; write the probabilities after colons: tr / : < old > new",
}
"""Advice on the notations of other programs."""
_make_link: Callable[[tuple[int, int, float]], Link] = partial(tuple.__new__, Link)
"""Like `Link._make`, but in a third of the time. Files have more links than words."""
MAX_ISSUES = 1000
"""After this many issues in one file, the rest is not read."""
FIX = "expected pairs of positions such as 0-0 1-2:0.83, one line per sentence pair; an empty line has no links"

COMPRESSED = (".bz2", ".gz", ".xz", ".zip", ".zst")
PLAIN = ".txt"
"""An extension that a corpus format and files of links share."""
SHARDS = "part-*.align"
GIZA_MARK = "# Sentence pair ("
GIZA_FIX = (
    "let nersery run GIZA++ both ways: nersery crosslingual align SOURCE TARGET OUTPUT --method external --set "
    "program=giza++ (or mgiza); or convert the A3.final files of both directions, e.g. by giza2bal.pl and symal"
)
_OF_WORDS = re.compile(r"\d+ \d+ \d+(?: [SP])?(?: [\d.]+)?\r?\n?")
OF_WORDS_FIX = (
    """make a line of each pair: awk '{l[$1+0] = l[$1+0] " " $2 ($4 == "P" ? "p" : "-") $3; if ($1 > n) n = $1+0} """
    """END {for (i = 1; i <= n; i++) print l[i]}' old > new (which counts words from 1)"""
)


def parse_alignment(text: str, *, first: int = 0, probabilities: str | None = None) -> Alignment:
    """The links of a line, sorted.

    Args:
        first: Number of the first word, 0 or 1.
        probabilities: The corresponding line of a separate file of probabilities.

    Raises:
        ValueError: If the line is malformed.

    >>> parse_alignment("1-2:0.5 0-0")
    (Link(source=0, target=0, probability=1.0), Link(source=1, target=2, probability=0.5))
    """
    sources, targets, written = _fields(text)
    if probabilities is not None:
        written = _beside(written, _parts(probabilities))
    if not sources:
        return ()
    starts, ends = [*map(int, sources)], [*map(int, targets)]
    values = [float(value or 1) for value in written]
    alignment = [*map(_make_link, zip(starts, ends, values, strict=True))]
    if not all(map(lt, starts, starts[1:])):  # otherwise they are sorted, and none occurs twice
        if len({*zip(starts, ends, strict=True)}) < len(starts):
            raise ValueError("a link occurs twice, expected once")
        alignment.sort()
    if not 0 < min(values) <= max(values) <= 1:
        odd_one = next(link.probability for link in alignment if not 0 < link.probability <= 1)
        raise ValueError(f"a probability is {odd_one:g}, expected a number above 0 and at most 1")
    if first:
        if any(link.source < first or link.target < first for link in alignment):
            raise ValueError(f"a link to the word 0, expected {first} for the first word")
        alignment = [Link(source - first, target - first, probability) for source, target, probability in alignment]
    return tuple(alignment)


def _fields(text: str) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """The sources, targets and probabilities of a line, as they are written; a probability may be empty."""
    if _WEIGHTED.fullmatch(text):
        numbers = text.replace("-", " ").replace(":", " ").split()
        return numbers[::3], numbers[1::3], numbers[2::3]
    fields = _LINK.findall(text)
    if len(fields) < len(parts := _parts(text)):
        odd = next(part for part in parts if not _LINK.fullmatch(part))
        hint = next((hint for form, hint in _HINTS.items() if form.fullmatch(odd)), "")
        raise ValueError(f"{shown(odd, 40)} is not a link, expected e.g. 0-0 or 0-0:0.83{hint}")
    sources, targets, probabilities = zip(*fields, strict=True) if fields else ((), (), ())
    return sources, targets, probabilities


def _beside(written: Sequence[str], probabilities: Sequence[str]) -> Sequence[str]:
    """The probabilities from another file, for links without probabilities."""
    if any(written):
        raise ValueError("links already have probabilities: omit the file of others, or delete them from the links")
    if len(written) != len(probabilities):
        raise ValueError(f"{len(written)} links and {len(probabilities)} probabilities, expected one for each")
    for part in probabilities:
        if not re.fullmatch(_PROBABILITY, part, re.ASCII):
            raise ValueError(f"{shown(part, 40)} in the file of probabilities is not a number above 0 and at most 1")
    return probabilities


def _parts(text: str) -> list[str]:
    """The parts of a line between blanks. Other white space does not separate parts."""
    return re.findall(r"[^ \t\r\n]+", text)


def format_alignment(alignment: Alignment, *, first: int = 0, probabilities: bool = True) -> str:
    """The links as a line; probabilities have six digits, and are omitted if all are 1.

    >>> format_alignment((Link(0, 0), Link(1, 2, 0.5)), first=1)
    '1-1:1 2-3:0.5'
    """
    if not probabilities or all(link[2] == 1 for link in alignment):
        return " ".join([f"{source + first}-{target + first}" for source, target, _ in alignment])
    return " ".join(
        [f"{source + first}-{target + first}:{probability:.6g}" for source, target, probability in alignment]
    )


def check_first(first: int) -> None:
    """Raise `SettingsError` unless words are counted from 0 or 1."""
    if first not in (0, 1):
        raise SettingsError(f"the first word is {first}, expected 0 or 1")


def check_output(path: Path) -> None:
    """Raise `SettingsError` if the name of a file of links promises another format, or compression."""
    extension = path.suffix.lower()
    if extension in COMPRESSED:
        plain = path.with_suffix("")
        raise SettingsError(f"{path}: links are not compressed when they are written. Write {plain}, then compress it")
    if extension != PLAIN and extension in extensions():
        other = path.with_suffix(".align")
        raise SettingsError(f"{path}: links are not {extensions()[extension]}. Choose another extension, as in {other}")


def lines_of_links(file: TextFile) -> Iterator[str]:
    """The lines of a file of links, or of the shards in a folder, one after the other.

    Raises:
        DataError: If the file has three lines per pair, because GIZA++ wrote it, or one line per link.
    """
    shards = sorted(file.path.glob(SHARDS), key=lambda path: (len(path.name), path.name))
    lines = chain.from_iterable(part.lines() for part in (map(TextFile, shards) if shards else (file,)))
    for first in islice(lines, 1):
        if first.startswith(GIZA_MARK):
            message = "this is a file of GIZA++ (A3.final), expected links such as 0-0 1-2 in each line"
            raise file.error(message, GIZA_FIX, 1)
        if _OF_WORDS.fullmatch(first):
            message = "this has a link in each line (0001 1 1 S), expected links such as 0-0 1-2 of a pair in each line"
            raise file.error(message, OF_WORDS_FIX, 1)
        yield first
    yield from lines


class AlignmentFile:
    """The alignments of a file, one pair per line. Each iteration reads it again, in constant memory.

    Args:
        path: The file, a folder of finished shards, or ``-`` for standard input.
        first: Number of the first word, 0 or 1.
        probabilities: A second file with the probabilities of the links.
        reject: Reject malformed lines instead of raising an error.

    Raises:
        SettingsError: If ``first`` is not 0 or 1.
    """

    def __init__(
        self, path: str | Path, *, first: int = 0, probabilities: str | Path | None = None, reject: bool = False
    ) -> None:
        check_first(first)
        self.file, self.first, self.reject = TextFile(path), first, reject
        self.beside = None if probabilities is None else TextFile(probabilities)

    def __len__(self) -> int:
        return sum(1 for _ in lines_of_links(self.file))

    def blank_at_end(self) -> int:
        """The number of blank lines at the end of the file. They may be pairs without links."""
        blank = 0
        for line in lines_of_links(self.file):
            blank = 0 if _parts(line) else blank + 1
        return blank

    def fingerprint(self) -> Any:
        """What distinguishes these alignments, and how they are read, from others."""
        paths = (self.file.path, *([self.beside.path] if self.beside else []))
        return [*map(content_hash, paths), self.first, self.reject]

    def __iter__(self) -> Iterator[Alignment | Reject]:
        """The alignments in order.

        Raises:
            DataError: At the end, with all malformed lines. Also if two files differ in length, or GIZA++ wrote them.
        """
        issues: list[Issue] = []
        for line, (text, probabilities) in enumerate(self._lines(), start=1):
            try:
                alignment = parse_alignment(text, first=self.first, probabilities=probabilities)
            except ValueError as error:
                issue = Issue(str(error), self.file.name, line)
                if self.reject:
                    yield Reject(MALFORMED, unreadable_sentence(text, (f"# {issue}",)))
                    continue
                issues.append(issue)
                if len(issues) >= MAX_ISSUES:
                    break
            else:
                if not issues:
                    yield alignment
        if issues:
            from_one = f"leave out {either('--first 1', 'first=1')} if the file counts words from 0; else "
            raise DataError(issues, fix=from_one + FIX.replace("0-0 1-2", "1-1 2-3") if self.first else FIX)

    def _lines(self) -> Iterator[tuple[str, str | None]]:
        if self.beside is None:
            yield from ((text, None) for text in lines_of_links(self.file))
            return
        pairs = zip_longest(lines_of_links(self.file), self.beside.lines())
        for line, (text, probabilities) in enumerate(pairs, start=1):
            if text is None or probabilities is None:
                shorter = self.file if text is None else self.beside
                fix = "give the links and the probabilities of the same alignment"
                raise shorter.error(f"the file ends before line {line}, expected a line for each pair", fix)
            yield text, probabilities
