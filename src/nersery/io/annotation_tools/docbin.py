"""spaCy's DocBin, the ``.spacy`` files that `spacy train` learns from.

A document becomes its sentences, or one sentence if nobody has divided it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nersery.core.errors import DataError, Issue
from nersery.core.extras import required
from nersery.core.sentence import Corpus, Sentence
from nersery.io.annotation_tools.spacy_documents import MULTI_LANGUAGE, document_sentences, spacy_vocabulary, to_spacy
from nersery.io.base import Findings, ReadOptions, Source, unreadable_sentence
from nersery.io.formats import DOCUMENTS, OFFSETS, PLAIN, Format
from nersery.io.input_files.text_file import TextFile
from nersery.io.jsonl import JsonlSource, JsonlWriter

MAX_BYTES = 1 << 30
"""The maximum number of bytes of a decompressed file. A file of a few kilobytes could fill all memory."""
CHUNK = 1 << 20
_DAMAGED = (AttributeError, LookupError, TypeError, ValueError, zlib.error)
"""Errors that spaCy raises for bytes of another kind, and errors from odd ``user_data``."""


class DocBinSource(Source):
    """Sentences of the documents of a DocBin, with the entities in ``doc.ents``.

    Raises:
        DataError: If the file cannot be read.
        MissingResourceError: If spaCy is not installed.
    """

    description = "spacy"

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        for number, doc in enumerate(self._documents(), start=1):
            id = f"{self.file.stem}:{number}"
            try:
                sentences = list(document_sentences(doc, id))
                clashes = filter(None, (findings.record_id(sentence.id, number) for sentence in sentences))
                issues = [replace(clash, line=None) for clash in clashes]
            except DataError as error:
                issues = [replace(issue, kind="invalid sentence") for issue in error.issues]
            except _DAMAGED as error:
                issues = [Issue(f"its user_data cannot be read: {error}", kind="invalid sentence")]
            if issues:
                findings.record_broken(id, issues, unreadable_sentence(doc.text))
                continue
            for sentence in sentences:
                is_known = sentence.language not in ("", MULTI_LANGUAGE)
                yield sentence if is_known else replace(sentence, language=self.options.language)

    def _documents(self) -> Iterator[Any]:
        tokens, vocab = required("spacy.tokens", "spacy"), spacy_vocabulary()  # a DocBin names no language
        try:
            content = self.file.path.read_bytes()
            _refuse_bomb(content)
            yield from tokens.DocBin().from_bytes(content).get_docs(vocab)
        except OSError as error:
            raise self.file.unreadable(error) from None
        except _DAMAGED as error:
            message = f"this cannot be read as spaCy's DocBin: {error}"
            raise self.file.error(message, "save it again in spaCy, or name its format by --format") from None


def _refuse_bomb(content: bytes) -> None:
    """Raise `ValueError` for bytes that grow beyond `MAX_BYTES` when they are decompressed."""
    decompressor, size = zlib.decompressobj(), 0
    while content and size <= MAX_BYTES:
        size += len(decompressor.decompress(content, CHUNK))
        content = decompressor.unconsumed_tail
    if content:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes when decompressed. Split it into several files")


def pack_docbin(lines: Path, target: Path) -> None:
    """Make a DocBin from a JSONL file. Ids, languages and offsets are in the documents' ``user_data``."""
    docbin = required("spacy.tokens", "spacy").DocBin(store_user_data=True)
    for doc in to_spacy(Corpus(JsonlSource(TextFile(lines), ReadOptions())), None):
        docbin.add(doc)
    docbin.to_disk(target)


FORMATS = (
    Format(
        "spacy",
        "spaCy's DocBin",
        (".spacy",),
        reader=DocBinSource,
        writer=JsonlWriter,
        pack=pack_docbin,
        keeps=PLAIN | {DOCUMENTS, OFFSETS},
    ),
)
