"""Options of nersery grow."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from nersery import io
from nersery.cli.options import values_by_type
from nersery.core.errors import SettingsError
from nersery.experiments.grow.session import GrowJob
from tests.cli.calls import call
from tests.standins import sentences


def test_definitions_are_types_and_words() -> None:
    assert values_by_type("--define", [" GENE = gene, e.g. BRCA1=1 ", "Big City=a town"], "TYPE=WORDS") == {
        "GENE": "gene, e.g. BRCA1=1",
        "Big City": "a town",
    }


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["GENE"], 'is "GENE", expected TYPE=WORDS'),
        (["=gene"], "expected TYPE=WORDS"),
        (["GENE= "], "expected TYPE=WORDS"),
        (["GENE=a", "GENE =b"], "names the type GENE twice"),
        (["GENE=\udcff"], "not UTF-8"),
    ],
)
def test_malformed_definitions_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        values_by_type("--define", pairs, "TYPE=WORDS")


def test_lists_of_names_are_files_by_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.txt").write_text("Ada\n")
    found: list[object] = []
    monkeypatch.setattr(GrowJob, "execute", lambda job: found.append(job.names))
    call("grow", "example:train.conll", "--names", f"PER = {tmp_path}/people.txt")
    assert found == [{"PER": f"{tmp_path}/people.txt"}]
    assert "expected TYPE=FILE" in call("grow", "example:train.conll", "--names", "people.txt").err


class TestControlCharactersAreEscaped:
    """A type or an id in a user's file may hold control characters."""

    PLANNED = SimpleNamespace(
        table={"sample": {"folds": 2}, "tagger": {"steps": 10, "model": "\x1b[2Jmodel"}},
        data=SimpleNamespace(raw=[], notes=["\x1b[2Jtype"]),
        notes=["also \x1b[2J"],
        seconds=lambda: {"gold": 1.0},
    )

    def grow(self, monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
        monkeypatch.setattr(GrowJob, "plan", lambda _: self.PLANNED)
        monkeypatch.setattr(GrowJob, "execute", lambda job: job._say("\x1b[2J") or "best: \x1b[2J\ntest: no")
        result = call("grow", "example:train.conll", *options)
        assert result.code == 0, result.err
        assert "\x1b[2J" not in result.out + result.err
        return result.out + result.err

    def test_in_a_plan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shown = self.grow(monkeypatch, "--plan")
        assert shown.count("\\x1b[2J") == 3

    def test_in_a_result(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shown = self.grow(monkeypatch)
        assert shown == "best: \\x1b[2J\ntest: no\n\\x1b[2J\n"


def test_the_free_folder_that_is_proposed_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    io.write(sentences(9), "train.conll")
    Path("my out").mkdir()
    Path("my out/grow.json").write_text('{"fingerprint": {"model": "other"}, "recipe": "search.toml"}')
    result = call("grow", "train.conll", "--out", "my out")
    assert result.code == 2
    assert "--out 'my out-2'" in result.err
