"""External word aligners on the PATH: how to run each program, and how to read its output."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nersery.core.errors import MissingResourceError, NerseryError
from nersery.core.warnings import warn
from nersery.crosslingual.aligner_components.symmetrization import MIN_PROBABILITY, Point, Points
from nersery.crosslingual.hmm.lexicon import look_up_keys, pair_keys
from nersery.io.pharaoh import parse_alignment

NumberedWords = Sequence[Sequence[int]]
"""Sentences as word numbers, which start at 0."""
Directions = tuple[list[Points], list[Points]]
"""The links of each pair, found forward and backward; both as positions in the source and in the target."""

SHOWN_LINES = 5


class OutputError(Exception):
    """An issue in the output of a program.

    Args:
        line: The line of the issue, from 1.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Program:
    """An external word aligner.

    Args:
        names: Programs that must be on the PATH; the first one aligns.
        advice: How to install it.
        max_words: Maximum length of a side.
        max_ratio: The program skips pairs with this ratio of lengths or a larger one.
    """

    names: tuple[str, ...]
    advice: str
    max_words: float = math.inf
    max_ratio: float = math.inf

    def find(self) -> list[str]:
        """The paths of its programs; raises `MissingResourceError` if one is not on the PATH."""
        paths = {name: shutil.which(name) for name in self.names}
        missing = [name for name, path in paths.items() if path is None]
        if missing:
            raise MissingResourceError(f"cannot find {' and '.join(missing)} on the PATH. {self.advice}")
        return [path for path in paths.values() if path is not None]

    def run(self, sources: NumberedWords, targets: NumberedWords, folder: Path, arguments: Sequence[str]) -> Directions:
        """Align pairs.

        Args:
            folder: An empty working directory.
            arguments: More arguments of the program.

        Raises:
            NerseryError: If the program fails.
            OutputError: If its output does not fit the pairs.
        """
        raise NotImplementedError

    def probabilities(
        self, links: Sequence[Sequence[Point]], sources: NumberedWords, targets: NumberedWords, folder: Path
    ) -> list[list[float]]:
        """The probability of each link, in (0, 1], from the files that `run` left in the folder; 1 if there is none.

        Raises:
            OutputError: If the files cannot be read.
        """
        return [[1.0] * len(points) for points in links]


class Eflomal(Program):
    """eflomal, run from the command line."""

    def run(self, sources: NumberedWords, targets: NumberedWords, folder: Path, arguments: Sequence[str]) -> Directions:
        _write_lines(folder / "source", map(_join_numbers, sources))
        _write_lines(folder / "target", map(_join_numbers, targets))
        options = ["--model", "3", "--overwrite", "-s", "source", "-t", "target", "-f", "forward", "-r", "backward"]
        _run([self.find()[0], *options, *arguments], folder)
        return _read_links(folder / "forward", sources, targets), _read_links(folder / "backward", sources, targets)


class FastAlign(Program):
    """fast_align, run once in each direction. It writes links as source-target in both."""

    def run(self, sources: NumberedWords, targets: NumberedWords, folder: Path, arguments: Sequence[str]) -> Directions:
        pairs = zip(map(_join_numbers, sources), map(_join_numbers, targets), strict=True)
        _write_lines(folder / "pairs", (f"{source} ||| {target}" for source, target in pairs))
        options = [self.find()[0], "-i", "pairs", "-d", "-o", "-v"]
        _run([*options, *arguments], folder, folder / "forward")
        _run([*options, "-r", *arguments], folder, folder / "backward")
        return _read_links(folder / "forward", sources, targets), _read_links(folder / "backward", sources, targets)


