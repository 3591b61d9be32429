import dataclasses
import hashlib
import math
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, get_type_hints

import pytest

from nersery.augment.base import Augmenter
from nersery.augment.mention_replacement import MentionReplacement
from nersery.augment.shuffle_within_segments import ShuffleWithinSegments
from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.settings import descriptions, file_settings, typed_settings
from nersery.core.system.files import content_hash


def test_files_are_methods_and_helpers_are_not():
    names = registry.names("augment")
    assert {"label_wise_token_replacement", "mention_replacement"} <= set(names)
    assert not {"base", "thesaurus", "wordlists"} & set(names)
    assert list(names) == sorted(names)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in registry.KINDS for name in registry.names(kind)])
def test_types_of_all_settings_exist_at_run_time(kind: str, name: str):
    """`registry.check_values` checks no values of a class with a type that exists only for type checkers."""
    assert get_type_hints(registry.get(kind, name), include_extras=True)


def test_get_finds_the_class_of_a_file():
    assert registry.get("augment", "mention_replacement") is MentionReplacement
    assert registry.name_of(MentionReplacement) == "mention_replacement"
    assert registry.name_of(MentionReplacement()) == "mention_replacement"


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(SettingsError, match='did you mean "mention_replacement"'):
        registry.get("augment", "mention_replacment")
    assert 'did you mean "mention_replacement"' in registry.check("augment", "mention_replacment", {})[0]


def test_summary_is_the_first_line():
    assert descriptions.summary("augment", "mention_replacement").startswith("Replaces mentions with others")


@pytest.mark.parametrize(("setting", "text"), [("mean_rate", "0.25"), ("top_k", "3"), ("by_subword", "true")])
def test_refuses_text_as_a_number_or_boolean(setting: str, text: str):
    (issue,) = registry.check("augment", "masked_entity", {setting: text})
    assert issue.startswith(f"masked_entity.{setting} is '{text}': ")


def test_create_without_settings_has_the_defaults():
    assert registry.create("augment", "mention_replacement") == MentionReplacement()


def test_all_issues_at_once():
    issues = registry.check("augment", "synonym_replacement", {"rat": 0.5, "rate": "often", "table": 3})
    assert len(issues) == 3
    assert 'no setting "rat"; did you mean "rate"?' in issues[0]
    assert "synonym_replacement.rate is 'often'" in issues[1]
    assert "synonym_replacement.table is 3" in issues[2]


def test_a_value_out_of_range_shows_beside_an_unknown_setting():
    issues = registry.check("augment", "mention_replacement", {"rate": 7, "foo": 1})
    assert len(issues) == 2
    assert 'no setting "foo"' in issues[0]
    assert "rate is 7" in issues[1]


def test_types_are_described_by_their_choices():
    taggers = [descriptions.describe("tagger", name)["settings"] for name in registry.names("tagger")]
    types = {facts["type"] for settings in taggers for facts in settings.values()}
    assert '"linear" | "crf"' in types
    assert "int | None" in types
    assert descriptions.describe("augment", "mention_replacement")["settings"]["rate"]["type"] == "float"


def test_a_value_out_of_range_says_what_was_expected():
    with pytest.raises(SettingsError, match=r"rate is 1\.5, expected a number in \[0, 1\]"):
        registry.create("augment", "mention_replacement", {"rate": 1.5})


def test_learnt_state_of_a_method_is_not_a_setting():
    assert registry.check("augment", "melm", {"descriptions": "person"}) == [
        "melm.descriptions is 'person': expected a table, e.g. { name = \"text\" }"
    ]
    assert 'no setting "_mentions"' in registry.check("augment", "mention_replacement", {"_mentions": {}})[0]


def test_a_list_given_as_a_single_value_says_what_was_expected():
    (issue,) = registry.check("annotate", "qa_prompting", {"types": "PER"})
    assert issue == 'qa_prompting.types is \'PER\': expected a list, e.g. ["a", "b"]'


@pytest.mark.parametrize("settings", [{"second_stage": {"clip": math.inf}}, {"tagger": {"dropout": math.nan}}])
def test_numbers_within_tables_are_finite(settings: dict[str, Any]):
    (issue,) = registry.check("select", "self_training", settings)
    assert issue.endswith(": expected finite numbers")


def test_refuses_nan():
    (issue,) = registry.check("augment", "mention_replacement", {"rate": math.nan})
    assert issue == "mention_replacement.rate is nan: expected finite numbers"


