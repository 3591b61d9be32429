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

from nersery.io.base import AUTO, InMemory, ReadOptions, Source, Writer, digest_of
from nersery.io.formats import extensions, formats, readable, writable
from nersery.io.input_files.shipped import input_path
from nersery.io.input_files.text_file import STANDARD_INPUT
from nersery.io.jsonl import read_rejects, reject_line
from nersery.io.losses import Losses
from nersery.io.reading import open_corpus, open_text, read
from nersery.io.writing import as_written, format_of, write, writer

__all__ = [
    "AUTO", "STANDARD_INPUT", "InMemory", "Losses", "ReadOptions", "Source", "Writer", "as_written", "digest_of",
    "extensions", "format_of", "formats", "input_path", "open_corpus", "open_text", "read", "read_rejects",
    "readable", "reject_line", "writable", "write", "writer",
]  # fmt: skip