class Giza(Program):
    """GIZA++ and mgiza. Both take the same files. mgiza may write its output in several parts."""

    def run(self, sources: NumberedWords, targets: NumberedWords, folder: Path, arguments: Sequence[str]) -> Directions:
        giza, mkcls = self.find()
        for name, corpus in (("source", sources), ("target", targets)):
            _write_lines(folder / name, map(_join_numbers, corpus))
            counts = Counter(word for words in corpus for word in words)
            _write_lines(
                folder / f"{name}.vcb",
                (f"{_giza_number(word)} {word} {count}" for word, count in sorted(counts.items())),
            )
            _run([mkcls, "-c50", "-n2", f"-p{name}", f"-V{name}.vcb.classes", "opt"], folder)
        directions = (("source", sources, "target", targets), ("target", targets, "source", sources))
        forward, swapped = (self._run_direction(giza, *direction, folder, arguments) for direction in directions)
        return forward, [{(source, target) for target, source in points} for points in swapped]

    def probabilities(
        self, links: Sequence[Sequence[Point]], sources: NumberedWords, targets: NumberedWords, folder: Path
    ) -> list[list[float]]:
        """The geometric mean of both directions; see `Program.probabilities`."""
        paths = [folder / f"{pairs}.t3.final" for pairs in ("source_target", "target_source")]
        if missing := [path.name for path in paths if not path.exists()]:
            warn(f"{self.names[0]} wrote no {' and no '.join(missing)}, so all its links have probability 1")
            return super().probabilities(links, sources, targets, folder)
        forward, backward = map(TranslationTable.read, paths)
        probabilities = []
        for points, words, translation in zip(links, sources, targets, strict=True):
            numbers = [*map(_giza_number, words)], [*map(_giza_number, translation)]
            agreed = np.sqrt(forward.posteriors(*numbers) * backward.posteriors(*reversed(numbers)).T)
            probabilities.append([min(max(float(agreed[point]), MIN_PROBABILITY), 1.0) for point in points])
        return probabilities

    def _run_direction(
        self,
        giza: str,
        name: str,
        corpus: NumberedWords,
        other: str,
        others: NumberedWords,
        folder: Path,
        arguments: Sequence[str],
    ) -> list[Points]:
        """Run one direction: the links of each pair from words of a corpus to the words that come from them."""
        pairs = f"{name}_{other}"
        lines = ((_join_numbers(map(_giza_number, words)) for words in side) for side in (corpus, others))
        _write_lines(folder / f"{pairs}.snt", (f"1\n{left}\n{right}" for left, right in zip(*lines, strict=True)))
        cooccurring = {
            (left, _giza_number(right))
            for words, translation in zip(corpus, others, strict=True)
            for right in {*translation}
            for left in (0, *map(_giza_number, {*words}))
        }
        _write_lines(folder / f"{pairs}.cooc", (f"{left} {right}" for left, right in sorted(cooccurring)))
        options = ["-S", f"{name}.vcb", "-T", f"{other}.vcb", "-C", f"{pairs}.snt", "-o", pairs]
        _run([giza, *options, "-CoocurrenceFile", f"{pairs}.cooc", "-outputpath", f"{folder}/", *arguments], folder)
        return _read_giza(sorted(folder.glob(f"{pairs}.A3.final*")), corpus, others)


def _giza(name: str, repository: str) -> Giza:
    advice = f"Build them from https://github.com/moses-smt/{repository}, and put both in a folder on the PATH"
    return Giza((name, "mkcls"), advice, max_words=100, max_ratio=9)


PROGRAMS: dict[str, Program] = {
    "eflomal": Eflomal(("eflomal-align",), "Install it, e.g. with pip install eflomal, which needs a C compiler"),
    "fast_align": FastAlign(
        ("fast_align",), "Build it from https://github.com/clab/fast_align, and put it in a folder on the PATH"
    ),
    "mgiza": _giza("mgiza", "mgiza"),
    "giza++": _giza("GIZA++", "giza-pp"),
}


def _join_numbers(words: Iterable[int]) -> str:
    return " ".join(map(str, words))


def _giza_number(word: int) -> int:
    """The number of a word in GIZA++'s files, where 0 is the empty word and 1 an unknown word."""
    return word + 2


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _run(command: Sequence[str], folder: Path, output: Path | None = None) -> None:
    """Run a program in a folder, with its output in a file; raises `NerseryError` with its last lines if it fails."""
    error_file = folder / "stderr"
    with (output or folder / "stdout").open("wb") as printed, error_file.open("wb") as errors:
        try:
            completed = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=printed, stderr=errors)
        except OSError as error:
            raise NerseryError(f"{command[0]} cannot be run ({error.strerror}). Reinstall it") from error
    if completed.returncode:
        lines = error_file.read_text("utf-8", "replace").splitlines()[-SHOWN_LINES:]
        raise NerseryError(
            f"{' '.join(command)} failed with exit code {completed.returncode}. The end of its output:\n"
            + "\n".join(lines)
        )


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{path.name} cannot be read ({error})") from error


