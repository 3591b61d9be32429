"""One side of parallel text: text with one sentence per line, or a corpus in any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from nersery import io
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.io.base import ReadOptions, Source
from nersery.io.input_files.folder import FolderSource
from nersery.io.input_files.text_file import TextFile
from nersery.io.reading import Sentences, opened
from nersery.io.text import TextSource
from nersery.io.word_splitting.tokenization import Splitting

EMPTY_LINE = "empty line"
EXCERPT = 60
"""Number of characters of a sentence that a message shows."""

Side = Sentence | Reject


class Lines(TextSource):
    """Sentences of a text file, one per line. A blank line keeps its place, as a reject without a sentence.

    Words are split at white space unless another splitting is named, because links of other tools refer to such words;
    but see `nersery.crosslingual.parallel_corpus.word_borders`.

    Args:
        remark: Why the words are as they are, for `description`; empty describes what is odd about them.
    """

    blank_line = Reject(EMPTY_LINE)

    def __init__(self, file: TextFile, options: ReadOptions, *, remark: str = "") -> None:
        self.is_named = options.split is not None
        super().__init__(file, replace(options, split=options.split or "spaces"))
        self._remark = remark

    @property
    def description(self) -> str:
        """The format, and how the words are split or what is odd about them, if anything."""
        return f"text, line by line{self._oddity}"

    def _oddity_of_words(self, texts: Sequence[str]) -> str:
        return self._remark or super()._oddity_of_words(texts)


def open_side(path: str | Path, options: ReadOptions, *, labelled: bool = False) -> Source:
    """Open one side of parallel text: a corpus in any format, or text with one sentence per line.

    Args:
        path: A file, ``-`` for standard input, or a folder of files.
        labelled: Whether its labels are used; see `nersery.io.open_text`.

    Raises:
        DataError: If it cannot be read.
        SettingsError: If it should be split into words, but has words already.
    """
    path = io.input_path(path)
    if Path(path).is_dir():
        folder = FolderSource(TextFile(path, options.encoding), options, partial(_opened, labelled=labelled))
        folder.labelled = labelled
        return folder
    return _opened(path, options, labelled=labelled)


def with_splitting(side: Source, splitting: Splitting, remark: str) -> Source:
    """A side whose text, or all text in its folder, is split in a way that is not named; see `Lines`."""
    if isinstance(side, FolderSource):
        return side.changed(partial(with_splitting, splitting=splitting, remark=remark))
    return Lines(side.file, replace(side.options, split=splitting), remark=remark) if isinstance(side, Lines) else side


def opened_side(corpus: Sentences, name: str, *, labelled: bool = False) -> Source:
    """Open one side as the library's users give it: a path, a source, or sentences in memory. Messages use the name."""
    if isinstance(corpus, str | Path):
        return open_side(corpus, ReadOptions(), labelled=labelled)
    return opened(corpus, name)


def _opened(path: str | Path, options: ReadOptions, *, labelled: bool) -> Source:
    source = io.open_corpus(path, options) if labelled else io.open_text(path, options)
    if isinstance(source, TextSource):
        return Lines(source.file, options)
    if options.split not in (None, "spaces") and not source.splits_text:
        raise SettingsError(f"{path} is {source.description} and already has words, which are not split again")
    return source


def is_empty(side: Side) -> bool:
    """Whether this is a line without words."""
    return isinstance(side, Reject) and side.reason == EMPTY_LINE


def words_of(side: Side) -> Sequence[str]:
    """The words of a sentence; a reject has none."""
    return side.words if isinstance(side, Sentence) else ()


def quoted(words: Sequence[str]) -> str:
    """The beginning of a text, in quotation marks."""
    text = " ".join(words)
    return f'"{text[:EXCERPT]}…"' if len(text) > EXCERPT else f'"{text}"'
