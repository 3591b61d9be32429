"""Alignment by embeddings, compared with a plain implementation that takes one pair at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nersery.core import registry
from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError
from nersery.core.outcome import Reject
from nersery.core.training_context import Training
from nersery.crosslingual.aligners import embeddings
from nersery.crosslingual.aligners.base import Alignment, Pair
from nersery.crosslingual.aligners.embeddings import TOO_LONG, TOO_MUCH, Embeddings, Extraction
from nersery.crosslingual.embedding.probabilities import both_directions
from nersery.io.word_splitting.scripts_without_spaces import follows_without_space
from nersery.models.pretrained.loading import ModelSource
from tests.conftest import TEXT, TINY
from tests.crosslingual.models import build_bilingual, f1, points, translations

EXTRACTIONS: tuple[Extraction, ...] = ("softmax", "entmax", "argmax", "itermax", "match")
SIDES = [*(tuple(text.split()) for text in TEXT), ("Oslo",), ("London", "and", "Oslo", "London", ".")]
PAIRS = [Pair(source, target, f"{s}-{t}") for (s, source), (t, target) in itertools.product(enumerate(SIDES), repeat=2)]


def aligner(folder: Path | str, extraction: Extraction = "softmax", **settings: Any) -> Embeddings:
    return Embeddings(str(folder), extraction=extraction, **{"device": "cpu", "precision": "fp32", **settings})


def linked(found: Sequence[Alignment | Reject]) -> list[Alignment]:
    assert not any(isinstance(alignment, Reject) for alignment in found)
    return [alignment for alignment in found if isinstance(alignment, tuple)]


class PlainAligner:
    """Encodes one sentence at a time with the whole model, and links words by definition."""

    def __init__(self, folder: Path, layer: int, lead: str = "") -> None:
        source = ModelSource(str(folder))
        self.network, self.tokenizer = source.model("AutoModel").eval(), source.tokenizer()
        self.layer, self.lead = layer, lead

    def states(self, words: Sequence[str]) -> tuple[Tensor, list[int]]:
        subwords, owners = [], []
        for number, word in enumerate(words):
            ids = self.tokenizer(self.lead + word, add_special_tokens=False)["input_ids"]
            if follows_without_space(word):  # has no border within running text
                tokens = self.tokenizer.convert_ids_to_tokens(ids)
                bare = [token for token in [tokens[0].lstrip("▁Ġ"), *tokens[1:]] if token]
                ids = self.tokenizer.convert_tokens_to_ids(bare) if bare[0] in self.tokenizer.get_vocab() else ids
            subwords += ids
            owners += [number] * len(ids)
        ids = [self.tokenizer.cls_token_id, *subwords, self.tokenizer.sep_token_id]
        with torch.no_grad():
            output = self.network(torch.tensor([ids]), output_hidden_states=True)
        return output.hidden_states[self.layer][0, 1:-1], owners

    def alignment(self, pair: Pair, extraction: str) -> dict[tuple[int, int], float]:
        (left, rows), (right, columns) = self.states(pair.source), self.states(pair.target)
        if extraction == "softmax":
            forward, backward = (left @ right.T).softmax(1), (left @ right.T).softmax(0)
            is_linked, sure = (forward > 1e-3) & (backward > 1e-3), (forward * backward).sqrt()
        else:
            sure = (torch.cosine_similarity(left[:, None], right[None], dim=2) + 1) / 2
            is_linked = (sure == sure.amax(0, keepdim=True)) & (sure == sure.amax(1, keepdim=True))
        found: dict[tuple[int, int], float] = {}
        for i, j in is_linked.nonzero().tolist():
            found[rows[i], columns[j]] = max(found.get((rows[i], columns[j]), 0.0), sure[i, j].item())
        return found


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Path:
    """An encoder whose positions count from the one after the padding id."""
    from transformers import XLMRobertaConfig, XLMRobertaModel

    folder = tmp_path_factory.mktemp("roberta")
    torch.manual_seed(2)
    XLMRobertaModel(XLMRobertaConfig(vocab_size=500, **TINY)).save_pretrained(folder)
    ModelSource(str(tiny_models["unigram"])).tokenizer().save_pretrained(folder)
    return folder


KINDS = {"wordpiece": ("softmax", 1), "bytes": ("argmax", 2), "unigram": ("softmax", 2), "roberta": ("argmax", 1)}
"""Kinds of models, each with the extraction and the layer that `make test` tries; `make torture` tries all."""


class TestAgainstPlainAligner:
    @pytest.mark.parametrize(
        ("kind", "extraction", "layer"),
        [
            pytest.param(kind, *each, marks=[pytest.mark.torture] * (each != quick))
            for kind, quick in KINDS.items()
            for each in itertools.product(("softmax", "argmax"), (1, 2))
        ],
    )
    def test_links_equal_those_of_the_plain_aligner(
        self, tiny_models: dict[str, Path], roberta: Path, kind: str, extraction: Extraction, layer: int
    ) -> None:
        folder = {**tiny_models, "roberta": roberta}[kind]
        plain = PlainAligner(folder, layer, " " if kind == "bytes" else "")
        found = linked(aligner(folder, extraction, layer=layer).align(PAIRS))
        assert len(found) == len(PAIRS)
        for pair, alignment in zip(PAIRS, found, strict=True):
            expected = plain.alignment(pair, extraction)
            assert [link[:2] for link in alignment] == sorted(expected)
            assert [link.probability for link in alignment] == pytest.approx(
                [expected[k] for k in sorted(expected)], abs=1e-4
            )
        assert sum(map(len, found)) > len(PAIRS)

    @pytest.mark.parametrize("extraction", EXTRACTIONS)
    def test_a_sentence_is_aligned_with_itself_on_the_diagonal(self, tiny_model: str, extraction: Extraction) -> None:
        """Each subword is most similar to itself, so the diagonal is linked; some extractions may link more."""
        pairs = [Pair(side, side) for side in SIDES]
        for pair, alignment in zip(pairs, linked(aligner(tiny_model, extraction).align(pairs)), strict=True):
            diagonal = {(number, number) for number in range(len(pair.source))}
            assert diagonal <= points(alignment)
            assert extraction in ("softmax", "itermax", "entmax") or diagonal == points(alignment)
            assert all(0 < link.probability <= 1 for link in alignment)


class TestBatches:
    @pytest.mark.parametrize("extraction", EXTRACTIONS)
    @pytest.mark.parametrize("precision", ["fp32", "bf16"])
    def test_other_pairs_of_a_batch_do_not_change_a_bit(
        self, tiny_model: str, extraction: Extraction, precision: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        many = [*PAIRS, Pair(SIDES[0] * 9, SIDES[1] * 9, "long")]
        one = aligner(tiny_model, extraction, precision=precision)
        together = one.align(many)
        assert one.align(many[::-1])[::-1] == together
        assert [one.align([pair])[0] for pair in many[::9]] == together[::9]
        monkeypatch.setattr("nersery.crosslingual.aligners.embeddings.SUBWORDS", 50)
        assert one.align(many) == together

    def test_the_shape_of_similarities_depends_only_on_the_pair(
        self, tiny_model: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: set[tuple[int, ...]] = set()

        def watched(scores: Tensor, mask: Tensor, normalizer: Any) -> Any:
            seen.add(tuple(scores.shape))
            return both_directions(scores, mask, normalizer)

        monkeypatch.setattr("nersery.crosslingual.aligners.embeddings.both_directions", watched)
        one, alone = aligner(tiny_model), set()
        for pair in PAIRS:
            seen.clear()
            one.align([pair])
            assert len(seen) == 1
            alone |= seen
        seen.clear()
        one.align(PAIRS * 3)
        assert seen == alone
        assert len(alone) > 3

    def test_links_are_sorted_and_unique(self, tiny_model: str) -> None:
        for alignment in linked(aligner(tiny_model, threshold=0.0).align(PAIRS)):
            assert [link[:2] for link in alignment] == sorted({link[:2] for link in alignment})


class TestLongSides:
    LONG = Pair(SIDES[0] * 12, (*SIDES[1] * 9, "Oslo"))

    def test_long_sides_are_read_to_their_ends(self, tiny_model: str) -> None:
        (alignment,) = linked(aligner(tiny_model, "match").align([self.LONG]))
        source, target = ({link[side] for link in alignment} for side in (0, 1))
        assert target == set(range(len(self.LONG.target)))
        assert len(source) > len(self.LONG.target) * 0.9
        assert max(source) > len(self.LONG.source) - 9

    def test_a_word_at_the_end_counts(self, tiny_model: str) -> None:
        other = Pair(self.LONG.source, (*self.LONG.target[:-1], "दिल्ली"))
        first, second = linked(aligner(tiny_model, threshold=0.0).align([self.LONG, other]))
        last = len(self.LONG.target) - 1
        chances = [[link.probability for link in alignment if link.target == last] for alignment in (first, second)]
        assert chances[0] != chances[1]

    def test_aligns_pairs_of_thousands_of_words(self, tiny_model: str) -> None:
        side = ("Ada", "in", "Oslo") * 1000
        (alignment,) = linked(aligner(tiny_model, "argmax").align([Pair(side, side)]))
        assert max(link.source for link in alignment) > 2900

    def test_a_word_longer_than_the_model_rejects_only_its_pair(self, tiny_model: str) -> None:
        long = Pair(("Ada", "da" * 40), SIDES[0])
        one = aligner(tiny_model)
        expected = one.align(PAIRS[:2])
        assert one.align([PAIRS[0], long, PAIRS[1]]) == [expected[0], Reject(TOO_LONG), expected[1]]
        assert one.align([Pair(long.target, long.source)]) == [Reject(TOO_LONG)]

    def test_a_pair_with_matrices_beyond_memory_rejects_only_itself(
        self, tiny_model: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = aligner(tiny_model).align(PAIRS[:1])
        monkeypatch.setattr(embeddings, "MAX_CELLS", 10_000)
        long = Pair(("Ada",) * 200, ("Oslo",) * 200)
        assert aligner(tiny_model).align([long, PAIRS[0]]) == [Reject(TOO_MUCH), *expected]


class TestOddInput:
    @pytest.mark.parametrize("extraction", EXTRACTIONS)
    def test_sides_without_words_or_subwords_have_no_links(self, tiny_model: str, extraction: Extraction) -> None:
        sides = [(), ("\u200d",), ("\u200d", "\u200e")]
        odd = [Pair(a, b) for a in sides for b in (*sides, SIDES[0])]
        found = aligner(tiny_model, extraction).align([PAIRS[0], *odd, *(Pair(p.target, p.source) for p in odd)])
        assert found[0]
        assert found[1:] == [()] * 2 * len(odd)

    def test_a_word_without_subwords_has_no_link_and_keeps_its_place(self, tiny_model: str) -> None:
        pair = Pair(("Ada", "\u200d", "Oslo"), ("\u200d", "Ada", "Oslo"))
        (alignment,) = linked(aligner(tiny_model, threshold=0.0).align([pair]))
        assert points(alignment) == {(0, 1), (0, 2), (2, 1), (2, 2)}


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"threshold": 1.0}, "threshold is 1,"),
            ({"threshold": -0.1}, "threshold is -0.1"),
            ({"distortion": 0.5, "extraction": "softmax"}, 'distortion is for .* "softmax"'),
            ({"temperature": 0.0, "extraction": "softmax"}, "temperature is 0, expected a number above 0"),
            ({"temperature": 0.1}, 'temperature is for .* "argmax"'),
            (
                {"temperature": 0.1, "model": "bert-base-multilingual-cased", "distortion": 0.1},
                '"softmax" does not use',
            ),
            ({"distortion": 1.5, "extraction": "argmax"}, "distortion is 1.5"),
            ({"extraction": "max"}, "extraction"),
            ({"fine_tune": {"so": -1.0}}, "so"),
            ({"fine_tune": {"sso": 1.0}}, "sso"),
        ],
    )
    def test_settings_that_cannot_work_are_refused(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            registry.create("align", "embeddings", settings)

    def test_a_higher_threshold_keeps_the_surer_links(self, tiny_model: str) -> None:
        low, high = (linked(aligner(tiny_model, threshold=t).align(PAIRS)) for t in (0.01, 0.2))
        assert sum(map(len, low)) > sum(map(len, high)) > 0
        for many, few in zip(low, high, strict=True):
            assert {link for link in few if link.probability > 0.2} <= set(many)
            assert all(link.probability > 0.2 for link in few)

    def test_distortion_favours_the_diagonal(self, tiny_model: str) -> None:
        def mean_distance(distortion: float) -> float:
            found = linked(aligner(tiny_model, "match", distortion=distortion).align([Pair(SIDES[0], SIDES[1])]))
            return sum(abs(link.source / 8 - link.target / 10) for link in found[0]) / len(found[0])

        assert mean_distance(1.0) < mean_distance(0.0)

    def test_refuses_a_missing_model(self, tmp_path: Path) -> None:
        with pytest.raises(MissingResourceError, match="no model folder"):
            aligner(tmp_path / "none").check()

    def test_refuses_an_unknown_device(self, tiny_model: str) -> None:
        with pytest.raises(SettingsError, match="device"):
            aligner(tiny_model, device="tpu").check()

    def test_refuses_a_model_that_computes_nan(self, tmp_path: Path, tiny_model: str) -> None:
        source = ModelSource(tiny_model)
        network = source.model("AutoModel")
        with torch.no_grad():
            network.encoder.layer[0].output.dense.bias.fill_(math.nan)
        network.save_pretrained(tmp_path)
        source.tokenizer().save_pretrained(tmp_path)
        with pytest.raises(SettingsError, match="computes NaN"):
            aligner(tmp_path).align(PAIRS)

    def test_notes_that_the_bundled_model_covers_only_english(self, capsys: pytest.CaptureFixture[str]) -> None:
        one = aligner("bundled")
        one.fit(PAIRS[:1])
        assert "only covers English" in capsys.readouterr().err
        (alignment,) = linked(one.align([Pair(("the", "doctor", "sleeps"), ("the", "physician", "sleeps"))]))
        assert {(0, 0), (1, 1), (2, 2)} <= points(alignment)

    def test_notes_a_model_of_other_languages(self, tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
        aligner(tiny_model).fit([Pair(("Ωδή", "в", "лес"), ("ბავშვი",))])
        assert "was made for other languages" in capsys.readouterr().err


class TestFineTuning:
    def test_refuses_to_align_before_fit(self, tiny_masked_lm: str) -> None:
        one = registry.create("align", "embeddings", {"model": tiny_masked_lm, "fine_tune": {}})
        with pytest.raises(UnfittedError, match="call fit before align"):
            one.align(PAIRS)

    def test_self_training_improves_the_links(self, tmp_path: Path) -> None:
        build_bilingual(tmp_path)
        pairs, _ = translations(120, seed=0)
        test, gold = translations(40, seed=1)
        learning = {"epochs": 4, "learning_rate": 3e-3, "batch_size": 20, "mlm": 0.0}
        one = registry.create(
            "align", "embeddings", {"model": str(tmp_path), "precision": "fp32", "fine_tune": learning}
        )
        one.fit(pairs, Training(seed=1))
        before, after = f1(aligner(tmp_path), test, gold), f1(one, test, gold)
        assert before < 0.75
        assert after > before + 0.15