def _read_links(path: Path, sources: NumberedWords, targets: NumberedWords) -> list[Points]:
    lines = _read_lines(path)
    if len(lines) != len(sources):
        raise OutputError(
            f"{path.name} has {len(lines)} lines, expected {len(sources)}, one per pair",
            min(len(lines), len(sources)) + 1,
        )
    links: list[Points] = []
    for line, (text, source, target) in enumerate(zip(lines, sources, targets, strict=True), start=1):
        try:
            links.append({(link.source, link.target) for link in parse_alignment(text)})
        except ValueError as error:
            raise OutputError(str(error), line) from error
        _check_range(links[-1], len(source), len(target), line)
    return links


def _check_range(points: Points, source: int, target: int, line: int) -> None:
    for left, right in sorted(points):
        if not (0 <= left < source and 0 <= right < target):
            raise OutputError(f"link {left}-{right} is outside a pair of {source} and {target} words", line)


_HEAD = re.compile(r"# Sentence pair \((\d+)\)")
_WORD = re.compile(r"\S+ \(\{ ((?:\d+ )*)\}\)")


def _read_giza(paths: Sequence[Path], corpus: NumberedWords, others: NumberedWords) -> list[Points]:
    """Read the output of GIZA++. Each pair has three lines; the last one lists the words that come from each word."""
    lines = [line for path in paths for line in _read_lines(path)]
    points: dict[int, Points] = {}
    for start in range(0, len(lines), 3):
        head = _HEAD.match(lines[start])
        if head is None or start + 2 >= len(lines):
            raise OutputError('expected "# Sentence pair (…)" and two more lines', start + 1)
        number = int(head[1]) - 1
        if not 0 <= number < len(corpus) or number in points:
            raise OutputError(f"sentence pair {number + 1} of {len(corpus)} is out of range or occurs twice", start + 1)
        words = _WORD.findall(lines[start + 2])
        if len(words) != len(corpus[number]) + 1:
            raise OutputError(f"{len(words)} words, expected {len(corpus[number])} and NULL", start + 3)
        points[number] = {
            (position, int(other) - 1) for position, others_ in enumerate(words[1:]) for other in others_.split()
        }
        _check_range(points[number], len(corpus[number]), len(others[number]), start + 3)
    if len(points) != len(corpus):
        raise OutputError(f"{len(points)} pairs, expected {len(corpus)}", len(lines) + 1)
    return [points[number] for number in range(len(corpus))]


@dataclass(frozen=True)
class TranslationTable:
    """The probabilities of translations of words.

    Args:
        keys: One key for each word and translation, sorted; see `pair_keys`. Shape: (entries).
        values: The probability of the translation, given the word. Shape: (entries).
    """

    keys: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def read(cls, path: Path) -> TranslationTable:
        """Read a file such as ``source_target.t3.final``. Each line has two word numbers and a probability.

        Raises:
            OutputError: If the file cannot be read or has another format.
        """
        try:
            lines = np.loadtxt(path, dtype=np.float64, ndmin=2)
        except (OSError, ValueError) as error:
            raise OutputError(f"{path.name} cannot be read ({error})") from error
        if lines.shape[1] != 3 or not ((lines >= 0).all() and (lines[:, 2] <= 1).all()):
            raise OutputError(f"{path.name}: expected two word numbers and a probability in each line")
        left, right = lines[:, :2].astype(np.int64).T
        keys = pair_keys(left, right)
        order = np.argsort(keys)
        return cls(keys[order], lines[order, 2])

    def posteriors(self, words: Sequence[int], translation: Sequence[int]) -> NDArray[np.float64]:
        """The probability that each word of a translation is aligned to each word, computed as in IBM model 1.

        Shape: (words, translation). The rest of each column belongs to the null word.
        """
        left, right = np.array([*words, 0], np.int64), np.array(translation, np.int64)
        probabilities, _ = look_up_keys(self.keys, self.values, pair_keys(left[:, None], right))
        posteriors: NDArray[np.float64] = probabilities / np.maximum(probabilities.sum(0), np.finfo(float).tiny)
        return posteriors[:-1]
