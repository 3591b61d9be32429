"""Reads and writes corpora: CoNLL columns, JSONL (native, lossless), Parquet (in shards), plain text, and text with
labels by characters, as annotation tools write it.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.conll"
>>> _ = path.write_text("Ada I-PER\\nLovelace I-PER\\nwrote O\\n")
>>> open_corpus(path).description
'conll, IOB1, 2 columns: word 1, tag 2'
>>> read(path)[0].labels
((0, 2, 'PER'),)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.files import as_path, naming_the_full_disk, refuse_unwritable, written_beside
from nersery.core.sentence import Corpus, Sentence, checked_sentences
from nersery.core.warnings import warn
from nersery.io.base import AUTO, InMemory, ReadOptions, Source, Writer, digest_of, read_options
from nersery.io.folder import FolderSource
from nersery.io.foreign import ForeignFormatError, refuse_foreign
from nersery.io.formats import Beginning, extensions, formats, readable, writable
from nersery.io.jsonl import read_rejects, reject_line
from nersery.io.shipped import input_path
from nersery.io.text_file import STANDARD_INPUT, TextFile, as_beginning

__all__ = [
    "AUTO",
    "STANDARD_INPUT",
    "InMemory",
    "ReadOptions",
    "Source",
    "Writer",
    "digest_of",
    "extensions",
    "format_of",
    "formats",
    "input_path",
    "open_corpus",
    "open_text",
    "read",
    "read_rejects",
    "readable",
    "reject_line",
    "writable",
    "write",
    "writer",
]

_DEFAULTS = ReadOptions()
_SHEETS = (".xls", ".xlsx", ".ods")
_NO_TEXT = (".conllu", ".json", ".jsonl", ".xml", ".html", ".csv", ".tsv", *_SHEETS)
"""Extensions of files whose lines are no sentences."""


def open_corpus(path: str | Path, options: ReadOptions = _DEFAULTS) -> Source:
    """Open a corpus. It is read sentence by sentence, as often as needed, in constant memory.

    Args:
        path: A file, ``-`` for standard input, or a folder of files.

    Raises:
        DataError: If the file cannot be opened or its format is unknown. Iteration reports issues of sentences.
    """
    path = input_path(path)
    if Path(path).is_dir():
        return FolderSource(TextFile(path, options.encoding), options, _open_file)
    return _open_file(path, options)


def open_text(path: str | Path, options: ReadOptions = _DEFAULTS) -> Source:
    """Open a corpus whose labels do not count.

    A file of an unknown format is text, as ``corpus.de`` is, and one that begins with marks such as ``<DOC>``. Tasks
    that nobody has annotated are read.

    Raises:
        DataError: If the file cannot be opened, or its extension says that it is not text, as ``.json`` does.
    """
    path = input_path(path)
    try:
        source = open_corpus(path, options)
    except DataError as error:
        no_text = _NO_TEXT if isinstance(error, ForeignFormatError) else (*extensions(), *_NO_TEXT)
        is_known = str(path) == STANDARD_INPUT or Path(path).suffix.lower() in no_text
        if options.format != AUTO or is_known or not Path(path).is_file():
            raise
        source = open_corpus(path, replace(options, format="text"))
    source.labels_count = False
    return source


def _open_file(path: str | Path, options: ReadOptions) -> Source:
    file = TextFile(path, options.encoding)
    if file.encoding != "utf-8-sig" and file.seems_utf_8():
        warn(f"{file.name} has lines in UTF-8, which {options.encoding} garbles: é becomes Ã© and the like")
    format = options.format if options.format != AUTO else _recognise(file, options)
    reader = formats()[format].reader
    if reader is None:
        message = f"{formats()[format].summary} cannot be read; formats that can: {', '.join(readable())}"
        raise DataError(Issue(message, file.name), fix="give the file it was made from; for spaCy, Corpus.from_spacy")
    source: Source = reader(file, options)
    return source


def read(path: str | Path, **options: Any) -> Corpus:
    """Read a whole corpus.

    Args:
        path: A file, ``-`` for standard input, or a folder.
        options: Fields of `ReadOptions`.

    Raises:
        DataError: With all issues of the file.
        SettingsError: With all wrong options.
    """
    return Corpus(open_corpus(path, read_options(options)))


def _recognise(file: TextFile, options: ReadOptions) -> str:
    """The format of a file, by its extension or, where that says little, by its first lines."""
    start = Beginning(file, options)
    if start.extension in _SHEETS:
        raise _sheet(file)
    named = formats().get(extensions().get(start.extension, ""))
    if named is None or named.rank:  # else it may be no text
        refuse_foreign(start, sure=True)
    for format in sorted(formats().values(), key=lambda format: format.rank):
        if named is not None and not named.shares_extensions and format.rank >= named.rank:
            return named.name
        if format.recognises is not None and format.recognises(start):
            return format.name
    raise DataError(
        Issue(f'neither the extension "{start.extension}" nor the first lines tell the format', file.name),
        fix=f"name it by --format {' or '.join(readable())}",
    )


def _sheet(file: TextFile) -> DataError:
    """The error for a spreadsheet, whose columns may mean anything."""
    table = f'pandas.read_excel("{file.name}", keep_default_na=False)'
    return DataError(
        Issue("this is a table, which nersery reads by way of pandas", file.name),
        fix="if each row has a word, its tag and its sentence's id, convert it in Python: "
        f'nersery.write(nersery.Corpus.from_pandas({table}), "train.jsonl"). Of raw text, save the column alone, one '
        "sentence per line",
    )


def format_of(path: str | Path) -> str:
    """The format to write, by the extension of the path.

    Raises:
        SettingsError: If the extension is unknown.

    >>> format_of("out/train.jsonl")
    'jsonl'
    """
    extension = Path(path).suffix.lower()
    if extension not in extensions():
        known = [one for one, format in extensions().items() if formats()[format].writer]
        raise SettingsError(
            f'{path}: the extension "{extension}" names no format, expected one of {", ".join(known)}. '
            "nersery dataset convert --to writes other formats, such as label-studio"
        )
    return extensions()[extension]


def writer(format: str, *, scheme: str = "IOB2", separator: str = "\t", columns: int | None = None) -> Writer:
    """A writer of a format.

    Args:
        scheme: For ``conll``: a name of `nersery.core.tags.SCHEMES`.
        separator: For ``conll``: a tab or a space.
        columns: For ``conll``: extra columns of every sentence; None takes the number of the first.

    Raises:
        SettingsError: If a value is unknown.
    """
    known = formats().get(format)
    if known is None or (known.writer is None and not known.unwritable):
        of_tool = [name for name in writable() if format.lower() in formats()[name].summary.lower()]
        meant = f'did you mean "{of_tool[0]}"? Known: {", ".join(writable())}' if of_tool and format else ""
        raise SettingsError(f'there is no output format "{format}"; {meant or did_you_mean(format, writable())}')
    if known.writer is None:
        raise SettingsError(known.unwritable)
    made: Writer = known.writer(scheme, separator, columns) if format == "conll" else known.writer()
    made.pack, made.makes_folder = known.pack, known.makes_folder
    return made


def write(
    sentences: Iterable[Sentence], path: str | Path, *, format: str = AUTO, scheme: str = "IOB2", separator: str = "\t"
) -> int:
    """Write a corpus completely or not at all; an existing file is replaced at the end.

    Args:
        sentences: May be a stream; they are written one by one.
        format: A writable format, or ``auto``: by the extension.

    Returns:
        The number of sentences.

    Raises:
        DataError: If the format cannot hold a sentence.
        OSError: If the file cannot be written; nothing has changed then.
    """
    path = as_path(path, "the output")
    encoder = writer(format_of(path) if format == AUTO else format, scheme=scheme, separator=separator)
    refuse_unwritable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if encoder.makes_folder and os.path.lexists(path):
        raise SettingsError(f"{path} exists already, expected the name of a new folder. Choose another name")
    if path.is_dir():
        raise SettingsError(f"{path} is a folder that exists already. Choose another name")
    count = 0
    with naming_the_full_disk(path), written_beside(path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            for sentence in checked_sentences(sentences):
                text = encoder.encode(sentence)
                stream.write(text if count else as_beginning(text))
                count += 1
        if encoder.pack is None:
            os.replace(temporary, path)
        else:
            _pack(encoder.pack, temporary, path)
    return count


def _pack(pack: Callable[[Path, Path], None], lines: Path, target: Path) -> None:
    """Make the target of what a writer wrote, whole or not at all."""
    packed = lines.with_suffix(".packed")
    try:
        pack(lines, packed)
        os.replace(packed, target)
    finally:  # it is still there after an error
        shutil.rmtree(packed) if packed.is_dir() else packed.unlink(missing_ok=True)
