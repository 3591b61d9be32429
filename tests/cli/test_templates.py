"""What `nersery inspect templates` shows, in files, in terminals and as a picture."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nersery import Entity, Sentence, io
from nersery.augment.aclm import ACLM
from nersery.augment.templates.masked_writer import MaskedWriter
from nersery.augment.templates.template import attention_keywords
from nersery.augment.words.stop_words import stop_words
from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.core.warnings import forget_notes
from nersery.taggers.networks.word_attention import word_attention
from nersery.taggers.transformer import TransformerTagger
from tests.cli.calls import call

GOLD = [
    Sentence(
        ("Ada", "Lovelace", "wrote", "the", "first", "program", "."), (Entity(0, 2, "PER"),), id="a", language="en"
    ),
    Sentence(("Halden", "in", "Oslo"), (Entity(0, 1, "ORG"), Entity(2, 3, "LOC")), id="b", language="en"),
    Sentence(("nobody", "came"), id="c", language="en"),
    Sentence(("New", "York"), (Entity(0, 2, "LOC"),), id="d", language="en"),
    Sentence(("राम", "दिल्ली", "में", "रहता", "है।"), (Entity(1, 2, "जगह"),), id="e", language="hi"),
]
EVIL = Sentence(
    ("[bold]Ada[/bold]", "\u202a[2J", "greeted", "*", "{xylo}", "\u202eabc"),
    (Entity(0, 1, "[red]PER"),),
    id="evil",
    language="en",
)


@pytest.fixture(scope="session")
def tagger_folder(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> Path:
    tagger = TransformerTagger(model=tiny_model, steps=1, precision="fp32")
    tagger.fit(GOLD)
    folder = tmp_path_factory.mktemp("attention") / "tagger"
    tagger.save(folder)
    return folder


@pytest.fixture
def with_tagger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tagger_folder: Path) -> Sequence[str]:
    monkeypatch.chdir(tmp_path)
    io.write(GOLD, Path("gold.jsonl"))
    return ("inspect", "templates", "gold.jsonl", "--tagger", str(tagger_folder))


def shown(*args: str) -> Any:
    result = call(*args, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_json_equals_the_result_of_the_library(with_tagger: Sequence[str], tagger_folder: Path) -> None:
    result = shown(*with_tagger, "--rate", "0.4", "--layers", "1")
    assert (result["file"], result["keywords"], result["rate"]) == ("gold.jsonl", "attention", 0.4)
    tagger = TransformerTagger.load(tagger_folder)
    listed = stop_words([sentence for sentence in GOLD if sentence.entities])
    attentions = word_attention(tagger, GOLD, 1)
    for sentence, attention, one in zip(GOLD, attentions, result["sentences"], strict=True):
        assert (one["id"], one["words"]) == (sentence.id, list(sentence.words))
        assert [(e["start"], e["end"], e["type"]) for e in one["entities"]] == list(sentence.labels)
        if sentence.entities:
            assert tuple(one["keywords"]) == attention_keywords(sentence, attention, 0.4, listed[sentence.language])
        else:
            assert one["no_template"] == "no entities"


def test_uses_plain_marks_in_a_file(with_tagger: Sequence[str]) -> None:
    result = call(*with_tagger, "--rate", "1")
    assert result.out == (
        "a\n[Ada Lovelace PER] *wrote* ___ *program* ___\n\n"
        "b\n[Halden ORG] ___ [Oslo LOC]\n\n"
        "c\nno template: no entities\n\n"
        "d\n[New York LOC]\n\n"
        "e\n\u2068*राम*\u2069 [दिल्ली जगह] ___ *रहता* ___\n"
    ).replace("\u2068", "").replace("\u2069", "")
    assert "4 templates with 4 of 10 words outside entities; 1 sentence without one" in result.err


def test_uses_styles_in_a_terminal(with_tagger: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = call(*with_tagger, "--rate", "1", "--limit", "1", "-q").out
    assert "*" not in out
    assert re.search(r"\x1b\[[\d;]+mprogram\x1b", out)
    assert re.sub(r"\x1b\[[\d;]*m", "", out) == "a\n[Ada Lovelace PER] wrote ___ program ___\n"


def test_other_keywords_need_no_tagger(with_tagger: Sequence[str]) -> None:
    command = with_tagger[:3]
    assert [one.get("keywords") for one in shown(*command, "--keywords", "none")["sentences"]] == [[], [], None, [], []]
    random = ("--keywords", "random", "--rate", "0.2", "-q")
    seeds = {call(*command, *random, "--seed", str(seed)).out for seed in range(12)}
    assert len(seeds) > 1
    assert call(*command, *random).out == call(*command, *random).out


def test_random_keywords_equal_those_of_aclm(
    with_tagger: Sequence[str], tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: dict[str, tuple[int, ...]] = {}

    def learn(_: MaskedWriter, gold: Any, training: Any, templates: Any) -> None:
        learnt.update({sentence.id: template.keywords for sentence, template in templates.items()})

    monkeypatch.setattr(MaskedWriter, "learn", learn)
    for seed in range(5):
        ACLM(tiny_masked_lm, keywords="random", keyword_rate=0.2).fit(GOLD, Training(seed=seed))
        found = shown(*with_tagger[:3], "--keywords", "random", "--rate", "0.2", "--seed", str(seed))["sentences"]
        assert {one["id"]: tuple(one["keywords"]) for one in found if one["entities"]} == learnt


def test_the_tagger_is_trained_in_the_same_order_as_in_aclm(
    with_tagger: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted_on: list[str] = []

    def fit(_: TransformerTagger, gold: Sequence[Sentence], *args: Any, **options: Any) -> None:
        fitted_on.extend(sentence.id for sentence in gold)
        raise SettingsError("that is enough")

    monkeypatch.setattr(TransformerTagger, "fit", fit)
    io.write(sorted(GOLD, key=lambda one: one.id, reverse=True), Path("gold.jsonl"))
    assert call(*with_tagger[:3]).code == 2
    assert fitted_on == ["a", "b", "c", "d", "e"]


def test_trains_a_tagger_if_none_is_given(
    with_tagger: Sequence[str], tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []

    def create(kind: str, name: str) -> TransformerTagger:
        trained.append((kind, name))
        return TransformerTagger(model=tiny_model, steps=1)

    monkeypatch.setattr("nersery.taggers.training.gold_tagger.create", create)
    result = call(*with_tagger[:3])
    assert (result.code, trained) == (0, [("tagger", "transformer")])
    assert "no --tagger is given" in result.err


def test_stop_words_can_come_from_a_file(with_tagger: Sequence[str]) -> None:
    Path("words.txt").write_text("Wrote\n")
    out = call(*with_tagger, "--rate", "1", "--limit", "1", "--stop-words", "words.txt", "-q").out
    assert out == "a\n[Ada Lovelace PER] ___ *the* *first* *program* ___\n"


def test_shows_only_the_chosen_sentences(with_tagger: Sequence[str]) -> None:
    assert [one["id"] for one in shown(*with_tagger, "--sentence", "b")["sentences"]] == ["b"]
    assert [one["id"] for one in shown(*with_tagger, "--limit", "2")["sentences"]] == ["a", "b"]
    result = call(*with_tagger, "--sentence", "z")
    assert (result.code, 'has no sentence "z"' in result.err) == (2, True)
    io.write(GOLD, Path("my gold.jsonl"))
    result = call("inspect", "templates", "my gold.jsonl", "--keywords", "none", "--sentence", "z")
    assert "nersery inspect templates 'my gold.jsonl' --limit 3" in result.err


def test_a_picture_shows_the_attention_of_a_sentence(with_tagger: Sequence[str]) -> None:
    for keywords in ("attention", "random", "none"):
        result = call(*with_tagger, "--sentence", "e", "--picture", "e.svg", "--keywords", keywords, "--force")
        assert result.code == 0, result.err
        assert "e.svg: the attention between the words of e" in result.err
        root = ElementTree.parse("e.svg").getroot()
        labels = [one.text for one in root if one.tag.endswith("text")]
        assert labels[:5] == ["राम", "दिल्ली जगह", "में", "रहता", "है।"]
    assert call(*with_tagger, "--picture", "new/first.SVG", "-q").code == 0
    assert "Ada Lovelace PER" in Path("new/first.SVG").read_text("utf-8")


def test_notes_more_layers_than_the_model_has(with_tagger: Sequence[str]) -> None:
    message = "1000 layers of attention were requested"
    assert message in call(*with_tagger, "--layers", "1000").err
    forget_notes()
    assert message not in call(*with_tagger, "--layers", "2").err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--sentence", "c", "--picture", "c.svg"), 3, "has an entity"),
        (("--picture", "gold.jsonl"), 2, "would be overwritten"),
        (("--picture", "there.svg"), 2, "exists already"),
        (("--picture", "map.png"), 2, "e.g. map.svg"),
        (("--picture", "map"), 2, "e.g. map.svg"),
        (("--rate", "1.5"), 2, "'--rate'"),
        (("--keywords", "all"), 2, "all"),
        (("--stop-words", "missing.txt"), 4, "missing.txt"),
    ],
)
def test_impossible_options_are_refused(
    with_tagger: Sequence[str], args: Sequence[str], code: int, message: str
) -> None:
    Path("there.svg").write_text("mine")
    before = Path("gold.jsonl").read_bytes()
    result = call(*with_tagger, *args)
    assert (result.code, message in result.err) == (code, True), result.err
    assert (Path("there.svg").read_text(), Path("gold.jsonl").read_bytes()) == ("mine", before)
    assert not Path("map.png").exists()


def test_hostile_text_is_shown_literally(with_tagger: Sequence[str]) -> None:
    io.write([EVIL], Path("evil.jsonl"))
    out = call("inspect", "templates", "evil.jsonl", "--keywords", "random", "--rate", "1", "-q").out
    assert out == "evil\n[[bold]Ada[/bold] [red]PER] *\\u202a[2J* *greeted* ___ *{xylo}* *\\u202eabc*\n"
