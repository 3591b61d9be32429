"""Helpers that read CoNLL texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, Source, open_corpus

ADA = (("Ada", "wrote"), ((0, 1, "PER"),))


def opened(path: Path, text: str, **options: Any) -> Source:
    path.write_bytes(text.encode())
    return open_corpus(path, ReadOptions(**options))


def labels(path: Path, text: str, **options: Any) -> list[tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]]:
    return [(sentence.words, sentence.labels) for sentence in opened(path, text, **options)]


def issues(path: Path, text: str, **options: Any) -> list[str]:
    """The issues of a text, each with its line but without the name of the file."""
    with pytest.raises(DataError) as caught:
        list(opened(path, text, **options))
    return [str(issue).removeprefix(str(path)) for issue in caught.value.issues]
