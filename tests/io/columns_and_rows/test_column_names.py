"""Tables, rows and data frames know the same names of columns."""

import json
from pathlib import Path

import pytest

from nersery import Corpus, io
from nersery.core.errors import DataError
from nersery.io.columns_and_rows.column_names import TAG_NAMES, WORD_NAMES

ROWS = [("Ada", "B-PER"), ("slept", "O")]
PAIRS = [*((name, "ner_tags") for name in sorted(WORD_NAMES)), *(("words", name) for name in sorted(TAG_NAMES))]
both = pytest.mark.parametrize(("word", "tag"), PAIRS)


def labels(corpus: Corpus) -> list[object]:
    return [(sentence.words, sentence.labels) for sentence in corpus]


EXPECTED = [(("Ada", "slept"), ((0, 1, "PER"),))]


@both
def test_every_known_name_is_read_from_a_table(word: str, tag: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table = [("sentence", word, tag), *(("1", *row) for row in ROWS)]
    path.write_text("".join(f"{','.join(row)}\n" for row in table), "utf-8")
    assert labels(io.read(path)) == EXPECTED


@both
def test_every_known_name_is_read_from_a_row(word: str, tag: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    words, tags = zip(*ROWS, strict=True)
    path.write_text(json.dumps({word: words, tag: tags}), "utf-8")
    assert labels(io.read(path)) == EXPECTED


@both
def test_every_known_name_is_read_from_a_data_frame(word: str, tag: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([("s", *row) for row in ROWS], columns=["sentence", word, tag])
    assert labels(Corpus.from_pandas(frame)) == EXPECTED


def test_a_rare_name_does_not_rival_a_usual_one() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [("s", w, "x", t, 7) for w, t in ROWS], columns=["sentence", "word", "form", "tag", "entity"]
    )
    assert labels(Corpus.from_pandas(frame)) == EXPECTED


@pytest.mark.parametrize(
    ("other", "values", "tag"),
    [
        ("tag", ("NN", "VB"), "ner"),
        ("tag", ("NN", "VB"), "labels"),
        ("entity", (3, 0), "iob"),
        ("bio", ("B", "O"), "ner"),
        ("bio", ("B", "O"), "tag"),
        ("entity", ("Ada", ""), "ner"),
    ],
)
@pytest.mark.parametrize("by_sentence", [False, True])
def test_of_several_known_names_the_one_with_tags_is_read(
    other: str, values: tuple[object, object], tag: str, *, by_sentence: bool, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [("s", word, value, label) for (word, label), value in zip(ROWS, values, strict=True)]
    names = ["sentence_id", "word", other, tag]
    frame = pandas.DataFrame(rows, columns=names)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert labels(io.read(tmp_path / "a.csv")) == EXPECTED
    frame = pandas.DataFrame([("s", *map(list, [*zip(*rows, strict=True)][1:]))], columns=names)
    assert labels(Corpus.from_pandas(frame if by_sentence else pandas.DataFrame(rows, columns=names))) == EXPECTED


def test_a_broken_tag_does_not_make_another_column_that_of_the_tags() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [("s", "Ada", "B-PER", "B-NP"), ("s", "slept", "X-", "B-VP")]
    frame = pandas.DataFrame(rows, columns=["sentence", "word", "tag", "ner"])
    with pytest.raises(DataError, match="'X-' cannot be read"):
        Corpus.from_pandas(frame)


def test_columns_with_tags_under_rare_names_are_rivals() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([("s", "Ada", "B-PER", "B-NP")], columns=["sentence", "word", "bio", "ner"])
    with pytest.raises(DataError, match="columns ner and bio may hold the tags"):
        Corpus.from_pandas(frame)


def test_numbers_of_tags_under_a_usual_name_are_read_by_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [("s", word, number, "O") for (word, _), number in zip(ROWS, (1, 0), strict=True)]
    frame = pandas.DataFrame(rows, columns=["sentence", "word", "ner_tags", "bio"])
    assert labels(Corpus.from_pandas(frame, names=["O", "B-PER"])) == EXPECTED
