"""Corpora from and to the objects of other libraries, with the real libraries."""

from __future__ import annotations

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
def test_datasets_survive_a_round_trip_in_every_scheme(tmp_path: Path, scheme: str) -> None:
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


def test_reads_dataset_columns_by_the_given_names() -> None:
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
def test_reports_a_tag_number_without_a_name(number: float, message: str) -> None:
    rows = [{"tokens": ["Ada", "ran"], "ner_tags": [0, number]}]
    with pytest.raises(DataError, match=message):
        Corpus.from_dataset(rows, names=["O", "B-PER"])
    with pytest.raises(DataError, match=r'"tags" has the number 1 without a name'):
        Corpus.from_bio([["Ada"]], [[1]])


def test_rows_without_ids_get_their_row_numbers() -> None:
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


def test_tag_numbers_get_the_names_of_their_own_column() -> None:
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


def test_tag_numbers_get_names_from_features_of_datasets_before_version_4() -> None:
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
def test_asks_which_of_several_matching_columns_to_read(more: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Corpus.from_dataset([{**TWO_LEVELS, **more}])


def test_rows_may_differ_in_the_names_of_their_columns() -> None:
    rows = [{"tokens": ["a"], "ner_tags": ["B-X"]}, {"words": ["b"], "tags": ["B-Y"]}]
    assert [s.labels for s in Corpus.from_dataset(rows)] == [((0, 1, "X"),), ((0, 1, "Y"),)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (datasets.DatasetDict({"train": CORPUS.to_dataset()}), r"splits train\n.*dataset\['train'\]"),
        ([{"tokens": ["a"], "ner_tags": [1]}], "numbers must be turned into tags first"),
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


def test_suggests_select_for_an_indexed_dataset() -> None:
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
def test_suggests_resetting_the_format_of_a_table_dataset(name: str) -> None:
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


def test_fix_for_broken_lists_mentions_no_files_or_commands() -> None:
    with pytest.raises(DataError) as caught:
        Corpus.from_bio([["Ada", "wrote"], ["Bo"], ["so"]], [["B_PER", "O"], ["PER"], ["O"]])
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
def test_refuses_words_that_are_not_text(word: Any) -> None:
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


def test_converts_dates_decimals_and_uuids_to_text() -> None:
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


def test_tag_lists_survive_a_round_trip_and_invalid_ones_are_refused() -> None:
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


def test_fix_for_words_that_are_not_text_works(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sentence": [1, 1], "word": [b"a", b"b"], "tag": ["B-PER", "O"]})
    assert Corpus.from_pandas(frame.assign(word=frame["word"].str.decode("utf-8")))[0].words == ("a", "b")
    (tmp_path / "a.csv").write_text("sentence,word,tag\n1,true,O\n1,FALSE,O\n", "utf-8")
    assert Corpus.from_pandas(pd.read_csv(tmp_path / "a.csv", dtype={"word": str}))[0].words == ("true", "FALSE")


@pytest.mark.parametrize("library", ["datasets", "pandas", "spacy"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingResourceError, match=rf"{library} is not installed.*nersery\["):
        getattr(CORPUS, {"datasets": "to_dataset"}.get(library, f"to_{library}"))()


def test_leaves_out_scores_of_other_sentences() -> None:
    rows = [{"words": ["a"], "entities": [], "scores": {name: 0.5}} for name in ("certainty", "perplexity")]
    dataset = datasets.Dataset.from_list(rows)
    assert None in dataset[0]["scores"].values()
    assert [sentence.scores for sentence in Corpus.from_dataset(dataset)] == [row["scores"] for row in rows]


def test_unlabelled_rows_are_not_sentences_without_entities(tmp_path: Path) -> None:
    parts = [{"tokens": [["Oslo"]], "ner_tags": [["B-LOC"]]}, {"tokens": [["Rome"]]}]
    dataset = datasets.concatenate_datasets([*map(datasets.Dataset.from_dict, parts)])
    with pytest.raises(DataError, match='"ner_tags" is missing, expected a list'):
        Corpus.from_dataset(dataset)
    dataset.to_parquet(str(tmp_path / "a.parquet"))
    dataset.to_json(str(tmp_path / "a.jsonl"))
    for path in tmp_path.iterdir():
        with pytest.raises(DataError, match='"ner_tags" is None, expected a list'):
            read(path)
        assert [sentence.labels for sentence in open_text(path)] == [((0, 1, "LOC"),), ()]


def test_types_may_be_an_iterator_but_not_a_string() -> None:
    corpus = Corpus([Sentence(("Oslo",), (Entity(0, 1, "LOC"),))])
    rows = corpus.to_dataset(types=(name for name in ("PER", "LOC")))  # type: ignore[arg-type]
    assert Corpus.from_dataset(rows) == corpus
    for types in ("LOC", 5, None):
        with pytest.raises(SettingsError, match=f"types is {types!r}, expected a list of types"):
            corpus.to_dataset(types=types)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [None, 5, Path("raw.txt")], ids=str)
def test_from_texts_refuses_other_objects(texts: Any) -> None:
    with pytest.raises(SettingsError, match=r"the texts are .*, expected a list of strings"):
        Corpus.from_texts(texts)
