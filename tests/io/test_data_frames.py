"""Corpora from data frames of pandas."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nersery import Corpus
from nersery.core.errors import DataError
from tests.io.test_libraries import CORPUS, content

TEXT_AND_ID = pd.DataFrame(
    {
        "sentence": ["Call me"] * 4 + ["Hi"],
        "sentence_id": [1, 1, 2, 2, 3],
        "word": ["Call", "me"] * 2 + ["Hi"],
        "tag": ["O"] * 5,
    }
)


def test_data_frames_survive_a_round_trip(tmp_path: Path) -> None:
    frame = CORPUS.to_pandas()
    assert content(Corpus.from_pandas(frame)) == content(CORPUS)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert content(Corpus.from_pandas(pd.read_csv(tmp_path / "a.csv", keep_default_na=False))) == content(CORPUS)
    with pytest.raises(DataError, match=r"has no word or no tag.*\n?.*keep_default_na=False"):
        Corpus.from_pandas(pd.read_csv(tmp_path / "a.csv"))
    sparse = frame.assign(sentence=frame.sentence.where(~frame.sentence.duplicated()))
    assert content(Corpus.from_pandas(sparse)) == content(CORPUS)
    assert content(Corpus.from_pandas(sparse.fillna(""))) == content(CORPUS)
    with pytest.raises(DataError, match="no column sentence or sentence_id or id"):
        Corpus.from_pandas(frame.drop(columns="sentence"))


def test_data_frames_keep_the_language_of_each_sentence() -> None:
    frame = CORPUS.to_pandas()
    languages = [sentence.language for sentence in CORPUS]
    assert any(languages)
    assert [sentence.language for sentence in Corpus.from_pandas(frame)] == languages
    unknown = frame.assign(language=frame.language.where(frame.language != "", 3.5))  # not text
    others = [language or "de" for language in languages]
    assert [sentence.language for sentence in Corpus.from_pandas(unknown, language="de")] == others
    lists = frame.groupby("sentence", as_index=False).agg({"word": list, "tag": list, "language": "first"})
    assert [sentence.language for sentence in Corpus.from_pandas(lists)] == languages
    mixed = pd.DataFrame({"sentence": [1, 1], "word": ["ok", "danke"], "tag": ["O"] * 2, "language": ["en", "de"]})
    assert Corpus.from_pandas(mixed)[0].language == ""
    tagged = mixed.drop(columns="tag").replace({"en": "O", "de": "B-de"})
    assert Corpus.from_pandas(tagged, tags="language")[0].labels == ((1, 2, "de"),)
    assert [*Corpus.from_bio([["Oslo"]], [["B-LOC"]]).to_pandas()] == ["sentence", "word", "tag"]


def test_a_data_frame_with_a_row_for_each_sentence_is_read() -> None:
    words, tags = CORPUS.to_bio()
    frame = pd.DataFrame({"id": ["a", "b", "c"], "tokens": words, "tags": tags})
    assert content(Corpus.from_pandas(frame)) == content(CORPUS)
    assert content(Corpus.from_pandas(CORPUS.to_dataset().with_format("pandas")[:].assign(ner_tags=tags))) == content(
        CORPUS
    )


def test_lists_that_a_csv_file_has_made_text_are_lists(tmp_path: Path) -> None:
    words, tags = CORPUS.to_bio()
    frame, path = pd.DataFrame({"id": ["a", "b", "c"], "tokens": words, "tags": tags}), tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    assert content(Corpus.from_pandas(pd.read_csv(path))) == content(CORPUS)
    frame.assign(tokens=frame.tokens.map(np.array), tags=[[1, 2, 0, 3, 0], [1, 1, 0, 0], [0]]).to_csv(path)
    read = pd.read_csv(path)
    assert content(Corpus.from_pandas(read, names=["O", "B-PER", "I-PER", "B-MISC"])) == content(CORPUS)
    with pytest.raises(DataError, match=r'(?s)"tags" has the number 1 without a name.*names='):
        Corpus.from_pandas(read)
    marks = pd.DataFrame({"id": [1, 1], "word": ["[1]", "['x']"], "tag": ["B-X", "O"]})
    assert [s.words for s in Corpus.from_pandas(marks)] == [("[1]", "['x']")]


@pytest.mark.parametrize("form", ["[{}]", "{}"])
def test_lists_without_quotation_marks_are_lists(form: str) -> None:
    columns = {"words": ["so", "Ada, left"], "tags": ["O", "B-PER, O"]}
    corpus = Corpus.from_pandas(pd.DataFrame({name: [*map(form.format, column)] for name, column in columns.items()}))
    assert [(s.words, s.labels) for s in corpus] == [(("so",), ()), (("Ada", "left"), ((0, 1, "PER"),))]


@pytest.mark.parametrize("words", [[b"a", b"b"], [True, False], ["a", {"b"}], ["a", date(2026, 1, 2)]])
def test_a_word_in_a_data_frame_is_text_or_a_number(words: list[Any]) -> None:
    frame = pd.DataFrame({"sentence": [1, 1], "word": words, "tag": ["B-PER", "O"]})
    with pytest.raises(DataError, match=r"row [12] has a word that is not text: .*\n.*str\.decode.*dtype") as error:
        Corpus.from_pandas(frame)
    assert len(error.value.issues) == 1
    for numbers in ([1, 2], [1.5, 2.5], ["a", 2], [Decimal("1.5"), 2]):
        assert Corpus.from_pandas(frame.assign(word=numbers))[0].words == (*map(str, numbers),)


def test_a_data_frame_without_rows_is_an_empty_corpus() -> None:
    for frame in (pd.DataFrame({"words": [], "tags": []}), CORPUS.to_pandas()[:0], pd.DataFrame()):
        assert len(Corpus.from_pandas(frame)) == 0


def test_asks_which_of_several_matching_columns_to_read() -> None:
    with pytest.raises(DataError, match=r"sentence and sentence_id may say which.*\n.*or sentence='sentence_id'"):
        Corpus.from_pandas(TEXT_AND_ID)
    found = Corpus.from_pandas(TEXT_AND_ID, sentence="sentence_id")
    assert [s.words for s in found] == [("Call", "me"), ("Call", "me"), ("Hi",)]
    frame = TEXT_AND_ID.drop(columns="sentence")
    for column, role in (("token", "words"), ("label", "tags")):
        with pytest.raises(DataError, match=rf"may hold the {role}.*\n.*{role}='{column}'"):
            Corpus.from_pandas(frame.assign(**{column: "O"}))
    lists = pd.DataFrame({"id": [1], "sentence": ["Hi"], "tokens": [["Hi"]], "tags": [["O"]]})
    with pytest.raises(DataError, match="sentence and id may say which"):
        Corpus.from_pandas(lists)
    assert [s.id for s in Corpus.from_pandas(lists, sentence="id")] == ["1"]
    with pytest.raises(DataError, match="no column nothing"):
        Corpus.from_pandas(lists, sentence="nothing")
    twice = pd.DataFrame([[1, "a", "b", "O"]], columns=["sentence", "word", "word", "tag"])
    with pytest.raises(DataError, match="several columns are called word"):
        Corpus.from_pandas(twice)


def test_reads_ids_with_gaps_but_refuses_a_missing_first_id() -> None:
    words = {"word": ["a", "b", "c"], "tag": ["O"] * 3}
    for ids in ([1, None, 2], pd.array([1, None, 2], "Int64"), ["1", "", "2"], pd.array(["1", None, "2"], "string")):
        assert [s.id for s in Corpus.from_pandas(pd.DataFrame({"sentence": ids, **words}))] == ["1", "2"]
    assert [s.id for s in Corpus.from_pandas(pd.DataFrame({"id": [1.5] * 3, **words}))] == ["1.5"]
    for ids in ([None, 1, 2], ["", "1", "2"]):
        with pytest.raises(DataError, match=r"row 1 has no sentence, and none is above it.*'word': 'a'"):
            Corpus.from_pandas(pd.DataFrame({"sentence": ids, **words}))
    lists = pd.DataFrame({"id": [7, None], "tokens": [["a"], ["b"]], "tags": [["O"], ["O"]]})
    assert [s.id for s in Corpus.from_pandas(lists)] == ["7", "dataset:2"]


def test_counts_rows_from_1_and_names_their_index() -> None:
    frame = pd.DataFrame({"sentence": ["a", "a"], "word": ["Ada", None], "tag": ["O", "O"]})
    for index, name in ([0, 1], "row 2"), ([10, 11], r"row 2 \(index 11\)"), (["x", "y"], r"row 2 \(index y\)"):
        with pytest.raises(DataError, match=rf"^{name} has no word or no tag:"):
            Corpus.from_pandas(frame.set_index(pd.Index(index)))
    pairs = pd.MultiIndex.from_tuples([("a", 0), ("a", 1)])
    with pytest.raises(DataError, match=r"row 2 \(index \(.a., .*1\)+\) has no word"):
        Corpus.from_pandas(frame.set_index(pairs))


@pytest.mark.parametrize("of", [list, pd.Categorical])
@pytest.mark.parametrize("repair", [(), "drop-sentence"])
def test_refuses_a_sentence_with_scattered_rows(of: Any, repair: Any) -> None:
    """Otherwise the sentence would lose its later rows."""
    frame = pd.DataFrame({"sentence_id": of(["1", "2", "1"]), "word": [*"acb"], "tag": ["B-X", "O", "I-X"]})
    fix = r'.*frame\.sort_values\(\'sentence_id\', kind="stable"\)$'
    with pytest.raises(DataError, match=r"row 3 has the id of a sentence that ended above it:.*\n" + fix):
        Corpus.from_pandas(frame, repair=repair)
    together = frame.sort_values("sentence_id", kind="stable")
    assert content(Corpus.from_pandas(together)) == [("1", ("a", "b"), ((0, 2, "X"),)), ("2", ("c",), ())]


def test_does_not_suggest_sorting_if_ids_have_gaps() -> None:
    frame = pd.DataFrame({"sentence_id": ["1", None, "2", "1"], "word": [*"abcd"], "tag": [*"OOOO"]})
    with pytest.raises(DataError, match=r"row 4 .*\n.*give each sentence an id of its own$"):
        Corpus.from_pandas(frame)


@pytest.mark.parametrize(("name", "names"), [("sentence_id", ""), ("other", ""), (None, 'names="sentence"')])
def test_suggests_reset_index_for_an_index_of_sentences(name: str | None, names: str) -> None:
    frame = pd.DataFrame({"word": [*"abc"], "tag": ["B-X", "O", "O"]}, index=pd.Index([1, 1, 2], name=name))
    fix = f"make it a column: frame.reset_index({names})"
    for sentence in (None, name):
        with pytest.raises(DataError, match=re.escape(fix)):
            Corpus.from_pandas(frame, sentence=sentence)
    made = frame.reset_index(names="sentence") if names else frame.reset_index()
    assert content(Corpus.from_pandas(made, sentence=name)) == [("1", ("a", "b"), ((0, 1, "X"),)), ("2", ("c",), ())]


def test_a_missing_first_word_is_named() -> None:
    frame = pd.DataFrame({"sentence": [1, 1], "word": pd.Series([None, "b"], dtype=object), "tag": ["O", "O"]})
    with pytest.raises(DataError, match="row 1 has no word or no tag"):
        Corpus.from_pandas(frame)


def test_numeric_tags_get_the_given_names() -> None:
    names = ["O", "B-PER", "I-PER"]
    frame = pd.DataFrame({"sentence": [1, 1, 2], "word": ["Ada", "Bo", "ran"], "tag": [1, 2, 0]})
    lists = pd.DataFrame({"tokens": [["Ada", "Bo"], ["ran"]], "tags": [[1, 2], [0]]})
    for one in (frame, frame.astype({"tag": float}), lists):
        assert [s.labels for s in Corpus.from_pandas(one, names=names)] == [((0, 2, "PER"),), ()]


def test_words_that_pandas_keeps_as_categories() -> None:
    frame = pd.DataFrame({"sentence": [1, 2], "word": ["Oslo"] * 2, "tag": ["B-LOC"] * 2}).astype({"word": "category"})
    assert [sentence.labels for sentence in Corpus.from_pandas(frame)] == [((0, 1, "LOC"),)] * 2
