from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from nersery import Sentence
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.models.likelihoods import fluency, pseudo_likelihood
from nersery.models.likelihoods.causal import CausalLM
from nersery.models.likelihoods.fluency import likelihood, open_scorer, warn_if_unsuited
from nersery.models.likelihoods.likelihood import Likelihood
from nersery.models.likelihoods.pseudo_likelihood import PseudoLM
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.pretrained.loading import ModelSource
from tests.models.likelihoods.test_causal import build

TEXTS = [["Ada", "wrote", "in", "London"], ["Oslo"], ["दिल्ली", "में", "।"], ["famous", "Hopperon", "won"]]
LONG = [["Ada", "Lovelace", "wrote"] * 60, ["hgfe" * 24, "Oslo"]]


def opened(folder: Path | str) -> PseudoLM:
    return PseudoLM(ModelSource(str(folder)), device="cpu", precision="fp32")


def by_hand(folder: Path | str, text: list[str]) -> list[float]:
    """The log probability of each subword, masked one at a time, each in its own pass."""
    source = ModelSource(str(folder))
    network, tokenizer = source.masked_lm().eval(), source.tokenizer()
    inputs = tokenizer([text], is_split_into_words=True, split_special_tokens=True, return_tensors="pt")
    (subwords,) = inputs["input_ids"].tolist()
    logs = []
    for place, owner in enumerate(inputs.word_ids()):
        if owner is not None:
            hidden = [*subwords[:place], tokenizer.mask_token_id, *subwords[place + 1 :]]
            with torch.no_grad():
                row = network(input_ids=torch.tensor([hidden])).logits[0, place].log_softmax(-1)
            logs.append(float(row[subwords[place]]))
    return logs


