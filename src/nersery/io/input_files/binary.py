"""Detects files without text by their first bytes, and says how to get the text."""

from __future__ import annotations

from pathlib import Path

from nersery.core.errors import DataError, Issue

MAX_BYTES = 200
"""The number of bytes that show what a file is."""
PARQUET = b"PAR1"
_POINTER = b"version https://git-lfs.github.com/spec/"
"""The beginning of the pointer that replaces a file until Git LFS fetches it."""
_ARROW = b"\xff\xff\xff\xff"
"""The beginning of the files that Hugging Face's datasets stores."""
_NAME_IN_ZIP = 30
"""The byte at which the name of the first file in an archive begins."""
_IN_OFFICE = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"mimetypeapplication/vnd.oasis")
"""Names with which the first file in a Word or LibreOffice document begins."""
_AS_TEXT = "put each sentence on a line of its own"
_OFFICE = (
    "a Word, Excel or other Office document, expected text",
    f"save it as plain text, a table as CSV, and {_AS_TEXT}",
)
_ZIP = b"PK\x03\x04"
_COMPRESSED = {
    b"\x1f\x8b\x08": "gzip",
    _ZIP: "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstandard",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
_KINDS = {
    PARQUET: ("Parquet", "read it as such: --format parquet"),
    b"x\x9c": ("compressed (zlib), perhaps spaCy's DocBin", "read it as such: --format spacy"),
    b"%PDF-": ("PDF, expected text", f"extract its text, e.g. with pdftotext, and {_AS_TEXT}"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": _OFFICE,
    **{mark: (f"compressed ({name})", "unpack it first") for mark, name in _COMPRESSED.items()},
    **dict.fromkeys(
        (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), ("a picture, expected text", "recognize its text with OCR first")
    ),
    b"SQLite format 3": ("an SQLite database, expected text", "export the table of sentences as CSV"),
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        ("a pickle of Python objects, expected text", "save them as JSONL; unpickling could run untrusted code"),
    ),
}
"""For the beginning of each kind of file without text: what it is, and how to get the text."""


def refuse_pointer(beginning: bytes, name: str) -> None:
    """Raise `DataError` for the three lines that Git LFS leaves in place of a file."""
    if beginning.startswith(_POINTER):
        issue = Issue("this is a pointer of Git LFS; the file itself was not downloaded", name)
        raise DataError(issue, fix="download it: git lfs pull")


def refuse_binary(beginning: bytes, path: Path, name: str) -> None:
    """Raise `DataError` for bytes that are not text in any encoding, such as compressed ones."""
    kind, fix = next((kind for mark, kind in _KINDS.items() if beginning.startswith(mark)), ("", ""))
    if beginning.startswith(_ARROW):
        code = f"datasets.Dataset.from_file({name!r}).to_parquet({f'{path.stem}.parquet'!r})"
        kind, fix = "Arrow", f"save it as Parquet, in Python: {code}"
    elif beginning.startswith(_ZIP) and beginning[_NAME_IN_ZIP:].startswith(_IN_OFFICE):
        kind, fix = _OFFICE
    if kind:
        raise DataError(Issue(f"this is {kind}", name), fix=fix)
