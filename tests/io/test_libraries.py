"""Corpora from and to the objects of other libraries, with the real libraries."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import datasets
import numpy as np
import pandas as pd
import pytest
import spacy
import spacy.tokens

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.tags import SCHEMES
from nersery.io import open_text, read

FAMILY = "👩\u200d👩\u200d👧"
CORPUS = Corpus(
    [
        Sentence(("Ada", "Lovelace", FAMILY, "שלום", "."), (Entity(0, 2, "PER"), Entity(3, 4, "MISC")), "a", "en"),
        Sentence(("राम", "ने", "NA", "null"), (Entity(0, 1, "PER"), Entity(1, 2, "PER")), "b", "hi"),
        Sentence(("nothing",), id="c", language="en"),
    ]
)


def content(corpus: Corpus) -> list[Any]:
    return [(sentence.id, sentence.words, sentence.labels) for sentence in corpus]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_datasets_come_back_under_every_scheme(tmp_path: Path, scheme: str) -> None:
    made = CORPUS.to_dataset(scheme=scheme)
    assert isinstance(made.features["ner_tags"].feature, datasets.ClassLabel)
    assert Corpus.from_dataset(made) == CORPUS
    made.to_parquet(tmp_path / "a.parquet")
    assert Corpus.from_dataset(datasets.Dataset.from_parquet(str(tmp_path / "a.parquet"))) == CORPUS
    assert Corpus.from_dataset(made.to_iterable_dataset()) == CORPUS


def test_types_number_all_splits_alike() -> None:
    made = [CORPUS[:1].to_dataset(types=("PER", "MISC")), CORPUS[1:].to_dataset(types=("PER", "MISC"))]
    assert made[0].features == made[1].features
    with pytest.raises(DataError, match="the type MISC is not in types"):
        CORPUS.to_dataset(types=("PER",))


def test_a_dataset_with_other_columns_is_read_by_their_names() -> None:
    rows = [{"text_words": ("Ada", "wrote"), "labels": [2, 0], "id": 7}]
    corpus = Corpus.from_dataset(iter(rows), words="text_words", tags="labels", names=["O", "B-LOC", "B-PER"])
    assert content(corpus) == [("7", ("Ada", "wrote"), ((0, 1, "PER"),))]


@pytest.mark.parametrize(
    "names",
    [
        {"O": 0, "B-PER": 1},
        {0: "O", 1: "B-PER"},
        {"0": "O", "1": "B-PER"},
        {-1: "O", 0: "O", 1: "B-PER"},
        np.array(["O", "B-PER"]),
        pd.Series(["O", "B-PER"]),
        ("O", "B-PER"),
    ],
)
def test_names_may_be_a_list_or_a_mapping(names: Any) -> None:
    rows = [{"tokens": ["Ada", "ran"], "ner_tags": [1, 0]}]
    assert Corpus.from_dataset(rows, names=names)[0].labels == ((0, 1, "PER"),)


@pytest.mark.parametrize("names", ["OB", 5, {"O", "B-PER"}, ["O", 1], {"O": 0, "B-PER": 0}, {"O": "B-PER"}])
def test_other_names_are_refused(names: Any) -> None:
    with pytest.raises(SettingsError, match=r"names is .*, expected a list of tags such as \['O', 'B-PER'\]"):
        Corpus.from_dataset([{"tokens": ["Ada"], "ner_tags": [1]}], names=names)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (3, r'"ner_tags" has the number 3 without a name.*\n.*names='),
        (-100, r"-100 marks parts of words that a model's loss ignores\n.*before a model's tokenizer"),
        (1.0, r"has the number 1\.0 without a name"),
    ],
)
def test_a_number_without_a_name_is_named(number: float, message: str) -> None:
    rows = [{"tokens": ["Ada", "ran"], "ner_tags": [0, number]}]
    with pytest.raises(DataError, match=message):
        Corpus.from_dataset(rows, names=["O", "B-PER"])
    with pytest.raises(DataError, match=r'"tags" has the number 1 without a name'):
        Corpus.from_bio([["Ada"]], [[1]])


def test_rows_with_ids_that_are_missing_get_their_numbers() -> None:
    rows = [{"id": id, "tokens": ["Ada"], "ner_tags": ["O"]} for id in (None, None, float("nan"), 4.0)]
    assert [s.id for s in Corpus.from_dataset(rows)] == ["dataset:1", "dataset:2", "dataset:3", "4"]


TWO_LEVELS = {
    "tokens": ["EU", "rejects", "German", "call"],
    "chunk_tags": ["B-NP", "B-VP", "B-NP", "I-NP"],
    "ner_tags": ["B-ORG", "O", "B-MISC", "O"],
}
CHUNKS = ((0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP"))
NAMES = ((0, 1, "ORG"), (2, 3, "MISC"))


def test_the_named_columns_are_read_whatever_else_there_is() -> None:
    rows = [{**TWO_LEVELS, "words": ["a", "b", "c", "d"], "tags": ["O"] * 4, "entities": [{"start": 0}]}]
    for tags, labels in {"chunk_tags": CHUNKS, "ner_tags": NAMES, "tags": ()}.items():
        assert content(Corpus.from_dataset(rows, words="tokens", tags=tags)) == [
            ("dataset:1", tuple(TWO_LEVELS["tokens"]), labels)
        ]
    (sentence,) = Corpus.from_dataset(rows, words="words", tags="chunk_tags")
    assert sentence.words == ("a", "b", "c", "d")
    rows = [{"tokens": ["a", "b"], "ner_tags": ["O", "O"], "entities": [{"start": 1, "end": 2, "type": "X"}]}]
    (sentence,) = Corpus.from_dataset(rows, tags="entities")
    assert sentence.labels == ((1, 2, "X"),)


def test_numbers_have_the_names_of_the_column_that_is_read() -> None:
    labels = {"ner_tags": ["O", "B-ORG", "B-MISC"], "chunk_tags": ["B-NP", "B-VP", "I-NP"]}
    numbers = {name: [known.index(tag) for tag in TWO_LEVELS[name]] for name, known in labels.items()}
    text = datasets.Value("string")
    for order in (["ner_tags", "chunk_tags"], ["chunk_tags", "ner_tags"]):
        named = {name: datasets.List(datasets.ClassLabel(names=labels[name])) for name in order}
        features = datasets.Features({"tokens": datasets.List(text), **named})
        row = {"tokens": [TWO_LEVELS["tokens"]], **{name: [numbers[name]] for name in order}}
        dataset = datasets.Dataset.from_dict(row, features)
        assert [s.labels for s in Corpus.from_dataset(dataset, tags="chunk_tags")] == [CHUNKS]
        assert [s.labels for s in Corpus.from_dataset(dataset)] == [NAMES]


def test_numbers_have_their_names_where_datasets_before_version_4_describes_lists_by_lists() -> None:
    class Rows(list[Any]):
        features: ClassVar = {
            "ner_tags": [datasets.ClassLabel(names=["O", "B-LOC"])],
            "tokens": [datasets.Value("string")],
        }

    (sentence,) = Corpus.from_dataset(Rows([{"tokens": ["in", "Oslo"], "ner_tags": [0, 1]}]))
    assert sentence.labels == ((1, 2, "LOC"),)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tags": ["O"] * 4}, r"ner_tags and tags may hold the tags.*\n.*tags='ner_tags'"),
        ({"entities": []}, "ner_tags and entities may hold the tags"),
        ({"words": ["a"] * 4}, r"tokens and words may hold the words.*\n.*words='tokens'"),
    ],
)
def test_several_columns_to_read_must_be_told_apart_by_name(more: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Corpus.from_dataset([{**TWO_LEVELS, **more}])


def test_rows_may_differ_in_the_names_of_their_columns() -> None:
    rows = [{"tokens": ["a"], "ner_tags": ["B-X"]}, {"words": ["b"], "tags": ["B-Y"]}]
    assert [s.labels for s in Corpus.from_dataset(rows)] == [((0, 1, "X"),), ((0, 1, "Y"),)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (datasets.DatasetDict({"train": CORPUS.to_dataset()}), r"splits train\n.*dataset\['train'\]"),
        ([{"tokens": ["a"], "ner_tags": [1]}], "numbers must be turned into them first"),
        ([{"tokens": ["a"], "ner_tags": ["B-X", "O"]}], '1 words and 2 "ner_tags"'),
        ([{"tokens": ["a", "b"], "ner_tags": ["B-X", "I-Y"]}], "word 1"),
        ([{"text": "Ada wrote"}], "no column tokens or words; columns: text"),
        ([["Ada"]], r"row 1 is \['Ada'\]"),
        ([{"tokens": ["\ud800"], "ner_tags": ["O"]}], "lone surrogate"),
    ],
)
def test_wrong_datasets_are_named(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Corpus.from_dataset(rows)


def test_an_index_makes_columns_of_a_dataset() -> None:
    made = CORPUS.to_dataset()
    for columns in (made[:2], made[0], {"text_words": [["a"]]}):
        with pytest.raises(
            DataError, match=r"dictionary of columns \(.*expected rows\n.*dataset\.select\(range\(2\)\)"
        ):
            Corpus.from_dataset(columns, words="text_words" if "text_words" in columns else None)
    assert content(Corpus.from_dataset(made.select(range(2)))) == content(CORPUS[:2])
    with pytest.raises(DataError, match=r"data frame, expected rows\n.*Corpus\.from_pandas"):
        Corpus.from_dataset(CORPUS.to_pandas())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["pandas", "arrow"])
def test_a_dataset_whose_format_makes_tables_is_read_without_it(name: str) -> None:
    made = CORPUS.to_dataset().with_format(name)
    with pytest.raises(DataError, match=r"row 1 is .*\n(.*\n)*.*dataset\.with_format\(None\)"):
        Corpus.from_dataset(made)
    assert Corpus.from_dataset(made.with_format(None)) == CORPUS


def test_no_rows_are_an_empty_corpus() -> None:
    assert len(Corpus.from_dataset([])) == len(Corpus.from_bio([], [])) == len(Corpus.from_spacy([])) == 0
    assert len(Corpus.from_dataset([], words="text")) == 0


def test_repairs_work_as_for_files() -> None:
    rows = [{"tokens": ["a", "b"], "ner_tags": ["B-X", "I-Y"]}, {"tokens": ["c"], "ner_tags": ["B-X"]}]
    assert len(Corpus.from_dataset(rows, scheme="IOB2", repair="drop-sentence")) == 1
    with pytest.raises(SettingsError, match="no repair"):
        Corpus.from_dataset(rows, repair="nothing")


def test_what_to_do_about_broken_lists_is_told_without_files_and_commands() -> None:
    with pytest.raises(DataError) as caught:
        Corpus.from_bio([["Ada", "wrote"], ["Bo"]], [["B_PER", "O"], ["PER"]])
    fix = caught.value.fix
    assert fix.startswith('correct the sentences; repair="underscore" (')
    assert fix.endswith('; repair="drop-sentence" leaves each broken sentence out')
    with pytest.raises(DataError, match='scheme="NAME" if the tags are not'):
        Corpus.from_bio([["Ada", "wrote"]], [["B-PER", "I-LOC"]], scheme="IOB2")
    assert "--" not in fix
    assert "file" not in fix


def test_words_and_tags_may_be_of_other_types() -> None:
    class Tag(str, Enum):  # noqa: UP042  # whose text is "Tag.PERSON"
        PERSON, OUTSIDE = "B-PER", "O"

    array = np.array(["Ada", "ran"])
    for words, tags in ((array, np.array(["B-PER", "O"])), ((*array,), (Tag.PERSON, Tag.OUTSIDE))):
        (sentence,) = Corpus.from_bio([words], [tags])
        assert (sentence.words, sentence.labels) == (("Ada", "ran"), ((0, 1, "PER"),))
        assert {*map(type, sentence.words)} == {str}
    entity = {"start": np.int64(0), "end": np.int32(1), "type": "PER", "score": np.float32(0.5)}
    (sentence,) = Corpus.from_dataset([{"words": array, "entities": (entity,)}])
    assert sentence.entities[0].score == 0.5


@pytest.mark.parametrize("word", [b"a", pd.NA, pd.NaT, object(), {"a"}])
def test_what_is_no_text_is_no_word(word: Any) -> None:
    for make in (
        lambda: Corpus.from_bio([[word, "ran"]], [["O", "O"]]),
        lambda: Corpus.from_dataset([{"tokens": [word, "ran"], "ner_tags": ["O", "O"]}]),
    ):
        with pytest.raises(DataError, match=r'"tokens" is .*, expected a list of strings'):
            make()
    rows = [{"id": id, "tokens": ["ran"], "ner_tags": ["O"]} for id in (b"q", {1}, "b")]
    with pytest.raises(DataError, match=r"""(?s)"id" is b'q', expected a string.*"id" is \{1\}, expected a string"""):
        Corpus.from_dataset(rows)
    (kept,) = Corpus.from_dataset(rows, repair="drop-sentence")
    assert kept.id == "b"


def test_dates_decimals_and_uuids_have_a_text() -> None:
    values = (Decimal("1.50"), date(2026, 1, 2), UUID(int=1))
    texts = ("1.50", "2026-01-02", "00000000-0000-0000-0000-000000000001")
    rows = [{"id": id, "tokens": values, "ner_tags": ["O"] * 3} for id in values]
    assert [(s.id, s.words) for s in Corpus.from_dataset(rows)] == [(text, texts) for text in texts]


def test_an_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(SettingsError, match='no option "sheme"; did you mean "scheme"'):
        Corpus.from_bio([["Ada"]], [["O"]], sheme="IOB2")


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda: Corpus.from_pandas(CORPUS.to_pandas(), word_column=2), "word_column"),
        (lambda: Corpus.from_dataset([], split="signs"), "split"),
        (lambda: Corpus.from_texts(["Ada ran"], format="spans"), "format"),
        (lambda: Corpus.from_bio([["Ada"]], [["O"]], encoding="latin-1"), "encoding"),
        (lambda: Corpus.from_spacy([], lang="en"), "lang"),
    ],
)
def test_an_option_without_effect_is_refused(read: Callable[[], Corpus], name: str) -> None:
    with pytest.raises(SettingsError, match=f'there is no option "{name}"'):
        read()


def test_the_language_of_documents_of_spacy_is_checked() -> None:
    with pytest.raises(SettingsError, match="language is 'english', expected a BCP 47 tag"):
        Corpus.from_spacy([], language="english")


def test_lists_of_tags_come_back_and_wrong_ones_are_named() -> None:
    words, tags = CORPUS.to_bio(scheme="BIOES")
    assert [s.labels for s in Corpus.from_bio(words, tags)] == [s.labels for s in CORPUS]
    with pytest.raises(DataError, match="3 lists of words and 2 lists of tags"):
        Corpus.from_bio(words, tags[:2])
    with pytest.raises(DataError, match="expected a list of words"):
        Corpus.from_bio(["Ada wrote"], [["O", "O"]])
    with pytest.raises(DataError, match="the tags of sentence 1 are None, expected a list of tags"):
        Corpus.from_bio([["Ada"]], [None])  # type: ignore[list-item]
    with pytest.raises(SettingsError, match="words is None, expected a list of words for each sentence"):
        Corpus.from_bio(None, None)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="no tag scheme"):
        CORPUS.to_bio(scheme="nothing")
    with pytest.raises(SettingsError, match="the tag scheme is None, expected its name; known: IOB1"):
        CORPUS.to_bio(scheme=None)  # type: ignore[arg-type]


def test_data_frames_come_back(tmp_path: Path) -> None:
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
    with pytest.raises(DataError, match=r'(?s)"ner_tags" has the number 1 without a name.*names='):
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
    with pytest.raises(DataError, match=r"row [12] has a word that is no text: .*\n.*str\.decode.*dtype") as error:
        Corpus.from_pandas(frame)
    assert len(error.value.issues) == 1
    for numbers in ([1, 2], [1.5, 2.5], ["a", 2], [Decimal("1.5"), 2]):
        assert Corpus.from_pandas(frame.assign(word=numbers))[0].words == (*map(str, numbers),)


def test_what_is_said_of_words_that_are_no_text_works(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sentence": [1, 1], "word": [b"a", b"b"], "tag": ["B-PER", "O"]})
    assert Corpus.from_pandas(frame.assign(word=frame["word"].str.decode("utf-8")))[0].words == ("a", "b")
    (tmp_path / "a.csv").write_text("sentence,word,tag\n1,true,O\n1,FALSE,O\n", "utf-8")
    assert Corpus.from_pandas(pd.read_csv(tmp_path / "a.csv", dtype={"word": str}))[0].words == ("true", "FALSE")


def test_a_data_frame_without_rows_is_an_empty_corpus() -> None:
    for frame in (pd.DataFrame({"words": [], "tags": []}), CORPUS.to_pandas()[:0], pd.DataFrame()):
        assert len(Corpus.from_pandas(frame)) == 0


TEXT_AND_ID = pd.DataFrame(
    {
        "sentence": ["Call me"] * 4 + ["Hi"],
        "sentence_id": [1, 1, 2, 2, 3],
        "word": ["Call", "me"] * 2 + ["Hi"],
        "tag": ["O"] * 5,
    }
)


def test_of_several_columns_of_a_data_frame_the_user_names_one() -> None:
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


def test_ids_with_gaps_are_whole_numbers_and_the_first_is_there() -> None:
    words = {"word": ["a", "b", "c"], "tag": ["O"] * 3}
    for ids in ([1, None, 2], pd.array([1, None, 2], "Int64"), ["1", "", "2"], pd.array(["1", None, "2"], "string")):
        assert [s.id for s in Corpus.from_pandas(pd.DataFrame({"sentence": ids, **words}))] == ["1", "2"]
    assert [s.id for s in Corpus.from_pandas(pd.DataFrame({"id": [1.5] * 3, **words}))] == ["1.5"]
    for ids in ([None, 1, 2], ["", "1", "2"]):
        with pytest.raises(DataError, match=r"row 1 has no sentence, and none is above it.*'word': 'a'"):
            Corpus.from_pandas(pd.DataFrame({"sentence": ids, **words}))
    lists = pd.DataFrame({"id": [7, None], "tokens": [["a"], ["b"]], "tags": [["O"], ["O"]]})
    assert [s.id for s in Corpus.from_pandas(lists)] == ["7", "dataset:2"]


def test_rows_of_a_frame_are_counted_from_1_and_named_as_in_its_index() -> None:
    frame = pd.DataFrame({"sentence": ["a", "a"], "word": ["Ada", None], "tag": ["O", "O"]})
    for index, name in ([0, 1], "row 2"), ([10, 11], r"row 2 \(index 11\)"), (["x", "y"], r"row 2 \(index y\)"):
        with pytest.raises(DataError, match=rf"^{name} has no word or no tag:"):
            Corpus.from_pandas(frame.set_index(pd.Index(index)))
    pairs = pd.MultiIndex.from_tuples([("a", 0), ("a", 1)])
    with pytest.raises(DataError, match=r"row 2 \(index \(.a., .*1\)+\) has no word"):
        Corpus.from_pandas(frame.set_index(pairs))


@pytest.mark.parametrize("of", [list, pd.Categorical])
@pytest.mark.parametrize("repair", [(), "drop-sentence"])
def test_the_rows_of_a_sentence_stand_together(of: Any, repair: Any) -> None:
    """Otherwise it would lose the later ones."""
    frame = pd.DataFrame({"sentence_id": of(["1", "2", "1"]), "word": [*"acb"], "tag": ["B-X", "O", "I-X"]})
    fix = r'.*frame\.sort_values\(\'sentence_id\', kind="stable"\)$'
    with pytest.raises(DataError, match=r"row 3 has the id of a sentence that has ended above it:.*\n" + fix):
        Corpus.from_pandas(frame, repair=repair)
    together = frame.sort_values("sentence_id", kind="stable")
    assert content(Corpus.from_pandas(together)) == [("1", ("a", "b"), ((0, 2, "X"),)), ("2", ("c",), ())]


def test_the_rows_of_a_frame_whose_ids_have_gaps_are_not_sorted() -> None:
    frame = pd.DataFrame({"sentence_id": ["1", None, "2", "1"], "word": [*"abcd"], "tag": [*"OOOO"]})
    with pytest.raises(DataError, match=r"row 4 .*\n.*give each sentence an id of its own$"):
        Corpus.from_pandas(frame)


@pytest.mark.parametrize(("name", "names"), [("sentence_id", ""), ("other", ""), (None, 'names="sentence"')])
def test_an_index_of_sentences_is_to_be_made_a_column(name: str | None, names: str) -> None:
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


def test_numbers_in_a_data_frame_have_the_names_that_the_user_gives() -> None:
    names = ["O", "B-PER", "I-PER"]
    frame = pd.DataFrame({"sentence": [1, 1, 2], "word": ["Ada", "Bo", "ran"], "tag": [1, 2, 0]})
    lists = pd.DataFrame({"tokens": [["Ada", "Bo"], ["ran"]], "tags": [[1, 2], [0]]})
    for one in (frame, frame.astype({"tag": float}), lists):
        assert [s.labels for s in Corpus.from_pandas(one, names=names)] == [((0, 2, "PER"),), ()]


def test_spacy_documents_come_back(tmp_path: Path) -> None:
    docs = CORPUS.to_spacy()
    assert [doc.lang_ for doc in docs] == ["en", "hi", "en"]
    assert [(span.text, span.label_) for span in docs[0].ents] == [("Ada Lovelace", "PER"), ("שלום", "MISC")]
    assert content(Corpus.from_spacy(docs)) == content(CORPUS)
    spacy.tokens.DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "a.spacy")
    vocab = spacy.blank("en").vocab
    back = Corpus.from_spacy(spacy.tokens.DocBin().from_disk(tmp_path / "a.spacy").get_docs(vocab), language="xx")
    assert content(back) == content(CORPUS)
    shared = CORPUS.to_spacy(spacy.blank("de"))
    assert {doc.lang_ for doc in shared} == {"de"}


def test_spacy_sentences_keep_their_place_in_the_document() -> None:
    text = "Ada  Lovelace wrote.\n\nShe lived in London."
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    doc = pipeline(text)
    doc.ents = [doc.char_span(0, 13, "PER"), doc.char_span(text.index("London"), len(text) - 1, "LOC")]
    corpus = Corpus.from_spacy(doc)
    assert [sentence.words for sentence in corpus] == [
        ("Ada", "Lovelace", "wrote", "."),
        ("She", "lived", "in", "London", "."),
    ]
    found = [text[start:end] for sentence in corpus for start, end, _ in sentence.character_spans]
    assert found == ["Ada  Lovelace", "London"]
    assert {sentence.document for sentence in corpus} == {"spacy:1"}
    again = Corpus.from_spacy(corpus.to_spacy())
    assert [s.character_spans for s in again] == [s.character_spans for s in corpus]
    assert [doc.text for doc in corpus.to_spacy()] == ["Ada Lovelace wrote.", "She lived in London."]


PLACED = Sentence(
    ("Ada", "wrote", ".", "\u3000", "Bo", "slept"),
    (Entity(0, 1, "PER"), Entity(3, 5, "PER")),
    "1",
    "en",
    document="d",
    offsets=((7, 10), (12, 17), (17, 18), (18, 19), (19, 21), (22, 27)),
)


def test_words_of_spacy_documents_come_back_under_other_boundaries() -> None:
    assert Corpus.from_spacy(Corpus([PLACED]).to_spacy()) == Corpus([PLACED])
    assert Corpus.from_spacy(CORPUS.to_spacy()) == CORPUS
    sentencizer = spacy.blank("en").add_pipe("sentencizer")
    first, second = Corpus.from_spacy([sentencizer(doc) for doc in Corpus([PLACED]).to_spacy()])
    assert (first.words, first.labels, first.offsets) == (PLACED.words[:3], ((0, 1, "PER"),), PLACED.offsets[:3])
    assert (second.words, second.labels, second.offsets) == (PLACED.words[3:], ((0, 2, "PER"),), PLACED.offsets[3:])
    assert {first.document, second.document} == {"d"}


def test_merged_and_split_tokens_keep_their_place() -> None:
    (doc,) = Corpus([PLACED]).to_spacy()
    with doc.retokenize() as tokens:
        tokens.merge(doc[1:3])
        tokens.split(doc[5], ["sle", "pt"], heads=[doc[4], doc[4]])
    (sentence,) = Corpus.from_spacy(doc)
    assert sentence.words == ("Ada", "wrote.", "\u3000", "Bo", "sle", "pt")
    assert sentence.offsets == ((7, 10), (12, 18), (18, 19), (19, 21), (22, 25), (25, 27))


def test_offsets_are_those_of_the_document_where_its_tokens_no_longer_fit() -> None:
    longer = Sentence(("Ada", "&", "Bo"), id="1", document="d", offsets=((0, 3), (4, 9), (10, 12)))  # &amp;
    (doc,) = Corpus([longer]).to_spacy()
    assert Corpus.from_spacy(doc)[0] == longer
    with doc.retokenize() as tokens:
        tokens.merge(doc[:2])
    (sentence,) = Corpus.from_spacy(doc)
    assert (sentence.words, sentence.offsets, sentence.document) == (("Ada &", "Bo"), ((0, 5), (6, 8)), "1")


def test_an_entity_of_white_space_is_an_error() -> None:
    doc = spacy.blank("en")("Ada   wrote")
    doc.ents = [spacy.tokens.Span(doc, 1, 2, "PER")]
    with pytest.raises(DataError, match=r"sentence spacy:1: the entity .* \(PER\) is white space\b"):
        Corpus.from_spacy(doc)


def test_an_entity_across_sentences_is_an_error() -> None:
    doc = spacy.blank("en")("Ada . Lovelace")
    for token, start in zip(doc, (True, False, True), strict=True):
        token.is_sent_start = start
    doc.ents = [spacy.tokens.Span(doc, 0, 3, "PER")]
    with pytest.raises(DataError, match="crosses the end of a sentence"):
        Corpus.from_spacy(doc)


@pytest.mark.parametrize("library", ["datasets", "pandas", "spacy"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingResourceError, match=rf"{library} is not installed.*nersery\["):
        getattr(CORPUS, {"datasets": "to_dataset"}.get(library, f"to_{library}"))()


def test_words_that_pandas_keeps_as_categories() -> None:
    frame = pd.DataFrame({"sentence": [1, 2], "word": ["Oslo"] * 2, "tag": ["B-LOC"] * 2}).astype({"word": "category"})
    assert [sentence.labels for sentence in Corpus.from_pandas(frame)] == [((0, 1, "LOC"),)] * 2


def test_scores_of_other_sentences_are_absent() -> None:
    rows = [{"words": ["a"], "entities": [], "scores": {name: 0.5}} for name in ("certainty", "perplexity")]
    dataset = datasets.Dataset.from_list(rows)
    assert None in dataset[0]["scores"].values()
    assert [sentence.scores for sentence in Corpus.from_dataset(dataset)] == [row["scores"] for row in rows]


def test_rows_that_nobody_has_labelled_are_no_sentences_without_entities(tmp_path: Path) -> None:
    parts = [{"tokens": [["Oslo"]], "ner_tags": [["B-LOC"]]}, {"tokens": [["Rome"]]}]
    dataset = datasets.concatenate_datasets([*map(datasets.Dataset.from_dict, parts)])
    with pytest.raises(DataError, match='"ner_tags" is None, expected a list'):
        Corpus.from_dataset(dataset)
    dataset.to_parquet(str(tmp_path / "a.parquet"))
    dataset.to_json(str(tmp_path / "a.jsonl"))
    for path in tmp_path.iterdir():
        with pytest.raises(DataError, match='"ner_tags" is None, expected a list'):
            read(path)
        assert [sentence.labels for sentence in open_text(path)] == [((0, 1, "LOC"),), ()]


def test_types_to_number_may_be_a_stream_but_no_string() -> None:
    corpus = Corpus([Sentence(("Oslo",), (Entity(0, 1, "LOC"),))])
    rows = corpus.to_dataset(types=(name for name in ("PER", "LOC")))  # type: ignore[arg-type]
    assert Corpus.from_dataset(rows) == corpus
    for types in ("LOC", 5, None):
        with pytest.raises(SettingsError, match=f"types is {types!r}, expected a list of types"):
            corpus.to_dataset(types=types)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [None, 5, Path("raw.txt")], ids=str)
def test_what_are_no_texts_is_refused(texts: Any) -> None:
    with pytest.raises(SettingsError, match=r"the texts are .*, expected a list of strings"):
        Corpus.from_texts(texts)


def test_parts_of_documents_of_spacy_and_files_of_them_are_to_be_made_documents() -> None:
    doc = spacy.blank("en")("Ada wrote")
    for spans in (doc[:1], [doc[:1]]):
        with pytest.raises(SettingsError, match=r"document 1 is the span Ada, expected a Doc. Give span.as_doc\(\)"):
            Corpus.from_spacy(spans)
    with pytest.raises(SettingsError, match=r"expected those of spaCy. Give those of a DocBin by get_docs"):
        Corpus.from_spacy(spacy.tokens.DocBin(docs=[doc]))  # type: ignore[arg-type]


@pytest.mark.parametrize("vocab", ["en", 5])
def test_what_is_no_vocabulary_of_spacy_is_refused(vocab: Any) -> None:
    with pytest.raises(SettingsError, match=f"vocab is {vocab!r}, expected a Vocab of spaCy, or a pipeline"):
        Corpus([Sentence(("Ada",))]).to_spacy(vocab)
