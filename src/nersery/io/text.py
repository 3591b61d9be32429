"""Plain text: a sentence a line, words parted by white space."""

from __future__ import annotations

from collections.abc import Iterator

from nersery.data import Sentence
from nersery.errors import DataError
from nersery.io.base import Pass, ReadOptions, Source, Writer, flaws_of, lone_return, storable
from nersery.io.files import TextFile


class TextSource(Source):
    """Sentences without labels; blank lines are skipped, and the id is ``{file}:{line}``."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        super().__init__(file, options)
        self._empty = not any(map(str.strip, file.lines()))

    @property
    def description(self) -> str:
        """The format, and whether there is nothing."""
        return "text, empty" if self._empty else "text"

    def sentences(self, found: Pass) -> Iterator[Sentence]:
        """One pass over the file."""
        for number, line in enumerate(self.file.lines(), start=1):
            words = tuple(line.split())
            if not words:
                continue
            id = f"{self.file.stem}:{number}"
            flaw = lone_return(line, number)
            flaws = [flaw] if flaw else []
            try:
                sentence = Sentence(words, id=id, language=self.options.language)
            except DataError as error:
                flaws += flaws_of(error, number)
            if flaws:
                found.broken(id, flaws, Sentence(tuple(storable(line).split())))
            else:
                yield sentence


class TextWriter(Writer):
    """Writes the words alone: labels, ids and the rest are lost; a word with white space becomes several."""

    def encode(self, sentence: Sentence) -> str:
        """One line."""
        return f"{sentence.text}\n"
