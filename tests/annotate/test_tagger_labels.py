from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.annotate import tagger_labels
from nersery.annotate.base import annotate
from nersery.annotate.components.outer_words import OuterWords
from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.errors import SettingsError, UnfittedError
from nersery.core.sentence import Origin, SoftLabel
from nersery.core.training_context import Training
from nersery.core.warnings import forget_notes

RAW = Corpus([Sentence(("Ada", "Bo", "saw", "Oslo"), id="a"), Sentence(("nobody",), id="b")])
GOLD = [Sentence(("Ada",), (Entity(0, 1, "PER"),), id="g")]
NAMES = {"Ada": "PER", "Bo": "PER", "Oslo": "LOC", "Monday": "MISC"}


class Lexicon:
    """A tagger that looks words up in `NAMES`."""

    types = ("LOC", "MISC", "PER")

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        return [sentence.with_entities(self._found(sentence.words)) for sentence in sentences]

    def _found(self, words: Sequence[str]) -> list[Entity]:
        return [Entity(at, at + 1, NAMES[word], 1 / (at + 2)) for at, word in enumerate(words) if word in NAMES]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the taggers that were opened."""
    names: list[str] = []
    monkeypatch.setattr(tagger_labels, "load_tagger", lambda name, **_: names.append(name) or Lexicon())
    return names


def test_gives_the_labels_of_the_tagger_with_their_scores(opened: list[str]) -> None:
    result = annotate(RAW, TaggerLabels("my-tagger"))
    assert [s.labels for s in result.corpus] == [((0, 1, "PER"), (1, 2, "PER"), (3, 4, "LOC")), ()]
    assert [e.score for e in result.corpus[0].entities] == [1 / 2, 1 / 3, 1 / 5]
    assert {s.origin for s in result.corpus} == {Origin("tagger_labels")}
    assert opened == ["my-tagger"]


@pytest.mark.parametrize(
    ("mention", "words"),
    [
        (", Ada ,", "Ada"),
        ("😂 Ada ❤️ ❤️", "Ada"),
        ("“ Ada ”", "Ada"),
        ("王 明 》", "王 明"),
        ("محمد ،", "محمد"),
        ("አበበ ።", "አበበ"),
        ("Ada \u200f,", "Ada"),
        ("Who ?", "Who ?"),
        ("# Ada", "# Ada"),
        ("U . N .", "U . N ."),
        ("Dune ( film )", "Dune ( film )"),
        ('" Weird Al " Yankovic', '" Weird Al " Yankovic'),
        ("代 々", "代 々"),
        ("ソ ニ ー", "ソ ニ ー"),
        ("Ada .", "Ada"),
        ("/", None),
        ("?", None),
        ("%", "%"),
    ],
)
def test_strips_outer_punctuation_that_no_gold_mention_has(
    mention: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = mention.split()
    found = Sentence(("saw", *text), (Entity(1, 1 + len(text), "PER", 0.5),), id="a")
    tagger = Lexicon()
    monkeypatch.setattr(tagger, "predict", lambda _: [found])
    punctuation = Sentence(("#", "Who", "?", "%"), (Entity(0, 3, "PER"), Entity(3, 4, "PER")))
    (labelled,) = annotate([found], TaggerLabels(), [punctuation], training=Training(tagger=lambda: tagger)).corpus
    mentions = [" ".join(labelled.mention(entity)) for entity in labelled.entities]
    assert mentions == ([] if words is None else [words])
    assert {entity.score for entity in labelled.entities} <= {0.5}
    monkeypatch.setattr(tagger_labels, "load_tagger", lambda *_, **__: tagger)
    (labelled,) = annotate([found], TaggerLabels("t"), [punctuation]).corpus
    assert labelled.labels == found.labels, "all seeds share the labels of a named tagger, whatever their gold"


def test_the_full_stop_of_an_abbreviation_within_a_sentence_stays() -> None:
    outer_words = OuterWords.of(GOLD)
    mention = (Entity(0, 3, "PER"),)
    for words, end in ((("Ada", "Jr", ".", "spoke", "."), 3), (("Ada", "Jr", ".", '"'), 2)):
        assert outer_words.without_outer_punctuation(Sentence(words, mention)).labels == ((0, end, "PER"),)


def test_stripped_words_and_new_first_words_lose_their_soft_labels() -> None:
    soft = tuple(SoftLabel(word, "PER", 0.4, 0.5) for word in range(5))
    found = Sentence(("/", "Ada", "King", ",", "Grace"), (Entity(0, 4, "PER"), Entity(4, 5, "PER")), soft_labels=soft)
    labelled = OuterWords.of(GOLD).without_outer_punctuation(found)
    assert labelled.labels == ((1, 3, "PER"), (4, 5, "PER"))
    assert [label.word for label in labelled.soft_labels] == [2, 4]


def test_a_named_tagger_is_opened_once_and_before_any_work(opened: list[str]) -> None:
    method = TaggerLabels("my-tagger")
    method.check()
    assert opened == ["my-tagger"]
    method.fit(GOLD, Training(tagger=lambda: pytest.fail("another tagger is asked for")))
    assert opened == ["my-tagger"]
    TaggerLabels().check()
    assert opened == ["my-tagger"]


@pytest.mark.parametrize(
    ("types", "note"),
    [
        ({}, 'predicts types that the labelled sentences lack: it predicts LOC, MISC, PER; the labelled sentences have '
             'PER. Rename or drop LOC, MISC, e.g. types={"LOC": ""}'),
        ({"LOC": "", "MISC": "", "PER": ""}, "leaves mentions of some types unlabelled"),
        ({"LOC": "", "MISC": ""}, ""),
    ],
)  # fmt: skip
def test_notes_that_the_types_of_a_named_tagger_differ_from_gold(
    types: dict[str, str], note: str, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    annotate(RAW, TaggerLabels("t", types=types))
    assert "note" not in capsys.readouterr().err, "without gold nothing is compared"
    annotate(RAW, TaggerLabels("t", types=types), GOLD)
    err = capsys.readouterr().err
    assert note in err
    assert ("note" in err) == bool(note)
    forget_notes()
    annotate(RAW, TaggerLabels("t", types=types), GOLD, training=Training(tagger=Lexicon))
    assert "note" not in capsys.readouterr().err, "a run has compared all its labelled sentences before"


def test_renames_or_drops_types(opened: list[str]) -> None:
    named = annotate(RAW, TaggerLabels("t", types={"PER": "person", "LOC": ""}))
    assert [s.labels for s in named.corpus] == [((0, 1, "person"), (1, 2, "person")), ()]
    assert [e.score for e in named.corpus[0].entities] == [1 / 2, 1 / 3]


def test_types_can_swap_names_or_be_merged(opened: list[str]) -> None:
    swapped = annotate(RAW, TaggerLabels("t", types={"PER": "LOC", "LOC": "PER"})).corpus[0]
    assert [e.type for e in swapped.entities] == ["LOC", "LOC", "PER"]
    merged = annotate(RAW, TaggerLabels("t", types={"LOC": "PER"})).corpus[0]
    assert merged.labels == ((0, 1, "PER"), (1, 2, "PER"), (3, 4, "PER")), "neighbours stay two"


def test_a_type_that_the_tagger_does_not_have_is_refused(opened: list[str]) -> None:
    with pytest.raises(SettingsError, match='types has "MSIC", which the tagger does not predict; did you mean "MISC"'):
        TaggerLabels("t", types={"MSIC": ""}).fit([])
    with pytest.raises(SettingsError, match="which the tagger does not predict"):
        TaggerLabels(types={"MSIC": ""}).fit([], Training(tagger=Lexicon))


def test_uses_the_tagger_of_the_run_if_none_is_named() -> None:
    result = annotate(RAW, TaggerLabels(), training=Training(tagger=Lexicon))
    assert result.corpus[0].entities


def test_trains_a_tagger_on_gold_if_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(tagger_labels, "gold_tagger", lambda *args: given.append(args) or Lexicon())
    training = Training(GOLD, 7)
    method = TaggerLabels()
    annotate(RAW, method, GOLD, training=training)
    annotate(RAW, method, GOLD * 2, training=training)
    assert given == [("tagger_labels", None, GOLD, training), ("tagger_labels", None, GOLD * 2, training)], (
        "a second fit learns anew"
    )


def test_error_without_tagger_and_gold_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"no tagger. Name one as tagger .*, or give labelled sentences as gold"):
        TaggerLabels().fit([])


def test_annotate_before_fit_is_an_error() -> None:
    with pytest.raises(UnfittedError, match="call fit before annotate"):
        TaggerLabels().annotate(RAW)


def test_refuses_an_invalid_type_name() -> None:
    with pytest.raises(SettingsError, match="types has the type 'a\\\\tb': a type is a name"):
        TaggerLabels("t", types={"PER": "a\tb"})
