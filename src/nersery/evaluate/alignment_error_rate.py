"""Precision, recall and error rate of word alignments, compared with manual alignments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from nersery.core.alignments import Link
from nersery.core.errors import DataError, Issue, shown
from nersery.io.input_files.text_file import TextFile
from nersery.io.pharaoh import lines_of_links

WordPair = tuple[int, int]
"""The positions of a source word and a target word, from 0."""
Gold = tuple[frozenset[WordPair], frozenset[WordPair]]
"""The sure and the possible links of a pair of sentences. Every sure link is also possible."""
_WITH_PROBABILITY = re.compile(r"(?<!\S)\d+-\d+:\d[\d.e+-]*(?!\S)", re.IGNORECASE)


@dataclass(frozen=True)
class AlignmentScores:
    """Counts of the links of alignments. Adding two objects adds their counts.

    A predicted link is correct if it is possible. A sure link that was not predicted is missed. Sure links count as
    possible.

    Args:
        links: The number of predicted links.
        possible: The number of predicted links that are possible.
        sure: The number of predicted links that are sure.
        gold: The number of sure links.

    Reference:
        Franz Josef Och and Hermann Ney (2003). A Systematic Comparison of Various Statistical Alignment Models.
        Computational Linguistics 29(1), section 6.

    >>> found = count_alignment({(0, 0), (1, 2), (2, 1)}, sure={(0, 0), (1, 1)}, possible={(1, 2)})
    >>> round(found.precision, 3), found.recall, found.error_rate
    (0.667, 0.5, 0.4)
    """

    links: int = 0
    possible: int = 0
    sure: int = 0
    gold: int = 0

    @property
    def precision(self) -> float:
        """The share of the predicted links that are possible, in [0, 1]; 0 without predicted links."""
        return self.possible / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of the sure links that were found, in [0, 1]; 0 if none is sure."""
        return self.sure / self.gold if self.gold else 0.0

    @property
    def error_rate(self) -> float:
        """The alignment error rate, in [0, 1]. Lower is better. It is 0 without any links."""
        total = self.links + self.gold
        return 1 - (self.sure + self.possible) / total if total else 0.0

    def __add__(self, other: AlignmentScores) -> AlignmentScores:
        return AlignmentScores(
            self.links + other.links, self.possible + other.possible, self.sure + other.sure, self.gold + other.gold
        )

    def as_dict(self) -> dict[str, float]:
        """The figures and counts for JSON."""
        figures = {"precision": self.precision, "recall": self.recall, "alignment_error_rate": self.error_rate}
        return {**figures, "links": self.links, "gold": self.gold}


def count_alignment(
    links: Iterable[Link | WordPair], sure: Collection[WordPair], possible: Collection[WordPair] = ()
) -> AlignmentScores:
    """Compare the predicted alignment of one pair of sentences with a manual one.

    Args:
        links: The predicted links. Their probabilities are ignored.
        sure: Links that must be predicted.
        possible: Further links that may be predicted.
    """
    predicted = {(link[0], link[1]) for link in links}
    correct = {*sure, *possible}
    return AlignmentScores(len(predicted), len(predicted & correct), len(predicted & {*sure}), len({*sure}))


def read_gold(path: str | Path, *, first: int = 0) -> list[Gold]:
    """Read manual alignments, one line for each pair of sentences, see `parse_gold`.

    Raises:
        DataError: Naming every line that is not an alignment, or if links have probabilities or no link is sure.
    """
    file, alignments, issues = TextFile(path), list[Gold](), list[Issue]()
    for line, text in enumerate(lines_of_links(file), start=1):
        if _WITH_PROBABILITY.search(text):
            fix = "write it with `nersery crosslingual align --plain`, and name the hand-made links first"
            raise file.error("GOLD has probabilities", fix, line)
        try:
            alignments.append(parse_gold(text, first=first))
        except ValueError as error:
            issues.append(Issue(str(error), file.name, line))
    if issues:
        raise DataError(issues, fix="name a file with the links of one sentence pair per line")
    if not any(sure for sure, _ in alignments):
        fix = "mark sure links with a hyphen (0-0), possible ones with a p (0p0)"
        raise file.error("no link is marked as sure, so none could be missed", fix)
    return alignments


def parse_gold(text: str, *, first: int = 0) -> Gold:
    """Parse the sure and the possible links of a line such as ``0-0 1p2`` or ``0-0 1?2``.

    Args:
        first: The number of the first word, 0 or 1.

    Raises:
        ValueError: Naming the first field that is not a link.

    >>> sure, possible = parse_gold("0-0 1p2")
    >>> sorted(sure), sorted(possible)
    ([(0, 0)], [(0, 0), (1, 2)])
    """
    sure, possible = set(), set()
    for field in text.split():
        separator = next((mark for mark in "p?" if mark in field), "-")  # "p" and "?" mark possible links
        source, found, target = field.partition(separator)
        if not (found and source.isdecimal() and target.isdecimal() and min(int(source), int(target)) >= first):
            raise ValueError(
                f"{shown(field, 40)} is not a link, expected e.g. {first}-{first}, or {first}p{first} if possible"
            )
        link = int(source) - first, int(target) - first
        possible.add(link)
        if separator == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)