class TestPseudoLM:
    @pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
    def test_each_subword_is_masked_separately(self, tiny_masked_lms: dict[str, Path], kind: str) -> None:
        found = opened(tiny_masked_lms[kind]).likelihoods(TEXTS)
        for text, one in zip(TEXTS, found, strict=True):
            logs = by_hand(tiny_masked_lms[kind], text)
            assert one.subwords == len(logs)
            assert one.log == pytest.approx(sum(logs), rel=1e-4)
        assert max(one.subwords / len(text) for text, one in zip(TEXTS, found, strict=True)) > 2

    def test_progress_is_shown_within_texts_that_are_much_work(
        self, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inner: list[Progress] = []
        progress = Progress("perplexity", quiet=True)
        monkeypatch.setattr(progress, "within", lambda *of: inner.append(Progress(*of, quiet=True)) or inner[-1])
        model = PseudoLM(ModelSource(tiny_masked_lm), device="cpu", precision="fp32", progress=progress)
        before = model.likelihoods([*TEXTS, *LONG])
        assert not inner
        monkeypatch.setattr(pseudo_likelihood, "MUCH_WORK", sum(one.subwords**2 for one in before))
        monkeypatch.setattr(pseudo_likelihood, "SHOWN_INPUTS", 7)
        assert model.likelihoods([*TEXTS, *LONG]) == before
        assert inner[0].label == "subwords"
        assert inner[0].done == inner[0].total == sum(one.subwords for one in before)

    def test_a_long_text_and_a_long_word_are_scored_to_their_end(self, tiny_masked_lm: str) -> None:
        model = opened(tiny_masked_lm)
        subwords = [sum(map(len, model._lm.encoder.subwords(text))) for text in LONG]
        assert min(subwords) > 64
        assert [found.subwords for found in model.likelihoods(LONG)] == subwords

    def test_a_long_text_is_split_into_windows_once(self, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Splitting it for each of its subwords would take quadratic time."""
        model = opened(tiny_masked_lm)
        cut, found, lengths = model._lm.encoder.windows, model.likelihoods(LONG), list[int]()
        for text, one in zip(LONG, found, strict=True):
            words = tuple((subword,) for word in model._lm.encoder.subwords(text) for subword in word)
            whole = model._lm.log_probabilities([MaskedInput(words, (gap,)) for gap in range(len(words))])
            assert one.log == sum(log for (log,) in whole)
        monkeypatch.setattr(
            model._lm.encoder, "windows", lambda words, *o: (lengths.append(len(words)), cut(words, *o))[1]
        )
        model.likelihoods(LONG)
        assert sum(length > 64 for length in lengths) == len(LONG)

    def test_other_texts_in_the_batch_do_not_change_a_bit(self, tiny_masked_lm: str) -> None:
        model = opened(tiny_masked_lm)
        many = [*TEXTS, *([f"word{number}"] * (number % 5 + 1) for number in range(9))]
        together = model.likelihoods(many)
        assert [model.likelihoods([text])[0] for text in many] == together
        order = random.Random(0).sample(range(len(many)), len(many))
        assert model.likelihoods([many[number] for number in order]) == [together[number] for number in order]

    def test_the_number_of_gaps_prepared_at_once_does_not_matter(
        self, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = opened(tiny_masked_lm)
        expected = model.likelihoods(TEXTS)
        monkeypatch.setattr(pseudo_likelihood, "MASKED_INPUTS", 3)
        assert model.likelihoods(TEXTS) == expected
        assert model.likelihoods([]) == []

    def test_refuses_nan(self, tiny_masked_lm: str) -> None:
        model = opened(tiny_masked_lm)
        with torch.no_grad():
            model._lm.network.bert.encoder.layer[0].output.dense.bias.fill_(float("nan"))
        with pytest.raises(SettingsError, match="computes NaN"):
            model.likelihoods([["Ada"]])

    def test_the_bundled_model_tells_a_sentence_from_its_shuffled_words(self) -> None:
        model = open_scorer(ModelSource("bundled"))
        sound, shuffled = model.likelihoods(
            [["she", "lives", "in", "new", "york"], ["york", "in", "she", "new", "lives"]]
        )
        assert model.kind == "pseudo-perplexity"
        assert sound.subwords == shuffled.subwords == 5
        assert sound.perplexity < 100 < shuffled.perplexity


class TestOpening:
    def test_opens_causal_and_masked_models_as_such(self, tmp_path: Path, tiny_masked_lm: str) -> None:
        build(tmp_path, {"bos_token": "[CLS]"})
        causal = open_scorer(ModelSource(str(tmp_path)))
        assert (type(causal), causal.kind) == (CausalLM, "perplexity")
        masked = open_scorer(ModelSource(tiny_masked_lm))
        assert (type(masked), masked.kind) == (PseudoLM, "pseudo-perplexity")

    @pytest.mark.parametrize("name", ["LlamaForCausalLM", "GPT2LMHeadModel", "BertLMHeadModel"])
    def test_a_mask_token_does_not_make_a_masked_model(self, tmp_path: Path, tiny_masked_lm: str, name: str) -> None:
        shutil.copytree(tiny_masked_lm, tmp_path, dirs_exist_ok=True)
        kind = getattr(transformers, name)
        sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        kind(kind.config_class(vocab_size=600, max_position_embeddings=64, **sizes)).save_pretrained(tmp_path)
        model = open_scorer(ModelSource(str(tmp_path)))
        assert type(model) is CausalLM
        assert model.likelihoods([["Ada", "wrote"]])[0].subwords > 0

    @pytest.mark.parametrize(("name", "kind"), [("Bart", "an encoder-decoder"), ("XLNet", "an XLNet")])
    def test_refuses_a_model_without_probabilities(self, tmp_path: Path, name: str, kind: str) -> None:
        settings = getattr(transformers, f"{name}Config")(d_model=16, architectures=[f"{name}LMHeadModel"])
        settings.save_pretrained(tmp_path)
        with pytest.raises(SettingsError, match=kind):
            open_scorer(ModelSource(str(tmp_path)))

    def test_refuses_a_model_without_a_head(self, tiny_model: str) -> None:
        with pytest.raises(MissingResourceError, match="AutoModelForMaskedLM"):
            open_scorer(ModelSource(tiny_model))


class Fake:
    """A model for which each word has two subwords of probability 1/e."""

    kind: Any = "perplexity"
    unfit = ""

    def likelihoods(self, texts: Any) -> list[Likelihood]:
        return [Likelihood(-2.0 * len(text), 2 * len(text)) for text in texts]

    def vocabulary_issue(self, words: Any) -> str:
        return self.unfit


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_the_likelihood_of_a_corpus_is_the_sum_over_its_sentences(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fluency, "SENTENCES", size)
    progress = Progress("perplexity", quiet=True)
    sentences = (Sentence(tuple(text)) for text in TEXTS)
    assert likelihood(Fake(), sentences, progress) == Likelihood(-2 * 11, 2 * 11)
    assert progress.done == len(TEXTS)
    assert likelihood(Fake(), []) == Likelihood()


@pytest.mark.parametrize(
    ("model", "language", "unfit", "expected"),
    [
        ("bundled", "hi", "", "it covers only English, but there is text in hi"),
        ("bundled", "hi", "", "e.g. bundled-multilingual (extra multilingual) or xlm-roberta-base"),
        ("bundled", "yo", "", "e.g. xlm-roberta-base"),
        ("bundled-multilingual", "th", "", "it has learnt to fill gaps in 36 languages, but there is text in th"),
        ("gpt2", "hi", "", ""),
        ("gpt2", "", "90 % of the words", "90 % of the words"),
        ("bundled", "en", "", ""),
    ],
)
def test_warns_of_a_model_for_other_languages(
    model: str, language: str, unfit: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(Fake, "unfit", unfit)
    warn_if_unsuited(Fake(), ModelSource(model), [Sentence(("a",), language=language)])
    warning = capsys.readouterr().err
    assert bool(warning) == bool(expected)
    assert expected in warning
