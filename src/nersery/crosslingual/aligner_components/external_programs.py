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
from nersery.crosslingual.aligner_components.symmetrization import LEAST, Point, Points
from nersery.crosslingual.hmm.lexicon import look_up_keys, pair_keys
from nersery.io.pharaoh import parse_alignment

Corpus = Sequence[Sequence[int]]
"""Sentences as word numbers, which start at 0."""
Ways = tuple[list[Points], list[Points]]
"""The links of each pair, found forward and backward; both as positions in the source and in the target."""

SHOWN_LINES = 5


class AnswerError(Exception):
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
        most_words: Maximum length of a side.
        most_uneven: The program skips pairs with this ratio of lengths or a larger one.
    """

    names: tuple[str, ...]
    advice: str
    most_words: float = math.inf
    most_uneven: float = math.inf

    def find(self) -> list[str]:
        """The paths of its programs; raises `MissingResourceError` if one is not on the PATH."""
        paths = {name: shutil.which(name) for name in self.names}
        missing = [name for name, path in paths.items() if path is None]
        if missing:
            raise MissingResourceError(f"cannot find {' and '.join(missing)} on the PATH. {self.advice}")
        return [path for path in paths.values() if path is not None]

    def run(self, sources: Corpus, targets: Corpus, folder: Path, arguments: Sequence[str]) -> Ways:
        """Align pairs.

        Args:
            folder: An empty working directory.
            arguments: More arguments of the program.

        Raises:
            NerseryError: If the program fails.
            AnswerError: If its output does not fit the pairs.
        """
        raise NotImplementedError

    def probabilities(
        self, links: Sequence[Sequence[Point]], sources: Corpus, targets: Corpus, folder: Path
    ) -> list[list[float]]:
        """The probability of each link, in (0, 1], from the files that `run` left in the folder; 1 if there is none.

        Raises:
            AnswerError: If the files cannot be read.
        """
        return [[1.0] * len(points) for points in links]


class Eflomal(Program):
    """eflomal, run from the command line."""

    def run(self, sources: Corpus, targets: Corpus, folder: Path, arguments: Sequence[str]) -> Ways:
        _write(folder / "source", map(_line, sources))
        _write(folder / "target", map(_line, targets))
        options = ["--model", "3", "--overwrite", "-s", "source", "-t", "target", "-f", "forward", "-r", "backward"]
        _call([self.find()[0], *options, *arguments], folder)
        return _read(folder / "forward", sources, targets), _read(folder / "backward", sources, targets)


class FastAlign(Program):
    """fast_align, run once in each direction. It writes links as source-target in both."""

    def run(self, sources: Corpus, targets: Corpus, folder: Path, arguments: Sequence[str]) -> Ways:
        pairs = zip(map(_line, sources), map(_line, targets), strict=True)
        _write(folder / "pairs", (f"{source} ||| {target}" for source, target in pairs))
        options = [self.find()[0], "-i", "pairs", "-d", "-o", "-v"]
        _call([*options, *arguments], folder, folder / "forward")
        _call([*options, "-r", *arguments], folder, folder / "backward")
        return _read(folder / "forward", sources, targets), _read(folder / "backward", sources, targets)


class Giza(Program):
    """GIZA++ and mgiza. Both take the same files. mgiza may write its output in several parts."""

    def run(self, sources: Corpus, targets: Corpus, folder: Path, arguments: Sequence[str]) -> Ways:
        giza, mkcls = self.find()
        for name, corpus in (("source", sources), ("target", targets)):
            _write(folder / name, map(_line, corpus))
            counts = Counter(word for words in corpus for word in words)
            _write(
                folder / f"{name}.vcb", (f"{_number(word)} {word} {count}" for word, count in sorted(counts.items()))
            )
            _call([mkcls, "-c50", "-n2", f"-p{name}", f"-V{name}.vcb.classes", "opt"], folder)
        ways = (("source", sources, "target", targets), ("target", targets, "source", sources))
        forward, turned = (self._one_way(giza, *way, folder, arguments) for way in ways)
        return forward, [{(source, target) for target, source in points} for points in turned]

    def probabilities(
        self, links: Sequence[Sequence[Point]], sources: Corpus, targets: Corpus, folder: Path
    ) -> list[list[float]]:
        """The geometric mean of both directions; see `Program.probabilities`."""
        paths = [folder / f"{pairs}.t3.final" for pairs in ("source_target", "target_source")]
        if missing := [path.name for path in paths if not path.exists()]:
            warn(f"{self.names[0]} wrote no {' and no '.join(missing)}, so all its links have probability 1")
            return super().probabilities(links, sources, targets, folder)
        forward, backward = map(TranslationTable.read, paths)
        probabilities = []
        for points, words, translation in zip(links, sources, targets, strict=True):
            numbers = [*map(_number, words)], [*map(_number, translation)]
            agreed = np.sqrt(forward.posteriors(*numbers) * backward.posteriors(*reversed(numbers)).T)
            probabilities.append([min(max(float(agreed[point]), LEAST), 1.0) for point in points])
        return probabilities

    def _one_way(
        self, giza: str, name: str, corpus: Corpus, other: str, others: Corpus, folder: Path, arguments: Sequence[str]
    ) -> list[Points]:
        """Run one direction: the links of each pair from words of a corpus to the words that come from them."""
        pairs = f"{name}_{other}"
        lines = ((_line(map(_number, words)) for words in side) for side in (corpus, others))
        _write(folder / f"{pairs}.snt", (f"1\n{left}\n{right}" for left, right in zip(*lines, strict=True)))
        together = {
            (left, _number(right))
            for words, translation in zip(corpus, others, strict=True)
            for right in {*translation}
            for left in (0, *map(_number, {*words}))
        }
        _write(folder / f"{pairs}.cooc", (f"{left} {right}" for left, right in sorted(together)))
        options = ["-S", f"{name}.vcb", "-T", f"{other}.vcb", "-C", f"{pairs}.snt", "-o", pairs]
        _call([giza, *options, "-CoocurrenceFile", f"{pairs}.cooc", "-outputpath", f"{folder}/", *arguments], folder)
        return _read_giza(sorted(folder.glob(f"{pairs}.A3.final*")), corpus, others)


def _giza(name: str, repository: str) -> Giza:
    advice = f"Build them from https://github.com/moses-smt/{repository}, and put both in a folder on the PATH"
    return Giza((name, "mkcls"), advice, most_words=100, most_uneven=9)


PROGRAMS: dict[str, Program] = {
    "eflomal": Eflomal(("eflomal-align",), "Install it, e.g. with pip install eflomal, which needs a C compiler"),
    "fast_align": FastAlign(
        ("fast_align",), "Build it from https://github.com/clab/fast_align, and put it in a folder on the PATH"
    ),
    "mgiza": _giza("mgiza", "mgiza"),
    "giza++": _giza("GIZA++", "giza-pp"),
}


def _line(words: Iterable[int]) -> str:
    return " ".join(map(str, words))


def _number(word: int) -> int:
    """The number of a word in GIZA++'s files, where 0 is the empty word and 1 an unknown word."""
    return word + 2


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _call(command: Sequence[str], folder: Path, output: Path | None = None) -> None:
    """Run a program in a folder, with its output in a file; raises `NerseryError` with its last lines if it fails."""
    complaints = folder / "stderr"
    with (output or folder / "stdout").open("wb") as printed, complaints.open("wb") as errors:
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=printed, stderr=errors)
        except OSError as error:
            raise NerseryError(f"{command[0]} cannot be run ({error.strerror}). Reinstall it") from error
    if done.returncode:
        lines = complaints.read_text("utf-8", "replace").splitlines()[-SHOWN_LINES:]
        raise NerseryError(
            f"{' '.join(command)} failed with exit code {done.returncode}. The end of its output:\n" + "\n".join(lines)
        )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AnswerError(f"{path.name} cannot be read ({error})") from error


