from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nersery import Corpus, Entity, Sentence, io
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.sentence import Origin
from nersery.io import ReadOptions, open_corpus, parquet, read
from nersery.io.jsonl import to_object
from tests.io.strategies import sentences


def write(objects: Iterable[dict[str, Any]], path: Path) -> None:
    """Write sentences given as JSON values."""
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(f"{json.dumps(value)}\n" for value in objects), "utf-8")
    parquet.write_lines(lines, path)


def test_names_the_extra_if_pyarrow_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for action in (lambda: open_corpus(tmp_path / "a.parquet"), parquet.load_pyarrow):
        with pytest.raises(MissingResourceError, match=r'pyarrow is not installed.*"nersery\[parquet\]"'):
            action()


def test_refuses_to_write_a_single_file() -> None:
    with pytest.raises(
        SettingsError,
        match=r"in shards only, by `nersery\.augment`.*`crosslingual project` with `shards`\. Choose \.jsonl",
    ):
        io.writer("parquet")


class TestWithPyarrow:
    @pytest.fixture(autouse=True)
    def arrow(self) -> Any:
        return pytest.importorskip("pyarrow")

    def write(self, rows: Sequence[dict[str, Any]], path: Path) -> Path:
        import pyarrow
        from pyarrow import parquet as format

        format.write_table(pyarrow.Table.from_pylist(list(rows)), path)
        return path

    @settings(deadline=None, max_examples=25)
    @given(st.lists(sentences(), max_size=5))
    def test_sentences_survive_a_round_trip(
        self, tmp_path_factory: pytest.TempPathFactory, corpus: list[Sentence]
    ) -> None:
        path = tmp_path_factory.mktemp("round") / "a.parquet"
        named = [Sentence(s.words, s.entities, f"s{n}", s.language, s.origin, s.scores, s.columns, s.comments)
                 for n, s in enumerate(corpus)]  # fmt: skip
        write(map(to_object, named), path)
        assert list(open_corpus(path)) == named

    def test_a_full_sentence(self, tmp_path: Path) -> None:
        sentence = Sentence(
            ("राम", "a"), (Entity(0, 1, "PER", 0.1),), "x", "hi", Origin("m", ("p", "q"), 2), {"b": 0.1, "a": 1 / 3},
            (("X", ""),), ("# c",),
        )  # fmt: skip
        (tmp_path / "a.jsonl").write_text(io.writer("jsonl").encode(sentence), "utf-8")
        parquet.write_lines(tmp_path / "a.jsonl", tmp_path / "a.parquet")
        corpus = open_corpus(tmp_path / "a.parquet")
        (there,) = corpus
        assert to_object(there) == to_object(sentence)
        assert corpus.description == "parquet"

    def test_reads_files_of_other_programs_like_jsonl(self, tmp_path: Path) -> None:
        rows = [{"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"], "id": None}] * 2
        corpus = open_corpus(self.write(rows, tmp_path / "a.parquet"))
        assert [(s.id, s.labels) for s in corpus] == [("a:1", ((0, 1, "PER"),)), ("a:2", ((0, 1, "PER"),))]
        assert corpus.description == "parquet, IOB2"

    @pytest.mark.parametrize("wrapped", [{"_type": "List"}, {"_type": "Sequence", "length": -1}, None])
    def test_tag_numbers_get_their_names_from_the_metadata(
        self, tmp_path: Path, wrapped: dict[str, Any] | None
    ) -> None:
        import pyarrow
        from pyarrow import parquet as format

        label = {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}
        of_rows = [{"head": {"_type": "Value"}}]  # datasets before version 4 describes lists by lists
        features = {"relations": of_rows, "boxes": [[{"dtype": "int64"}]], "tokens": {"_type": "Value"},
                    "ner_tags": {"feature": label, **wrapped} if wrapped else [label]}  # fmt: skip
        rows = [{"tokens": ["a", "b"], "ner_tags": [1, 2]}, {"tokens": ["a"], "ner_tags": [0]},
                {"tokens": ["a"], "ner_tags": [-1]}, {"tokens": ["a"], "ner_tags": [3]}]  # fmt: skip
        table = pyarrow.Table.from_pylist(rows).replace_schema_metadata(
            {"huggingface": json.dumps({"info": {"features": features}})}
        )
        format.write_table(table, tmp_path / "a.parquet")
        corpus = open_corpus(tmp_path / "a.parquet", ReadOptions(repair=("drop-sentence",)))
        assert [s.labels for s in corpus] == [((0, 2, "PER"),), ()]
        assert len(corpus.rejects) == 2, "a number without a name is no label, and -1 is not the last name"
        with pytest.raises(DataError, match=r"(?s)a\.parquet:3 .*\[-1\].*a\.parquet:4 .*has numbers"):
            read(tmp_path / "a.parquet")

    @pytest.mark.parametrize("metadata", ["no JSON", "[]", '{"info": {}}', '{"info": {"features": {"ner_tags": 1}}}'])
    def test_ignores_metadata_without_names(self, tmp_path: Path, metadata: str) -> None:
        import pyarrow
        from pyarrow import parquet as format

        table = pyarrow.Table.from_pylist([{"words": ["a"]}]).replace_schema_metadata({"huggingface": metadata})
        format.write_table(table, tmp_path / "a.parquet")
        assert len(read(tmp_path / "a.parquet")) == 1

    @pytest.mark.parametrize("column", [{"scores": [[{"label": "a", "value": 1.0}]]}, {"day": [date(2026, 1, 2)]}])
    def test_reports_columns_of_other_kinds_by_name(self, tmp_path: Path, column: dict[str, Any]) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        pyarrow.parquet.write_table(pyarrow.table({"words": [["a"]], **column}), tmp_path / "a.parquet")
        with pytest.raises(DataError, match=rf"a\.parquet:1 .*\"{next(iter(column))}\""):
            read(tmp_path / "a.parquet")

    def test_bytes_are_words_if_they_are_text_in_utf_8(self, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [
            {"id": b"q", "tokens": [b"Zo\xc3\xab", "राम".encode()], "ner_tags": [b"B-PER", b"O"]}
        ]
        (sentence,) = read(self.write(rows, tmp_path / "a.parquet"))
        assert (sentence.id, sentence.words, sentence.labels) == ("q", ("Zoë", "राम"), ((0, 1, "PER"),))
        rows = [{"words": ["Ada"], "entities": [{"start": 0, "end": 1, "type": b"PER"}]}]
        assert read(self.write(rows, tmp_path / "a.parquet"))[0].labels == ((0, 1, "PER"),)
        path = self.write([{"tokens": [b"a", b"\xff"], "ner_tags": ["B-X", "O"]}], tmp_path / "a.parquet")
        with pytest.raises(
            DataError, match=r"a\.parquet:1 .*\"tokens\" is \['a', b'\\xff'\], expected a list of strings"
        ):
            read(path)
        corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
        assert [len(list(corpus)), len(corpus.rejects)] == [0, 1]

    @pytest.mark.parametrize(
        "columns",
        [
            {"sentence_id": [1, 1, 2], "word": ["Zoë", '"', "Oslo"], "tag": ["B-PER", "O", "B-LOC"]},
            {
                "doc": [b"d"] * 3,
                "Sentence #": [1, 1, 2],
                "Token": [b"Zo\xc3\xab", b'"', b"Oslo"],
                "NER": ["B-PER", "O", "B-LOC"],
            },
        ],
    )
    def test_fix_for_a_row_for_each_word_works(self, tmp_path: Path, columns: dict[str, Any]) -> None:
        import pyarrow.csv

        path = tmp_path / "a.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
        with pytest.raises(DataError, match=r"a\.parquet: .* seems to have a row for each word, expected") as error:
            read(path)
        assert len(error.value.issues) == 1
        exec(error.value.fix.partition("in Python: ")[2], {})
        found = read(tmp_path / "a.csv")
        assert [(s.words, s.labels) for s in found] == [(("Zoë", '"'), ((0, 1, "PER"),)), (("Oslo",), ((0, 1, "LOC"),))]

    def test_fix_for_records_of_argilla_works(self, tmp_path: Path) -> None:
        label = {"start": 0, "end": 3, "label": "PER"}
        rows = [{"id": "a", "text": "Zoë left.", "ner.responses": [[label]], "ner.responses.status": ["submitted"]}]
        path = self.write(rows, tmp_path / "a.parquet")
        with pytest.raises(DataError, match='"text" holds whole texts') as caught:
            read(path)
        exec(caught.value.fix.partition("in Python: ")[2], {})
        assert [(s.id, s.labels) for s in read(tmp_path / "a-texts.jsonl")] == [("a", ((0, 1, "PER"),))]

    def test_fix_for_whole_texts_works(self, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [
            {"text": "Zoë left.", "entities": [{"start": 0, "end": 3, "label": "PER"}]},
            {"text": "so", "entities": []},
        ]
        path = self.write(rows, tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r'"text" holds whole texts, .*; columns: text, entities\n') as caught:
            read(path)
        assert len(caught.value.issues) == 1
        exec(caught.value.fix.partition("in Python: ")[2], {})
        assert [(s.text, s.labels) for s in read(tmp_path / "a-texts.jsonl")] == [
            ("Zoë left .", ((0, 1, "PER"),)),
            ("so", ()),
        ]
        with pytest.raises(DataError, match="expected") as caught:
            read(self.write([{"text": "Ada left", "label": 1}], tmp_path / "classes.parquet"))
        assert "JSONL" not in str(caught.value), "there are no spans to read"
        rows = [{"text": "Ada left", "tokens": ["Ada", "left"], "ner_tags": ["B-PER", "O"]}]
        assert read(self.write(rows, tmp_path / "a.parquet"))[0].words == ("Ada", "left")

    def test_refuses_two_columns_of_the_same_name(self, tmp_path: Path) -> None:
        import pyarrow

        table = pyarrow.Table.from_arrays([pyarrow.array([["a"]]), pyarrow.array([["b"]])], names=["words", "words"])
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r'the column "words" occurs 2 times, expected once'):
            read(tmp_path / "a.parquet")

    def test_reports_a_date_out_of_range(self, tmp_path: Path) -> None:
        import pyarrow

        table = pyarrow.table({"words": [["a"]], "day": pyarrow.array([2**62], pyarrow.timestamp("us"))})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"this cannot be read as Parquet: date value out of range\nFix: leave out"):
            read(tmp_path / "a.parquet")

    def test_allows_nan_only_in_columns_that_are_left_out(self, tmp_path: Path) -> None:
        rows = [{"tokens": ["Ada"], "ner_tags": ["B-PER"], "weight": float("nan")}]
        assert read(self.write(rows, tmp_path / "a.parquet"))[0].labels == ((0, 1, "PER"),)
        rows = [{"words": ["Ada"], "scores": [{"name": "a", "value": float("nan")}]}]
        with pytest.raises(DataError, match=r"\"scores\" is \{'a': nan\}, expected an object of finite numbers"):
            read(self.write(rows, tmp_path / "a.parquet"))

    def test_reports_issues_with_their_row(self, tmp_path: Path) -> None:
        rows = [{"words": ["a"]}, {"words": [""]}]
        path = self.write(rows, tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"a\.parquet:2 .*empty"):
            read(path)
        rows = [{"tokens": ["a"], "ner_tags": [1]}]
        with pytest.raises(
            DataError, match=r'"ner_tags" has numbers, expected .*numbers must be turned into tags first'
        ) as caught:
            read(self.write(rows, tmp_path / "b.parquet"))
        import pyarrow

        found = eval(caught.value.issues[0].message.partition("rows = ")[2], {"pyarrow": pyarrow})
        assert Corpus.from_dataset(found, names=["O", "B-PER"])[0].labels == ((0, 1, "PER"),)
        assert len(list(open_corpus(path, ReadOptions(repair=("drop-sentence",))))) == 1

    @pytest.mark.parametrize(
        ("content", "fix"),
        [
            (b"", "copy the file again"),
            (b"PAR1", "copy the file again"),
            (b"no parquet at all, but longer than twelve bytes", "name its format"),
        ],
    )
    def test_refuses_files_that_are_not_parquet(self, content: bytes, fix: str, tmp_path: Path) -> None:
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(DataError, match=rf"this cannot be read as Parquet(?s:.*)\nFix: {fix}"):
            open_corpus(tmp_path / "a.parquet")
        with pytest.raises(DataError, match="no such file"):
            open_corpus(tmp_path / "b.parquet")

    def test_reports_a_damaged_file(self, tmp_path: Path) -> None:
        path = self.write([{"tokens": ["Ada", "ran"], "ner_tags": ["B-PER", "O"]}], tmp_path / "a.parquet")
        content = path.read_bytes()
        path.write_bytes(content[:20] + b"\xff" * 40 + content[60:])
        with pytest.raises(DataError, match=r"this cannot be read as Parquet: \w(?s:.*)\nFix: copy the file again"):
            read(path)

    def test_recognises_parquet_under_another_extension(self, tmp_path: Path) -> None:
        path = self.write([{"tokens": ["Ada", "ran"], "ner_tags": ["B-PER", "O"]}], tmp_path / "a.jsonl")
        with pytest.raises(DataError, match="this is Parquet"):
            read(path)
        assert read(path, format="parquet")[0].labels == ((0, 1, "PER"),)

    def test_rows_are_written_as_a_stream(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyarrow.parquet import ParquetFile

        monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
        write(({"id": str(n), "words": ["a"], "entities": []} for n in range(8)), tmp_path / "a.parquet")
        assert ParquetFile(tmp_path / "a.parquet").num_row_groups == 3
        assert [s.id for s in read(tmp_path / "a.parquet")] == list(map(str, range(8)))

    def test_writes_only_types_that_datasets_can_read(self, tmp_path: Path) -> None:
        """No column needs a type that other readers lack: only lists, structs, strings and numbers."""
        from pyarrow.parquet import read_schema

        write([], tmp_path / "a.parquet")
        assert "map" not in str(read_schema(tmp_path / "a.parquet"))

    @pytest.mark.parametrize(
        ("words", "limit", "message"),
        [
            (["a"] * 300_000, "", r"row group 0 has 300,000 values in .* bytes of the column \"words"),
            (["a" * 300_000], "MAX_BYTES", r"row group 0 has 1 values in \d+,\d+ bytes of the column \"words"),
            (["a" * 500] * 10, "MAX_BATCH_BYTES", r"1 rows take 5,\d+ bytes, too many for sentences"),
        ],
        ids=["words", "bytes", "repeated"],
    )
    def test_decompression_bombs_are_refused(
        self, words: list[str], limit: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.write([{"words": words}], tmp_path / "a.parquet")
        assert path.stat().st_size < 20_000
        if limit:
            monkeypatch.setattr(parquet, limit, 1000)
        with pytest.raises(DataError, match=message):
            list(open_corpus(path))
