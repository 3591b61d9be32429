"""Detects files without text by their first bytes, and says how to get the text."""

from __future__ import annotations

from pathlib import Path

from nersery.core.errors import DataError, Issue

MOST_BYTES = 200
"""The number of bytes that show what a file is."""
PARQUET = b"PAR1"
_POINTER = b"version https://git-lfs.github.com/spec/"
"""The beginning of the pointer that replaces a file until Git LFS fetches it."""
_ARROW = b"\xff\xff\xff\xff"
"""The beginning of the files that Hugging Face's datasets stores."""
_PDF = b"%PDF-"
_COMPRESSED = {
    b"\x1f\x8b\x08": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstandard",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
"""The beginnings of some compressed files."""
_OTHERS = {
    **dict.fromkeys((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), ("a picture", "recognize its text with OCR first")),
    b"SQLite format 3": ("an SQLite database", "export the table of sentences as CSV"),
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        ("a pickle of Python objects", "save them as JSONL; unpickling could run untrusted code"),
    ),
}
"""For the beginnings of other files without text: their kind, and how to get the text."""
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NAME_IN_ZIP = 30
"""The byte at which the name of the first file in an archive begins."""
_IN_OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"mimetypeapplication/vnd.oasis")
"""Names with which the first file in a Word or LibreOffice document begins."""
_AS_TEXT = "put each sentence on a line of its own"


def refuse_pointer(beginning: bytes, name: str) -> None:
    """Raise `DataError` for the three lines that Git LFS leaves in place of a file."""
    if beginning.startswith(_POINTER):
        issue = Issue("this is a pointer of Git LFS; the file itself was not downloaded", name)
        raise DataError(issue, fix="download it: git lfs pull")


def refuse_binary(beginning: bytes, path: Path, name: str) -> None:
    """Raise `DataError` for bytes that are not text in any encoding, such as compressed ones."""
    is_zip = beginning.startswith(b"PK\x03\x04")
    if beginning.startswith(_ARROW):
        code = f"datasets.Dataset.from_file({name!r}).to_parquet({f'{path.stem}.parquet'!r})"
        message, fix = "this is Arrow", f"save it as Parquet, in Python: {code}"
    elif beginning.startswith(PARQUET):
        message, fix = "this is Parquet", "read it as such: --format parquet"
    elif beginning.startswith(_PDF):
        message, fix = "this is PDF, expected text", f"extract its text, e.g. with pdftotext, and {_AS_TEXT}"
    elif beginning.startswith(_OLD_OFFICE) or (is_zip and beginning[_NAME_IN_ZIP:].startswith(_IN_OFFICE)):
        message, fix = "this is a Word or Office document, expected text", f"save it as plain text, and {_AS_TEXT}"
    elif kind := next((_COMPRESSED[mark] for mark in _COMPRESSED if beginning.startswith(mark)), None):
        message, fix = f"this is compressed ({kind})", "unpack it first"
    elif other := next((_OTHERS[mark] for mark in _OTHERS if beginning.startswith(mark)), None):
        message, fix = f"this is {other[0]}, expected text", other[1]
    else:
        return
    raise DataError(Issue(message, name), fix=fix)
