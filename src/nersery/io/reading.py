"""Opens a corpus. Its name or its first lines determine the format."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from nersery.core.conversions import conversion_hint
from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.sentence import Corpus, Sentence
from nersery.core.warnings import warn
from nersery.io.base import AUTO, InMemory, ReadOptions, Source, read_options
from nersery.io.formats import FileHead, extensions, formats, readable
from nersery.io.input_files.folder import FolderSource
from nersery.io.input_files.foreign import ForeignFormatError, NoTextError, refuse_foreign
from nersery.io.input_files.shipped import input_path
from nersery.io.input_files.text_file import READABLE, STANDARD_INPUT, TextFile
from nersery.io.text import TextSource
from nersery.io.word_splitting.tokenization import MAX_ATTACHED_SHARE

_DEFAULTS = ReadOptions()
Sentences = Iterable[Sentence] | str | Path
"""A corpus as users give it: sentences that can be read twice, or the name of a file or folder."""
_SHEETS = (".xls", ".xlsx", ".ods")
_NO_TEXT = (".conllu", ".json", ".jsonl", ".xml", ".html", ".csv", ".tsv", *_SHEETS)
"""Extensions of files whose lines are not sentences."""


def open_corpus(path: str | Path, options: ReadOptions = _DEFAULTS) -> Source:
    """Open a corpus. It is read sentence by sentence, as often as needed, in constant memory.

    Args:
        path: A file, ``-`` for standard input, or a folder of files.

    Raises:
        DataError: If the file cannot be opened or its format is unknown. Iteration reports issues of sentences.
    """
    return _open(path, options)


def open_text(path: str | Path, options: ReadOptions = _DEFAULTS, attached_share: float | None = None) -> Source:
    """Open a corpus whose labels are not needed.

    A file of an unknown format, such as ``corpus.de``, is read as text, and so is one that begins with marks such as
    ``<DOC>``. Words with tags beside them and both sides of parallel text are not. Unannotated tasks are read, too.

    Args:
        attached_share: That of `nersery.io.word_splitting.tokenization.attached_punctuation` in the labelled sentences
            that the text belongs to. If most of it is part of words there, it stays in the words of the text, unless
            the options say otherwise.

    Raises:
        DataError: If the file cannot be opened, or its extension says that it is not text, as ``.json`` does.
    """
    path = input_path(path)
    try:
        source = _open(path, options, attached_share)
    except DataError as error:
        no_text = _NO_TEXT if isinstance(error, ForeignFormatError) else (*extensions(), *_NO_TEXT)
        is_known = str(path) == STANDARD_INPUT or Path(path).suffix.lower() in no_text
        if options.format != AUTO or is_known or isinstance(error, NoTextError) or not Path(path).is_file():
            raise
        source = _open(path, replace(options, format="text"), attached_share)
    source.labelled = False
    return source


def opened(
    corpus: Sentences, name: str = "the corpus", *, raw: bool = False, attached_share: float | None = None
) -> Source:
    """The sentences of a file or folder, or those that are given. Raise `SettingsError` for one-time iterators.

    Args:
        name: What messages call it.
        raw: Read a file of an unknown format as text.
        attached_share: Of the labelled sentences that the raw text belongs to; see `nersery.io.open_text`.
    """
    if isinstance(corpus, str | Path):
        return open_text(corpus, attached_share=attached_share) if raw else open_corpus(corpus)
    if not isinstance(corpus, Iterable):
        raise SettingsError(f"{name} is {shown(corpus)}, expected sentences, or the name of a file or folder")
    if iter(corpus) is corpus:
        raise SettingsError(
            f"a {type(corpus).__name__} can be read only once, but {name} is read twice: give a Corpus or a list"
        )
    return corpus if isinstance(corpus, Source) else InMemory(corpus, name)


def opened_if_given(corpus: Sentences | None, name: str) -> Source:
    """Like `opened`, but None means no sentences."""
    return opened(() if corpus is None else corpus, name)


def opened_together(corpora: Sentences | Sequence[str | Path] | None, name: str) -> Iterable[Sentence]:
    """Like `opened_if_given`, but a list may also name several files. Their sentences are joined."""
    if isinstance(corpora, list | tuple) and corpora and all(isinstance(file, str | Path) for file in corpora):
        return [sentence for file in corpora for sentence in open_corpus(file)]
    return opened_if_given(cast("Sentences | None", corpora), name)


def _open(path: str | Path, options: ReadOptions, attached_share: float | None = None) -> Source:
    """Open a file, or a folder of files; see `open_text`."""
    path = input_path(path)
    open_file = partial(_open_file, attached_share=attached_share)
    try:
        if Path(path).is_dir():
            return FolderSource(TextFile(path, options.encoding), options, open_file)
        return open_file(path, options)
    except PermissionError as error:  # of a folder whose files cannot be looked at
        raise DataError(Issue(f"cannot be read: {error.strerror}", path), fix=READABLE) from None


def _open_file(path: str | Path, options: ReadOptions, attached_share: float | None = None) -> Source:
    """Open a file. Its text is split like the labelled sentences that it belongs to; see `open_text`."""
    file = TextFile(path, options.encoding)
    file.refuse_pointer()
    if file.encoding == options.encoding != "utf-8-sig" and file.path.is_file():
        file.refuse_binary()  # bytes that are not UTF-8 may be letters in other encodings
        if file.seems_utf_8:
            iconv = f"iconv -f {codecs.lookup(options.encoding).name} -t utf-8 OLD > NEW"
            warn(
                f"{file.name} has lines in UTF-8, which {options.encoding} garbles, e.g. é becomes Ã©. If only other "
                f"files are in {options.encoding}, convert those ({iconv}), and leave out --encoding"
            )
    if note := file.note_of_mojibake():
        warn(f"{file.name}: {note}")
    format = options.format if options.format != AUTO else _recognise(file, options)
    reader = cast("Callable[..., Source]", formats()[format].reader)
    if options.format == AUTO:
        source = reader(file, options)
    else:
        try:
            source = reader(file, options)
        except DataError as error:
            raise _naming_the_format(file, options, error) from None
        source.add_advice = partial(_naming_the_format, file, options)
    if isinstance(source, TextSource) and options.split is None and (attached_share or 0) > MAX_ATTACHED_SHARE:
        return TextSource(file, options, keep_punctuation=True)
    return source


def _naming_the_format(file: TextFile, options: ReadOptions, error: DataError) -> DataError:
    """The error of reading a file in the format that the user names. If it is in another format, the fix says so."""
    detecting = replace(options, format=AUTO)
    try:
        head = FileHead(file, detecting)
        known = formats()[_recognise(file, detecting)]
        is_other = known.name not in (options.format, "text") and known.recognises and known.recognises(head)
        if not is_other or type(error) is not DataError or next(iter(_open_file(file.path, detecting)), None) is None:
            return error
    except DataError:
        return error
    return DataError(error.issues, fix=f"the file seems to be {known.name}: leave out --format")


def read(path: str | Path, **options: Any) -> Corpus:
    """Read a whole corpus.

    Args:
        path: A file, ``-`` for standard input, or a folder.
        options: Fields of `ReadOptions`.

    Raises:
        DataError: With all issues of the file.
        SettingsError: With all wrong options.
    """
    if isinstance(path, list | tuple):
        advice = conversion_hint(path, next(iter(path), None))
        raise SettingsError(f"the input is {shown(path)}, expected the name of a file or folder{advice}")
    return Corpus(open_corpus(path, read_options(options)))


def _recognise(file: TextFile, options: ReadOptions) -> str:
    """The format of a file, by its extension, or by its first lines if the extension is not enough."""
    head = FileHead(file, options)
    if head.extension in _SHEETS:
        raise _sheet(file)
    by_extension = formats().get(extensions().get(head.extension, ""))
    if by_extension is None or by_extension.rank:  # otherwise it may not be text
        refuse_foreign(head, sure=True)
    for format in sorted(formats().values(), key=lambda format: format.rank):
        if by_extension is not None and not by_extension.shares_extensions and format.rank >= by_extension.rank:
            return by_extension.name
        if format.recognises is not None and format.recognises(head):
            return format.name
    message = f'neither the extension "{head.extension}" nor the first lines show the format'
    raise file.error(message, f"name it by --format {' or '.join(readable())}")


def _sheet(file: TextFile) -> DataError:
    """The error for a spreadsheet, whose columns may mean anything."""
    table = f'pandas.read_excel("{file.name}", keep_default_na=False)'
    return file.error(
        "this is a table, which nersery reads through pandas",
        "if each row has a word, its tag and its sentence's id, convert it in Python: "
        f'nersery.write(nersery.Corpus.from_pandas({table}), "train.jsonl"). For raw text, save only that column, one '
        "sentence per line",
    )
