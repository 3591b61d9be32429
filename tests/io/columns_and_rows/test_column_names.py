"""Tables, rows and data frames know the same names of columns."""

import json
from pathlib import Path

import pytest

from nersery import Corpus, io
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