def _read(path: Path, sources: Corpus, targets: Corpus) -> list[Points]:
    lines = _lines(path)
    if len(lines) != len(sources):
        raise AnswerError(
            f"{path.name} has {len(lines)} lines, expected {len(sources)}, one per pair",
            min(len(lines), len(sources)) + 1,
        )
    answer: list[Points] = []
    for line, (text, source, target) in enumerate(zip(lines, sources, targets, strict=True), start=1):
        try:
            answer.append({(link.source, link.target) for link in parse_alignment(text)})
        except ValueError as error:
            raise AnswerError(str(error), line) from error
        _refuse_far(answer[-1], len(source), len(target), line)
    return answer


def _refuse_far(points: Points, source: int, target: int, line: int) -> None:
    for left, right in sorted(points):
        if not (0 <= left < source and 0 <= right < target):
            raise AnswerError(f"link {left}-{right} is outside a pair of {source} and {target} words", line)


_HEAD = re.compile(r"# Sentence pair \((\d+)\)")
_WORD = re.compile(r"\S+ \(\{ ((?:\d+ )*)\}\)")


def _read_giza(paths: Sequence[Path], corpus: Corpus, others: Corpus) -> list[Points]:
    """Read the output of GIZA++. Each pair has three lines; the last one lists the words that come from each word."""
    lines = [line for path in paths for line in _lines(path)]
    points: dict[int, Points] = {}
    for start in range(0, len(lines), 3):
        head = _HEAD.match(lines[start])
        if head is None or start + 2 >= len(lines):
            raise AnswerError('expected "# Sentence pair (…)" and two more lines', start + 1)
        number = int(head[1]) - 1
        if not 0 <= number < len(corpus) or number in points:
            raise AnswerError(f"sentence pair {number + 1} of {len(corpus)} is out of range or occurs twice", start + 1)
        words = _WORD.findall(lines[start + 2])
        if len(words) != len(corpus[number]) + 1:
            raise AnswerError(f"{len(words)} words, expected {len(corpus[number])} and NULL", start + 3)
        points[number] = {
            (position, int(other) - 1) for position, others_ in enumerate(words[1:]) for other in others_.split()
        }
        _refuse_far(points[number], len(corpus[number]), len(others[number]), start + 3)
    if len(points) != len(corpus):
        raise AnswerError(f"{len(points)} pairs, expected {len(corpus)}", len(lines) + 1)
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
            AnswerError: If the file cannot be read or has another format.
        """
        try:
            lines = np.loadtxt(path, dtype=np.float64, ndmin=2)
        except (OSError, ValueError) as error:
            raise AnswerError(f"{path.name} cannot be read ({error})") from error
        if lines.shape[1] != 3 or not ((lines >= 0).all() and (lines[:, 2] <= 1).all()):
            raise AnswerError(f"{path.name}: expected two word numbers and a probability in each line")
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
