"""Writes a corpus, completely or not at all. Its file name determines the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from nersery.core.errors import SettingsError, checked_text, did_you_mean
from nersery.core.sentence import Sentence, checked_sentences
from nersery.core.system.files import PACKED, as_path, naming_the_file, refuse_unwritable, remove, written_beside
from nersery.core.wording import either
from nersery.io.base import AUTO, Writer
from nersery.io.columns_and_rows.document_marks import with_marks
from nersery.io.formats import IDS, Format, extensions, formats, writable
from nersery.io.input_files.text_file import as_beginning
from nersery.io.temporary_tables.ids import with_distinct_ids


def format_of(path: str | Path, *, can_be_named: bool = False) -> str:
    """The format to write, by the extension of the path.

    Args:
        can_be_named: Whether the caller could have named a format. If so, the error message offers this.

    Raises:
        SettingsError: If the extension is unknown.

    >>> format_of("out/train.jsonl")
    'jsonl'
    """
    extension = Path(path).suffix.lower()
    if extension not in extensions():
        known = [name for name, format in extensions().items() if formats()[format].writer]
        raise SettingsError(
            f'{path}: the extension "{extension}" names no format, expected one of {", ".join(known)}. '
            + _how_to_write_others(can_be_named)
        )
    return extensions()[extension]


def _how_to_write_others(can_be_named: bool) -> str:
    """How to write a format without its own extension."""
    if can_be_named:
        return either("Or name the format, e.g. --to label-studio", 'Or name the format, e.g. format="label-studio"')
    command = "nersery dataset convert OUT.jsonl FILE --to label-studio"
    library = 'nersery.write(nersery.read("OUT.jsonl"), "FILE", format="label-studio")'
    return f"For another format, write .jsonl and convert that: {either(command, library)}"


def writer(format: str, *, scheme: str = "IOB2", separator: str = "\t") -> Writer:
    """A writer of a format.

    Args:
        scheme: For ``conll``: a name of `nersery.core.tags.SCHEMES`.
        separator: For ``conll``: a tab or a space.

    Raises:
        SettingsError: If a value is unknown.
    """
    known = formats().get(checked_text(format, "format"))
    if known is None or (known.writer is None and not known.unwritable):
        of_tool = [name for name in writable() if format.lower() in formats()[name].summary.lower()]
        hint = f'did you mean "{of_tool[0]}"? Known: {", ".join(writable())}' if of_tool and format else ""
        raise SettingsError(f'there is no output format "{format}"; {hint or did_you_mean(format, writable())}')
    if known.writer is None:
        raise SettingsError(known.unwritable)
    encoder: Writer = known.writer(scheme, separator) if format == "conll" else known.writer()
    encoder.format = known
    return encoder


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
        DataError: If the format cannot hold a sentence, or two have the same id.
        OSError: If the file cannot be written; nothing has changed then.
    """
    path = as_path(path, "the output")
    encoder = writer(
        format_of(path, can_be_named=True) if checked_text(format, "format") == AUTO else format,
        scheme=scheme,
        separator=separator,
    )
    refuse_unwritable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if encoder.format.makes_folder and os.path.lexists(path):
        raise SettingsError(f"{path} exists already, expected the name of a new folder. Choose another name")
    if path.is_dir():
        raise SettingsError(f"{path} is a folder that exists already. Choose another name")
    count = 0
    with naming_the_file(path), written_beside(path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            given = checked_sentences(sentences)
            given = with_distinct_ids(given) if IDS in encoder.format.keeps else given
            for sentence in as_written(given, encoder.format):
                text = encoder.encode(sentence)
                stream.write(text if count else as_beginning(text))
                count += 1
        if encoder.format.pack is None:
            os.replace(temporary, path)
        else:
            _pack(encoder.format.pack, temporary, path)
    return count


def as_written(sentences: Iterable[Sentence], format: Format) -> Iterable[Sentence]:
    """The sentences, with comments for their documents if the format has these."""
    return with_marks(sentences) if format.marks_documents else sentences


def _pack(pack: Callable[[Path, Path], None], lines: Path, target: Path) -> None:
    """Make the target from what a writer wrote, completely or not at all."""
    packed = lines.with_suffix(PACKED)
    try:
        pack(lines, packed)
        os.replace(packed, target)
    finally:  # after an error, the file is still there
        remove(packed)