def test_right_settings_have_no_issues():
    assert registry.check("augment", "mention_replacement", {"rate": 1}) == []


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A method ``reverse`` of another package, ``reversal``."""

    class Reverse(Augmenter):
        """Turns sentences round."""

        def generate(self, sentence, rng):
            return sentence

    class Mirror(Reverse):
        """Is in the same module, and offered by another."""

    Reverse.__module__ = Mirror.__module__ = "reversal"
    monkeypatch.setitem(sys.modules, "reversal", SimpleNamespace(Reverse=Reverse, Mirror=Mirror, number=7))
    monkeypatch.setitem(sys.modules, "mirrors", SimpleNamespace(Glass=Mirror))
    offered = {
        "reverse": "reversal:Reverse",
        "mirror": "mirrors:Glass",
        "number": "reversal:number",
        "class": "reversal:SimpleNamespace",
        "gone": "no_such_module:Gone",
        "raising": "raising:Any",
        "exiting": "exiting:Any",
    }
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raising.py").write_text("raise ValueError('too old')")
    (tmp_path / "exiting.py").write_text("raise SystemExit(0)")
    points = [EntryPoint(name, value, "nersery.augment") for name, value in offered.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "nersery.augment" else [])
    registry._entry_points.cache_clear()
    yield Reverse
    registry._entry_points.cache_clear()


def test_methods_of_other_packages(third_party: type[Augmenter]):
    assert "reverse" in registry.names("augment")
    assert "reverse" not in registry.names("select")
    assert registry.get("augment", "reverse") is third_party
    assert registry.name_of(third_party()) == "reverse"
    assert descriptions.summary("augment", "reverse") == "Turns sentences round."


def test_each_method_of_a_module_has_its_own_name(third_party: type[Augmenter]):
    mirror = registry.get("augment", "mirror")
    assert registry.name_of(mirror) == "mirror"
    assert registry.name_of(third_party) == "reverse"


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", 'method "gone" of another package, no_such_module:Gone, cannot be loaded: No module named'),
        ("class", "reversal:SimpleNamespace, cannot be loaded"),
        ("raising", "raising:Any, cannot be loaded: ValueError: too old. Reinstall that package, or remove it"),
        ("exiting", "exiting:Any, cannot be loaded: SystemExit: 0. Reinstall"),
        ("number", "is 7, expected a class derived from Augmenter"),
    ],
)
def test_methods_of_other_packages_that_cannot_be_used(name: str, message: str):
    with pytest.raises(SettingsError, match=message):
        registry.get("augment", name)
    assert message in registry.check("augment", name, {})[0]


def test_an_unregistered_class_has_its_own_name():
    class Lonely(ShuffleWithinSegments):
        """Is in no folder of methods."""

    assert registry.name_of(Lonely) == "Lonely"


def test_names_and_rule_methods_import_nothing_heavy():
    code = (
        "import sys; from nersery.core import registry; registry.names('augment')\n"
        "heavy = {'torch', 'transformers', 'numpy', 'pydantic'} & set(sys.modules); assert not heavy, heavy\n"
        "registry.create('augment', 'mention_replacement')\n"
        "heavy = {'torch', 'transformers', 'numpy'} & set(sys.modules); assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fields_that_are_not_settings_may_have_choices() -> None:
    @dataclasses.dataclass
    class Other(Augmenter):
        kind: ClassVar[Literal["x"]] = "x"
        _state: Literal["new", "done"] = dataclasses.field(default="new", init=False)

        def generate(self, sentence: Any, rng: Any) -> Any: ...

    Other()


CHOICES = [
    (kind, name, key)
    for kind in registry.KINDS
    for name in registry.names(kind)
    for key, setting in descriptions.describe(kind, name)["settings"].items()
    if '"' in setting["type"]
]


@pytest.mark.parametrize(("kind", "name", "key"), CHOICES)
def test_constructor_refuses_an_invalid_choice(kind: str, name: str, key: str) -> None:
    cls = registry.get(kind, name)
    needed = {f.name: "x" for f in dataclasses.fields(cls) if typed_settings._is_required(f)}
    with pytest.raises(SettingsError, match=rf"{name}\.{key} is .*cosin.*: .*or '"):
        cls(**{**needed, key: ["cosin"] if "list" in str(get_type_hints(cls)[key]) else "cosin"})


class TestFilesOfSettings:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("words").write_text("x")
        for name in ("crf", "bundled", "lm"):
            Path(name).mkdir()

    def found(self, kind: str, name: str, **settings: Any) -> dict[str, str]:
        return file_settings.content_hashes(registry.get(kind, name), settings)

    def test_recognises_files_by_the_type_of_the_setting(self):
        assert self.found("augment", "synonym_replacement", table="words", stop_words="none-such", wordnet="") == {
            "table": hashlib.sha256(b"x").hexdigest()
        }
        assert self.found("augment", "synonym_replacement", table="x" * 9999) == {}

    def test_other_settings_name_no_file(self):
        assert self.found("tagger", "transformer", head="crf", model="none-such", steps=3) == {}

    def test_a_model_is_a_folder_that_is_not_bundled(self):
        assert self.found("tagger", "transformer", model="lm") == {"model": content_hash("lm")}
        assert self.found("tagger", "transformer", model="words") == {}
        assert self.found("tagger", "transformer", model="bundled") == {}

    def test_finds_files_in_tables_and_nested_methods(self):
        assert [*self.found("augment", "code_mixing", vectors={"en": "words", "hi": "none-such"})] == ["vectors.en"]
        assert [*self.found("select", "self_training", tagger={"model": "lm", "head": "crf"})] == ["tagger.model"]
        assert [*self.found("annotate", "projected_labels", source="words", aligner={"priors": "lm"})] == [
            "source",
            "aligner.priors",
        ]
        assert self.found("annotate", "projected_labels", aligner={"method": "none-such", "priors": "lm"}) == {}


@pytest.mark.parametrize(
    ("kind", "name", "last"), [("augment", "bda", "trust"), ("annotate", "llm_labels", "definitions")]
)
def test_inherited_settings_are_documented_without_gaps(kind: str, name: str, last: str) -> None:
    """Including those of a base class that follows another one without settings."""
    arguments = descriptions.documentation(registry.get(kind, name)).partition("Args:\n")[2].partition("\n\n")[0]
    assert f"\n    {last}" in arguments


@pytest.mark.parametrize("kind", registry.KINDS)
def test_summaries_match_the_docstrings_of_the_classes(kind: str) -> None:
    for name in registry.names(kind):
        assert descriptions.summary(kind, name) == (registry.get(kind, name).__doc__ or "").split("\n")[0] != ""
