"""Texts in memory, as users of the library have them."""

from __future__ import annotations

import pandas as pd
import pytest

from nersery import Corpus
from nersery.core.errors import DataError, SettingsError


def test_splits_texts_like_lines_of_a_file_and_keeps_offsets() -> None:
    texts = ["Ada kam, sah:\r\n«Oslo».", "東京は日本の首都であり、世界最大の都市である。", "x"]
    corpus = Corpus.from_texts(texts, language="de")
    assert [sentence.id for sentence in corpus] == ["texts:1", "texts:2", "texts:3"]
    assert corpus[0].words == ("Ada", "kam", ",", "sah", ":", "«", "Oslo", "»", ".")
    for sentence, text in zip(corpus, texts, strict=True):
        assert [text[start:end] for start, end in sentence.offsets or ((0, 1),)] == list(sentence.words)
        assert sentence.language == "de"
    assert Corpus.from_texts("Ada ran.")[0].words == ("Ada", "ran", ".")
    assert Corpus.from_texts(iter(["Ada ran."]), split="spaces")[0].words == ("Ada", "ran.")
    assert len(Corpus.from_texts([])) == 0


def test_refuses_a_table() -> None:
    columns = {"text": ["Ada ran."], "label": ["x"]}
    for table in (columns, pd.DataFrame(columns)):
        with pytest.raises(SettingsError, match=r"expected a list of strings, such as a column: texts\['text'\]"):
            Corpus.from_texts(table)  # type: ignore[arg-type]
    assert len(Corpus.from_texts(pd.DataFrame(columns)["text"])) == 1


def test_reports_invalid_texts() -> None:
    with pytest.raises(SettingsError, match="text 2 is 5, expected a string"):
        Corpus.from_texts(["Ada", 5])  # type: ignore[list-item]
    with pytest.raises(DataError, match="text 2 is blank, expected words"):
        Corpus.from_texts(["Ada", " \u200b"])
    with pytest.raises(DataError, match="control character"):
        Corpus.from_texts(["Ada", "B\0b"])
    assert Corpus.from_texts(["B\0b"], repair="control-characters")[0].words == ("Bb",)
