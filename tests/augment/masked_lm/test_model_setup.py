"""What all methods on a masked language model share, with tiny real models."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import Augmenter, augment
from nersery.augment.masked_lm.mention_masking import hidden_in_mentions, with_words
from nersery.core import registry
from nersery.core.errors import MissingResourceError, NerseryError, SettingsError
from nersery.core.outcome import Reject, Result
from nersery.core.training_context import Training
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource
from nersery.models.tokens import TOKEN_PREFIX
from nersery.models.training.training_state import OtherTrainingError
from tests.augment.learning import assert_it_ignores_labels

FINE_TUNED = ("cbt", "label_conditioned", "melm")
METHODS = ("bda", *FINE_TUNED, "masked_entity")
OF_MENTIONS = ("masked_entity", "melm")
SHORT = {"PER": "named person", "LOC": "name of a place"}
MARKS = ("##", "▁", "Ġ", "\ufffd", TOKEN_PREFIX)

Make = Callable[..., Augmenter]


def sentence(text: str, id_: str = "", type_: str = "PER") -> Sentence:
    """Make a sentence in which the second to last word is an entity."""
    words = tuple(text.split())
    return Sentence(words, (Entity(len(words) - 2, len(words) - 1, type_),), id=id_, columns=(words,))


GOLD = Corpus(
    [
        sentence("we saw there today Ada .", "a"),
        sentence("the program in Oslo won", "b", "LOC"),
        sentence("Grace Hopper spoke in Boston .", "c", "LOC"),
        sentence("राम दिल्ली में रहता है ।", "d", "LOC"),
        sentence("東京 は 日本 の 首都", "e"),
    ]
)
ODD = Corpus(
    [
        sentence("[MASK] won [MASK] .", "mask"),
        sentence("<b-per> [SEP] <b-per> [CLS]", "tags"),
        sentence("\u200b 👩‍👩‍👧 \u200d x", "nothing"),
        sentence("👩‍👩‍👧 दिल्ली ❤️ 北京 زار أحمد مدينةً", "scripts"),
        sentence("ılknur ﬁx großstraße n̈", "letters"),
        sentence("zzyzx qqqq vvvv", "unknown"),
        Sentence(("Ada",), (Entity(0, 1, "PER"),), id="alone"),
        Sentence(("won", "there"), id="no entity"),
        Sentence((".", "।", "👩‍👩‍👧"), (Entity(0, 2, "LOC"),), id="signs"),
        sentence("a brand new kind of Thing .", "new", "NEW-Type"),
    ]
)


@pytest.fixture
def make(tiny_masked_lm: str) -> Make:
    """A method by its name, on a tiny model and with one pass over the gold sentences."""

    def made(name: str, model: str | Path = tiny_masked_lm, **settings: Any) -> Augmenter:
        quick = {"epochs": 1, "batch_size": 4} if name in FINE_TUNED else {}
        if name == "label_conditioned":
            quick["definitions"] = {**SHORT, "NEW-Type": "something new"}
        method = registry.create("augment", name, {"model": str(model), "precision": "fp32", **quick, **settings})
        assert isinstance(method, Augmenter)
        return method

    return made


def outcomes(result: Result) -> list[tuple[str, Any]]:
    rejects = [(reject.sentence.id, reject.reason) for reject in result.rejects if reject.sentence]
    return sorted([*((s.id, s) for s in result.corpus), *rejects], key=lambda pair: pair[0])


def check_kept(new: Sentence, old: Sentence, name: str) -> int:
    """Check that only replaceable words have changed, and all others are in place; return the number that changed."""
    assert new.labels == old.labels
    assert new.language == old.language
    assert len(new) == len(old)
    changed = [n for n, (a, b) in enumerate(zip(new.words, old.words, strict=True)) if a != b]
    if name in OF_MENTIONS:
        assert all(any(entity.start <= n < entity.end for entity in old.entities) for n in changed)
    for n in changed:
        assert new.words[n] == "".join(new.words[n].split())
        assert not any(mark in new.words[n] for mark in MARKS)
        assert any(c.isalnum() for c in new.words[n])
    return len(changed)


@pytest.mark.parametrize("name", METHODS)
class TestMethods:
    def test_batch_size_does_not_matter(self, name: str, make: Make, tiny_masked_lms: dict[str, Path]) -> None:
        corpus = Corpus([*GOLD, *ODD])
        model = tiny_masked_lms[("wordpiece", "bytes", "unigram")[METHODS.index(name) % 3]]
        results = [
            augment(corpus, make(name, model), copies=3, batch_size=batch_size, seed=5) for batch_size in (1, 7, 64)
        ]
        assert outcomes(results[0]) == outcomes(results[1]) == outcomes(results[2])
        assert results[0].tally.written > len(corpus)

    @pytest.mark.parametrize(
        ("kind", "by_subword"),
        [
            ("wordpiece", False),
            ("bytes", True),
            pytest.param("unigram", False, marks=pytest.mark.torture),
            ("unigram", True),
        ],
    )
    def test_labels_and_other_words_stay(
        self, name: str, kind: str, by_subword: bool, make: Make, tiny_masked_lms: dict[str, Path]
    ) -> None:
        corpus = Corpus([*GOLD, *ODD])
        method = make(name, tiny_masked_lms[kind], by_subword=by_subword, top_k=1000)
        result = augment(corpus, method, copies=4)
        for new in result.corpus:
            assert new.origin is not None
            assert check_kept(new, corpus.by_id[new.origin.parents[0]], name) > 0
        assert {reject.reason for reject in result.rejects} <= {"unchanged", "no word to replace", "no entities"}
        assert not [
            r for r in result.rejects if r.sentence and r.sentence.id.startswith("signs") and r.reason[0] == "u"
        ]

    def test_five_sentences_are_enough(self, name: str, make: Make) -> None:
        result = augment(GOLD, make(name), copies=2)
        assert result.tally.read == 10
        assert result.tally.written > 5

    def test_a_sentence_longer_than_the_model_loses_nothing(self, name: str, make: Make) -> None:
        words = tuple("we saw Ada Lovelace there today in the program of Grace .".split() * 30)
        entities = tuple(Entity(start + 2, start + 4, "PER") for start in range(0, len(words), 12))
        long = Sentence(words, entities, id="long", columns=(words,))
        result = augment(Corpus([long, *GOLD]), make(name, top_k=1000), copies=3)
        made = [s for s in result.corpus if s.origin and s.origin.parents == ("long",)]
        assert made
        for new in made:
            changed = check_kept(new, long, name)
            assert changed == 1 or (name in OF_MENTIONS and changed > 10)
        places = {n for new in made for n, word in enumerate(new.words) if word != words[n]}
        assert name not in OF_MENTIONS or max(places) > 300

    def test_a_mention_longer_than_the_model_loses_nothing(self, name: str, make: Make) -> None:
        words = ("saw", *("Ada", "दिल्ली", "of") * 50, "today")
        long = Sentence(words, (Entity(1, 151, "PER"),), id="long")
        word = Sentence(("saw", "x" * 700, "today"), (Entity(1, 2, "PER"),), id="word")
        result = augment(Corpus([long, word, *GOLD]), make(name, top_k=1000), copies=3)
        made = [s for s in result.corpus if s.origin and s.origin.parents[0] in ("long", "word")]
        assert {s.origin.parents[0] for s in made if s.origin} == {"long", "word"}
        for new in made:
            assert new.origin is not None
            check_kept(new, long if new.origin.parents == ("long",) else word, name)

    def test_words_that_look_like_tokens_are_words(self, name: str, make: Make) -> None:
        """They are not gaps, tags or separators, and those that are kept do not change."""
        result = augment(Corpus([*ODD[:2], *GOLD]), make(name, top_k=1000), copies=20)
        seen = [s for s in result.corpus if s.origin and s.origin.parents[0] in ("mask", "tags")]
        assert seen
        for new in seen:
            assert new.origin is not None
            old = ODD.by_id[new.origin.parents[0]]
            assert check_kept(new, old, name) == 1

    def test_keeps_a_type_that_is_not_in_gold(self, name: str, make: Make) -> None:
        method = make(name)
        method.fit(GOLD)
        new = Sentence(("Ada", "found", "Rust"), (Entity(2, 3, "other:TYPE"),), id="x", language="xx")
        made = [method.generate(new, random.Random(seed)) for seed in range(5)]
        assert all(isinstance(each, Sentence) and each.labels == new.labels for each in made)

    def test_suggests_only_after_fit(self, name: str, make: Make) -> None:
        method: Any = make(name)
        with pytest.raises(NerseryError, match="call fit before generate or suggest"):
            method.suggest(GOLD, [(0,)] * 5, 3)
        method.fit(GOLD)
        suggested = method.suggest([GOLD[0], GOLD[3]], [(4,), ()], 3)
        assert [len(gaps) for gaps in suggested] == [1, 0]
        assert len(suggested[0][0]) == 3


@pytest.mark.parametrize("name", OF_MENTIONS)
def test_sentences_without_a_word_to_replace_are_rejected(name: str, make: Make) -> None:
    method = make(name)
    method.fit(GOLD)
    signs = Sentence(("&", "won"), (Entity(0, 1, "PER"),))
    made = method.generate_batch([Sentence(("won",)), signs], [random.Random(0), random.Random(1)])
    assert made == [Reject("no entities"), Reject("no word to replace")]


@pytest.mark.parametrize("name", ["bda", "masked_entity"])
def test_a_model_without_fine_tuning_ignores_labels(name: str, make: Make, tiny_masked_lm: str) -> None:
    method: Any = make(name)
    assert_it_ignores_labels(method)
    pretrained = dict(ModelSource(tiny_masked_lm).masked_lm().named_parameters())
    assert all(torch.equal(weight, pretrained[name]) for name, weight in method._lm.network.named_parameters())


@pytest.mark.parametrize("name", METHODS)
class TestModels:
    """An unsuitable model is refused, by `check` if that is possible."""

    def test_accepts_a_suitable_model(self, name: str, make: Make) -> None:
        make(name).check()

    def test_refuses_a_missing_model(self, name: str, make: Make, tmp_path: Path) -> None:
        with pytest.raises(MissingResourceError, match="there is no model folder"):
            make(name, tmp_path / "nowhere").check()

    def test_refuses_a_model_without_a_mask_token(
        self, name: str, make: Make, tiny_masked_lm: str, tmp_path: Path
    ) -> None:
        from transformers import AutoTokenizer

        folder = shutil.copytree(tiny_masked_lm, tmp_path / "plain")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.mask_token = None
        tokenizer.save_pretrained(folder)
        message = r"no mask token, so it cannot fill gaps.*e\.g\. bert-base-cased, xlm-roberta-base"
        with pytest.raises(MissingResourceError, match=message):
            make(name, folder).check()
        with pytest.raises(MissingResourceError, match=message):
            make(name, folder).fit(GOLD)

    def test_refuses_a_model_without_the_head(self, name: str, make: Make, tiny_model: str) -> None:
        with pytest.raises(
            MissingResourceError, match=r"was saved without the head of AutoModelForMaskedLM.*e\.g\. bert"
        ):
            make(name, tiny_model).fit(GOLD)

    def test_refuses_an_unknown_device(self, name: str, make: Make) -> None:
        with pytest.raises(SettingsError, match='device "quantum"'):
            make(name, device="quantum").check()

    def test_refuses_missing_text_to_adapt_to(self, name: str, make: Make) -> None:
        with pytest.raises(MissingResourceError, match=r'no file "nowhere\.txt" to adapt to'):
            make(name, adapt="nowhere.txt").check()

    def test_refuses_zero_adaptation_epochs(self, name: str, make: Make, tmp_path: Path) -> None:
        (tmp_path / "raw.txt").write_text("Ada won\n")
        with pytest.raises(SettingsError, match="adapt_epochs is 0, expected 1 or more"):
            make(name, adapt=str(tmp_path / "raw.txt"), adapt_epochs=0).check()


@pytest.mark.parametrize("name", ["melm", "bda"])  # one that is fine-tuned, and one that is not
def test_the_model_is_adapted_to_raw_text(
    name: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nersery.models.masked.adaptation.LEARNING_RATE", 3e-4)  # for a model of two layers of 32
    (tmp_path / "raw.txt").write_text("we saw there today Radia .\n" * 60)
    chances = []
    for settings in ({}, {"adapt": str(tmp_path / "raw.txt"), "adapt_epochs": 40}):
        method: Any = make(name, **settings)
        method.fit(GOLD, Training(seed=1))
        ((guesses,),) = method.suggest([GOLD[0]], [(4,)], 10_000)
        chances.append(dict(guesses)["Radia"])
    assert chances[1] > 1.2 * chances[0]


def test_the_model_gets_the_languages_of_the_sentences(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: list[Any] = []
    monkeypatch.setattr(MaskedLM, "warn_if_unsuited", lambda *given: arguments.append(given[1:]))
    gold = [replace(GOLD[0], language="en"), replace(GOLD[3], language="hi"), GOLD[4]]
    make("masked_entity").fit(gold)
    assert arguments == [([word for each in gold for word in each.words], {"en", "hi", ""})]


def test_a_training_does_not_resume_with_other_languages(make: Make, tmp_path: Path) -> None:
    """The model reads the languages if there are several."""

    def fit(*languages: str) -> None:
        gold = [replace(sentence, language=language) for sentence, language in zip(GOLD, languages, strict=True)]
        make("melm").fit(gold, Training(folder=tmp_path))

    fit("en", "en", "en", "hi", "zh")
    fit("en", "en", "en", "hi", "zh")
    with pytest.raises(OtherTrainingError, match=r"\n  languages: was "):
        fit("en", "en", "hi", "hi", "zh")


class TestHiddenWords:
    MENTION = Sentence(("Ada", "King", "&", "Sons", "won", "Oslo"), (Entity(0, 4, "PER"), Entity(5, 6, "LOC")))

    def drawn(self, mean_rate: float) -> list[list[int]]:
        return [hidden_in_mentions(self.MENTION, mean_rate, random.Random(seed)) for seed in range(2000)]

    def test_hidden_words_are_replaceable_words_of_mentions_in_order(self) -> None:
        for places in self.drawn(0.5):
            assert places == sorted(set(places))
            assert set(places) <= {0, 1, 3, 5}
            assert places, "one at the least"

    @pytest.mark.parametrize("mean_rate", [0.3, 0.5, 0.7])
    def test_the_mean_share_of_hidden_words_is_the_rate(self, mean_rate: float) -> None:
        long = Sentence(tuple(f"w{number}" for number in range(40)), (Entity(0, 40, "PER"),))
        shares = [len(hidden_in_mentions(long, mean_rate, random.Random(seed))) / 40 for seed in range(500)]
        assert sum(shares) / 500 == pytest.approx(mean_rate, abs=0.01)
        deviation = (sum((share - mean_rate) ** 2 for share in shares) / 500) ** 0.5
        assert deviation == pytest.approx(1 / 40, abs=0.01), "the paper's σ is one over the number of words"

    def test_a_higher_rate_hides_more(self) -> None:
        few, some, many = (sum(map(len, self.drawn(rate))) / 2000 for rate in (0.0, 0.5, 1.0))
        assert 1 <= few < some - 0.5
        assert some < many - 0.5

    def test_rejects_sentences_with_nothing_to_hide(self) -> None:
        signs = Sentence(("&", "won"), (Entity(0, 1, "PER"),))
        assert hidden_in_mentions(signs, 1.0, random.Random(0)) == []
        assert hidden_in_mentions(Sentence(("The", "won"), (Entity(0, 1, "CW"),)), 1.0, random.Random(0), {"the"}) == []
        assert with_words(signs, [], []) == Reject("no word to replace")
        assert with_words(Sentence(("won",)), [], []) == Reject("no entities")


def test_notes_a_description_of_a_type_that_no_sentence_has(
    tiny_masked_lm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = Sentence(("Ada", "won"), (Entity(0, 1, "PER"),), id="a")
    for name, setting in (("melm", "descriptions"), ("label_conditioned", "definitions")):
        settings = {"model": tiny_masked_lm, "epochs": 1, setting: {"PRE": "person", "PER": "person"}}
        registry.create("augment", name, settings).fit([sentence])
        assert f"{setting} has PRE, which no sentence has; the types are PER" in capsys.readouterr().err


def test_a_model_with_another_head_is_refused_before_any_work(tiny_models: dict[str, Path]) -> None:
    for name in METHODS:
        with pytest.raises(MissingResourceError, match=r"BertModel, which has no masked language modelling head"):
            registry.create("augment", name, {"model": str(tiny_models["wordpiece"])}).check()


def test_an_encoder_decoder_is_refused_before_any_work(tiny_seq2seq: str) -> None:
    for name in METHODS:
        with pytest.raises(MissingResourceError, match=r"is an encoder-decoder, .* Expected a masked language model"):
            registry.create("augment", name, {"model": tiny_seq2seq}).check()


def test_damaged_weights_of_the_bundled_model_are_reported(tmp_path: Path, tiny_masked_lm: str) -> None:
    from nersery.models.bundled_models import bundled_heads

    fresh = ModelSource(tiny_masked_lm).model("AutoModelForMaskedLM")
    broken = tmp_path / "masked_lm.safetensors"
    broken.write_bytes(bundled_heads.MASKED_LM["bundled"].read_bytes()[:5000])
    with pytest.raises(MissingResourceError, match=r"masked_lm\.safetensors is damaged: .*Reinstall nersery"):
        bundled_heads.add_head(fresh, broken, "masked language model")
