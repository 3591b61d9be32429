"""What `nersery inspect suggestions` and `nersery inspect novelty` show, in files and in terminals."""

from __future__ import annotations

import json
import re
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from nersery import Entity, Sentence, io
from nersery.augment.masked_entity import MaskedEntity
from nersery.cli import tables
from tests.cli.calls import call
from tests.standins import Memory, sentences, tiny, write_data

EVIL = Sentence(
    ("[bold]Ada[/bold]", "\u202a[2J", "saw", ":smile:", "[/]", "{x}", "\u202eabc"),
    (Entity(0, 1, "[red]PER"), Entity(3, 4, "PER"), Entity(6, 7, "LOC")),
)
SCRIPTS = [
    Sentence(("राम", "दिल्ली", "में", "है"), (Entity(0, 1, "PER"), Entity(1, 2, "जगह"))),
    Sentence(("وُلدت", "فيروز", "في", "بيروت"), (Entity(1, 2, "PER"), Entity(3, 4, "LOC"))),
    Sentence(("東京", "は", "日本", "👩‍👩‍👧"), (Entity(0, 1, "LOC"), Entity(2, 3, "国"))),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: object, tiny_masked_lm: str) -> Path:
    """The current folder, with data files, a masked language model and a tagger that has learnt train by heart."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("lm").symlink_to(tiny_masked_lm, target_is_directory=True)
    assert call("train", "train.conll", "oracle", "--method", "memory").code == 0
    return tmp_path


def suggest(*args: str) -> Any:
    """Return the result of the command, read from JSON."""
    result = call("inspect", "suggestions", *args, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def table(*args: str) -> str:
    """Return the table that the command prints."""
    result = call("inspect", "suggestions", *args)
    assert result.code == 0, result.err
    return result.out


MODEL = ("--model", "./lm")
MELM = ("--method", "melm model=./lm epochs=1")


@pytest.mark.usefixtures("folder")
class TestSuggest:
    def test_json_contains_the_guesses_of_the_method(self):
        result = suggest("test.conll", *MODEL, "--top-k", "3", "--sentences", "2")
        assert (result["file"], result["oracle"]) == ("test.conll", None)
        assert result["methods"] == {"./lm": {"method": "masked_entity", "settings": {"model": "./lm"}}}
        method = MaskedEntity(model="./lm")
        corpus = [*io.read("test.conll")]
        gold = [s for s in corpus if s.entities][:2]
        method.fit(corpus)
        assert [one["id"] for one in result["sentences"]] == [s.id for s in gold]
        for sentence, shown in zip(gold, result["sentences"], strict=True):
            assert [(m["start"], m["end"], m["type"]) for m in shown["mentions"]] == list(sentence.labels)
            for mention in shown["mentions"]:
                (guesses,) = method.suggest([sentence], [range(mention["start"], mention["end"])], 3)
                made = mention["suggestions"]["./lm"]
                assert [one["words"] for one in made] == [[w for w, _ in row] for row in zip(*guesses, strict=True)]
                assert [one["probabilities"] for one in made] == [
                    pytest.approx([chance for _, chance in row]) for row in zip(*guesses, strict=True)
                ]
                assert made[0].keys() == {"words", "probability", "probabilities"}

    def test_the_oracle_marks_suggestions_that_it_agrees_with(self):
        result = suggest("train.conll", *MODEL, *MELM, "--top-k", "40", "--oracle", "oracle")
        oracle = Memory.load("oracle")
        agreeing = {label: [0, 0] for label in result["methods"]}
        for sentence in result["sentences"]:
            for mention in sentence["mentions"]:
                assert mention["agrees"] == (mention["oracle"] == mention["type"])
                for label, made in mention["suggestions"].items():
                    for one in made:
                        assert one["agrees"] == (oracle.mentions.get(tuple(one["words"])) == mention["type"])
                        agreeing[label][0] += one["agrees"]
                        agreeing[label][1] += 1
        found = {label: [one["agreeing"], one["suggestions"]] for label, one in result["methods"].items()}
        assert found == agreeing
        assert all(0 < count < total for count, total in agreeing.values())
        assert list(result["methods"]) == ["./lm", "melm model=./lm epochs=1"]

    def test_the_table_agrees_with_the_json(self):
        args = ("train.conll", *MODEL, *MELM, "--top-k", "12", "--oracle", "oracle")
        result, out = suggest(*args), table(*args)
        lines = out.splitlines()
        for sentence in result["sentences"]:
            assert {sentence["id"], " ".join(sentence["words"])} <= set(lines)
        assert out.count("✓") + out.count("✗") == sum(
            1 + sum(map(len, mention["suggestions"].values()))
            for sentence in result["sentences"]
            for mention in sentence["mentions"]
        )
        for label, one in result["methods"].items():
            total = one["suggestions"]
            figures = rf"{one['agreeing']} +{total} +{100 * one['agreeing'] / total:.0f} %"
            assert any(re.fullmatch(re.escape(label) + " +" + figures, line) for line in lines)
        assert "\x1b" not in out
        assert all(line == line.rstrip() for line in lines)
        assert out.endswith("\n")

    def test_output_to_a_file_is_not_wrapped(self, monkeypatch: pytest.MonkeyPatch):
        args = ("test.conll", *MODEL, *MELM, "--oracle", "oracle")
        out = table(*args)
        monkeypatch.setenv("COLUMNS", "20")
        assert table(*args) == out

    def test_without_an_oracle_nothing_is_marked(self):
        result = call("inspect", "suggestions", "test.conll", *MODEL)
        assert {"✓", "✗"}.isdisjoint(result.out + result.err)

    def test_sentences_are_shown_by_id_in_the_given_order(self):
        result = suggest("test.conll", *MODEL, "--id", "test:7", "--id", "test:2")
        assert [one["id"] for one in result["sentences"]] == ["test:7", "test:2"]

    def test_methods_learn_from_other_sentences_or_from_the_input(self):
        io.write(sentences(4), "few.conll")
        args = ("test.conll", *MELM, "--dev", "dev.conll")
        itself, few = suggest(*args), suggest(*args, "--gold", "few.conll")
        assert itself["sentences"] != few["sentences"]
        assert suggest(*args, "--gold", "test.conll") == itself
        assert suggest(*args) == itself
        assert suggest(*args, "--seed", "1") != itself
        note = "note: methods that learn are trained on test.conll itself"
        assert note in call("inspect", "suggestions", *args).err
        assert note not in call("inspect", "suggestions", *args, "--gold", "few.conll").err
        assert "note:" not in call("inspect", "suggestions", "test.conll", *MODEL).err, "it learns nothing"

    def test_notes_of_models_are_shown_unless_quiet(self):
        from nersery.core import warnings

        io.write([Sentence(("Ωδή", "Ἥρα"), (Entity(1, 2, "PER"),))], Path("greek.jsonl"))
        for options, warns in (["--quiet"], False), ([], True):
            warnings.forget_notes()
            result = call("inspect", "suggestions", "greek.jsonl", *MODEL, *options)
            assert result.code == 0
            assert ("made for other languages than this text" in result.err) == warns

    def test_quiet_prints_only_results(self):
        result = call("inspect", "suggestions", "test.conll", *MELM, "--oracle", "oracle", "--quiet")
        assert (result.code, result.err) == (0, "")

    def test_a_mention_of_only_signs_has_no_word_to_replace(self):
        io.write([Sentence(("!!!", "met", "Ada"), (Entity(0, 1, "GRP"), Entity(2, 3, "PER")))], "signs.conll")
        out = table("signs.conll", *MODEL, "--oracle", "oracle")
        assert re.search(r"^!!! +no word to replace\nGRP ✗ -$", out, re.MULTILINE)
        first, _ = suggest("signs.conll", *MODEL)["sentences"][0]["mentions"]
        assert (first["hidden"], first["suggestions"]) == ([], {"./lm": []})

    def test_hostile_text_is_shown_literally(self, monkeypatch: pytest.MonkeyPatch):
        io.write([EVIL], "evil.jsonl")
        for terminal in ({}, {"FORCE_COLOR": "1", "COLUMNS": "300"}):
            for name, value in terminal.items():
                monkeypatch.setenv(name, value)
            out = table("evil.jsonl", *MODEL, "--method", "masked_entity model=./lm top_k=2", "-q")
            plain = re.sub(r"\x1b\[[\d;]*m", "", out)
            assert "[bold]Ada[/bold] \\u202a[2J saw :smile: [/] {x} \\u202eabc" in plain
            assert ("\x1b" in out) == bool(terminal)
            assert {"\x1b", "\u202e"}.isdisjoint(plain)
            assert {"[bold]Ada[/bold]", "[red]PER", ":smile:"} <= set(plain.split())

    def test_columns_are_aligned_in_every_script(self):
        io.write(SCRIPTS, "scripts.jsonl")
        out = table("scripts.jsonl", *MODEL, "--method", "masked_entity model=./lm", "--top-k", "2")
        start = checked = 0
        for line in out.splitlines():
            if line.startswith("mention"):
                start = line.index("./lm")
            elif "%" in line:
                places = [place for place in range(len(line)) if cell_len(line[:place]) == start]
                assert any(line[place - 1] == " " != line[place] for place in places), line
                checked += 1
        assert checked == 12
        for word in ("فيروز", "بيروت"):
            assert f"\N{FIRST STRONG ISOLATE}{word}\N{POP DIRECTIONAL ISOLATE}" in out
        assert "\N{FIRST STRONG ISOLATE}राम" not in out

    def test_a_narrow_terminal_shows_colours_and_all_text(self, monkeypatch: pytest.MonkeyPatch):
        args = ("train.conll", *MODEL, "--top-k", "12", "--oracle", "oracle", "-q")
        plain = table(*args)
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "50")
        out = table(*args)
        assert "\x1b[32m✓" in out
        assert "\x1b[31m✗" in out
        bare = re.sub(r"\x1b\[[\d;]*m", "", out)
        assert max(map(cell_len, bare.splitlines())) <= 50
        assert bare.count("✓") == plain.count("✓")
        assert set(re.findall(r"\w+", plain)) == set(re.findall(r"\w+", bare))
        assert "…" not in bare


def test_marks_are_ascii_if_the_output_is_ascii(monkeypatch: pytest.MonkeyPatch):
    with BytesIO() as written:
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, "ascii"))
        rows = tables.table("type", "new", figures_from=1)
        rows.add_row(tables.text("PER"), tables.check_mark(True))
        rows.add_row(tables.text("LOC"), tables.check_mark(False))
        tables.show(rows)
        sys.stdout.flush()
        assert [line.split() for line in written.getvalue().decode().splitlines()][2:] == [
            ["PER", "|", "+"],
            ["LOC", "|", "-"],
        ]


@pytest.mark.usefixtures("folder")
class TestErrors:
    @pytest.mark.parametrize(
        ("code", "args", "message"),
        [
            (2, ["test.conll", "--method", "mention_replacement"], "mention_replacement cannot suggest words"),
            (2, ["test.conll", "--method", "mlem"], 'did you mean "melm"'),
            (2, ["test.conll", "--method", "melm epoch=3"], 'did you mean "epochs"'),
            (2, ["test.conll", "--method", "melm epochs"], "expected key=value"),
            (2, ["test.conll", "--method", " "], '--method " ": the name is missing; expected NAME KEY=VALUE ...'),
            (2, ["test.conll", "--method", "melm 'x"], "no closing quotation; expected NAME"),
            (2, ["test.conll", "--id", "tset:1"], 'no sentence has the id "tset:1"; did you mean "test:1"?'),
            (2, ["test.conll", "--id", "test:4"], 'the sentence "test:4" has no entity'),
            (2, ["test.conll", "--top-k", "0"], "--top-k"),
            (2, ["test.conll", "--sentences", "0"], "--sentences"),
            (2, ["test.conll", *MODEL, "--oracle", "tiny"], "the oracle tiny predicts PROD, but not the types to"),
            (3, ["nothing.conll"], "nothing.conll: no sentence of 1 has an entity"),
            (3, ["test.conll", "--gold", "nothing.conll", *MELM], "no training sentence has an entity"),
            (4, ["test.conll", "--model", "./none"], "there is no model folder ./none"),
            (4, ["test.conll", *MODEL, "--oracle", "./none"], "there is no folder ./none"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_code_and_message(self, code: int, args: list[str], message: str, tiny_model: str):
        io.write([Sentence(("nobody", "came"))], "nothing.conll")
        if "tiny" in args:
            io.write([Sentence(("Rex", "rang"), (Entity(0, 1, "PROD"),))], "products.conll")
            settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=1).split("\n")]
            assert call("train", "products.conll", "tiny", *settings).code == 0
        result = call("inspect", "suggestions", *args)
        assert result.code == code
        assert message in " ".join(result.err.replace("│", "").split())
        assert result.out == ""

    def test_a_missing_model_is_reported_before_any_training(self):
        result = call("inspect", "suggestions", "test.conll", *MELM, "--method", "masked_entity model=./none")
        assert result.code == 4
        assert not re.search(r"^melm.*: \d+/\d+", result.err, re.MULTILINE)
        assert re.search(r"^melm.*: \d+/\d+", call("inspect", "suggestions", "test.conll", *MELM).err, re.MULTILINE)

    def test_notes_types_that_the_oracle_has_not_learnt(self, tiny_model: str):
        settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=1).split("\n")]
        assert call("train", "train.conll", "tiny", *settings).code == 0
        io.write([Sentence(("Rex", "in", "Oslo"), (Entity(0, 1, "PROD"), Entity(2, 3, "LOC")))], "new.conll")
        for command in (
            ["inspect", "suggestions", "new.conll", *MODEL],
            ["inspect", "novelty", "new.conll", "--gold", "train.conll"],
        ):
            result = call(*command, "--oracle", "tiny")
            assert result.code == 0
            assert "note: the oracle tiny does not know PROD, so it never agrees with their mentions" in result.err


@pytest.mark.usefixtures("folder")
class TestNovelty:
    def generated(self) -> str:
        new = [Sentence(("Zoe", "in", "Oslo"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC"))), *sentences(4)]
        io.write(new, "new.jsonl")
        io.write(sentences(4), "gold.conll")
        return "new.jsonl"

    def test_json_counts_distinct_and_new_mentions(self):
        result = json.loads(call("inspect", "novelty", self.generated(), "--gold", "gold.conll", "--json").out)
        mentions = {(s.mention(e), e.type) for s in sentences(4) for e in s.entities}
        more = {(("Zoe",), "PER"), (("Oslo",), "LOC")} - mentions
        assert result["total"] == {"distinct": len(mentions | more), "new": len(more), "valid": None}
        assert (result["file"], result["gold"], result["oracle"]) == ("new.jsonl", "gold.conll", None)

    def test_only_mentions_that_the_oracle_finds_are_valid(self):
        args = ("inspect", "novelty", self.generated(), "--gold", "gold.conll", "--oracle", "oracle")
        result = json.loads(call(*args, "--json").out)
        assert result["per_type"]["PER"]["new"] == 1
        assert result["per_type"]["PER"]["valid"] == 0
        lines = call(*args).out.splitlines()
        assert lines[0].split() == ["type", "distinct", "new", "valid", "of", "new"]
        assert [line.split()[0] for line in lines[2:]] == ["LOC", "PER", "all"]
        total = result["total"]
        share = "0.0" if not total["valid"] else f"{100 * total['valid'] / total['new']:.1f}"
        assert lines[-1].split() == ["all", *(str(total[key]) for key in ("distinct", "new", "valid")), share, "%"]

    def test_the_columns_are_explained_unless_quiet(self):
        result = call("inspect", "novelty", self.generated(), "--gold", "gold.conll")
        assert "new: gold has no mention with these words and this type\n" in result.err
        assert call("inspect", "novelty", "new.jsonl", "--gold", "gold.conll", "-q").err == ""

    def test_a_file_without_entities_has_no_mentions(self):
        io.write([Sentence(("nobody", "came"))], "nothing.conll")
        result = call(
            "inspect",
            "novelty",
            "nothing.conll",
            "--gold",
            "gold.conll" if Path("gold.conll").exists() else "dev.conll",
        )
        assert result.out.splitlines()[-1].split() == ["all", "0", "0"]

    def test_refuses_a_broken_file(self):
        Path("broken.conll").write_text("Ada\tB-PER\nBo\tI-LOC\n")
        result = call("inspect", "novelty", "broken.conll", "--gold", "dev.conll")
        assert (result.code, result.out) == (3, "")
        assert "broken.conll:2" in result.err
