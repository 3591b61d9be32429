from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery.models.pretrained.loading import ModelSource
from nersery.models.seq2seq.encoder_decoder import Seq2Seq
from nersery.models.seq2seq.generation import BLOCK, ROWS, SOURCES, Sampler, SamplingRequest, largest
from nersery.models.seq2seq.hypotheses import Beams, Hypothesis
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP

KINDS = ["bart", "mbart", "t5"]
SAMPLING = Sampling(max_subwords=12)
BEAMS = replace(SAMPLING, beams=True)
Texts = tuple[str, ...]


def opened(folder: Path | str) -> Seq2Seq:
    return Seq2Seq(ModelSource(str(folder)), "cpu", "fp32", "en")


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tiny_seq2seqs: dict[str, Path]) -> Seq2Seq:
    return opened(tiny_seq2seqs[request.param])


@pytest.fixture(scope="module")
def bart(tiny_seq2seq: str) -> Seq2Seq:
    return opened(tiny_seq2seq)


def sources_of_all_sorts(count: int = 60) -> list[Texts]:
    """Sources of one to about fifty subwords."""
    rng = random.Random(4)
    words = ["we", "saw", "Linus", "there", GAP, "Ada", "राम", "Oslo"]
    return [tuple(rng.choice(words) for _ in range(rng.choice([1, 3, 3, 5, 9, 14]))) for _ in range(count)]


def drawn(model: Seq2Seq, sources: Sequence[Texts], sampling: Sampling = SAMPLING) -> list[Generated]:
    """The text generated for each source, with a generator seeded by its words."""
    pairs = [TextPair(source, ()) for source in sources]
    texts = model.generate(pairs, [random.Random(" ".join(source)) for source in sources], sampling)
    return [text for text in texts if text is not None]


def hypotheses(
    model: Seq2Seq, count: int, sampling: Sampling, source: Texts = ("we", GAP), seed: int = 0
) -> list[Hypothesis]:
    """Several texts for the same source, as subwords."""
    frame = model.tokenization.frame("en")
    subwords = model.tokenization.source(source, frame)
    requests = [
        SamplingRequest(subwords, frame.decoder_prefix, frame.end, random.Random(f"{seed} {number}"))
        for number in range(count)
    ]
    suppressed = model.tokenization.unnamed_ids(model.network.get_output_embeddings().weight.shape[0])
    return Sampler(model.network, model.source, sampling, pad=1, suppressed=suppressed, longest=model.longest).draw(
        requests
    )


@torch.no_grad()
def scores(model: Seq2Seq, subwords: Sequence[int], source: Texts = ("we", GAP)) -> torch.Tensor:
    """Log probabilities after each subword, without cache, padding or batch. Shape: (subwords + 1, vocabulary)."""
    frame = model.tokenization.frame("en")
    logits: torch.Tensor = model.network(
        input_ids=torch.tensor([model.tokenization.source(source, frame)]),
        decoder_input_ids=torch.tensor([[*frame.decoder_prefix, *subwords]]),
        use_cache=False,
    ).logits[0, len(frame.decoder_prefix) - 1 :]
    logits[:, model.tokenization.unnamed_ids(logits.shape[1])] = -torch.inf
    return logits.log_softmax(-1)


class Calls:
    """Records the shape and mask of each pass through the decoder."""

    def __init__(self, model: Seq2Seq, patch: pytest.MonkeyPatch) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.masks: list[torch.Tensor] = []
        forward = model.network.forward

        def noted(*args: Any, **settings: Any) -> Any:
            self.shapes.append(tuple(settings["decoder_input_ids"].shape))
            self.masks.append(settings["attention_mask"])
            return forward(*args, **settings)

        patch.setattr(model.network, "forward", noted)


@pytest.fixture
def raised_end(bart: Seq2Seq) -> Iterator[Any]:
    """Makes the end of texts more probable, or less."""
    bias = bart.network.final_logits_bias
    yield lambda value: bias[0].__setitem__(2, value)
    bias.zero_()


class TestBatches:
    @pytest.mark.parametrize("sampling", [SAMPLING, BEAMS])
    def test_a_text_is_bitwise_the_same_in_any_batch(self, model: Seq2Seq, sampling: Sampling) -> None:
        sources = sources_of_all_sorts(30)
        texts = drawn(model, sources, sampling)
        assert len({text.words for text in texts}) > (15 if sampling is SAMPLING else 3)
        assert texts[::-1] == drawn(model, sources[::-1], sampling)
        assert texts[7:19] == drawn(model, sources[7:19], sampling)
        assert texts[:3] == [drawn(model, [source], sampling)[0] for source in sources[:3]]

    @pytest.mark.parametrize(
        "model", ["bart", *(pytest.param(kind, marks=pytest.mark.torture) for kind in ("mbart", "t5"))], indirect=True
    )
    def test_texts_are_the_same_with_more_beams_than_rows(self, model: Seq2Seq) -> None:
        sources, sampling = sources_of_all_sorts(7), replace(BEAMS, candidates=ROWS + 26)
        texts = drawn(model, sources, sampling)
        assert len({text.words for text in texts}) > 2
        assert texts[::-1] == drawn(model, sources[::-1], sampling)
        assert texts[:2] == [drawn(model, [source], sampling)[0] for source in sources[:2]]

    def test_texts_are_the_same_in_half_precision(self, tiny_seq2seq: str) -> None:
        model = Seq2Seq(ModelSource(tiny_seq2seq), "cpu", "bf16")
        sources = sources_of_all_sorts(20)
        assert drawn(model, sources)[4:9] == drawn(model, sources[4:9])

    def test_either_all_sources_of_a_pass_are_padded_or_none(
        self, bart: Seq2Seq, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without padding, models leave out the mask and compute differently."""
        calls = Calls(bart, monkeypatch)
        for subwords in (31, 32, 63, 64):
            hypotheses(bart, 2, Sampling(max_subwords=1), ("saw",) * (subwords - 2))
            assert all((mask == 0).any(1).all() == (subwords < 64) for mask in calls.masks)
            calls.masks.clear()

    def test_the_generator_is_the_only_source_of_randomness(self, bart: Seq2Seq) -> None:
        texts = drawn(bart, [("we", GAP)])
        torch.manual_seed(1)
        random.seed(1)
        assert texts == drawn(bart, [("we", GAP)])
        others = bart.generate(
            [TextPair(("we", GAP), ())] * 5, [random.Random(number) for number in range(5)], SAMPLING
        )
        assert len({text.words for text in others if text}) > 3

    @pytest.mark.parametrize("sampling", [SAMPLING, BEAMS])
    def test_numbers_larger_than_the_model_take_no_memory(self, bart: Seq2Seq, sampling: Sampling) -> None:
        (text,) = drawn(bart, [("we", GAP)], replace(sampling, top_k=10**12, max_subwords=10**12))
        assert text.words

    def test_no_sources_give_no_texts(self, bart: Seq2Seq) -> None:
        assert bart.generate([], [], SAMPLING) == []


class TestAgainstTransformers:
    @torch.no_grad()
    def test_greedy_texts_equal_those_of_transformers(self, model: Seq2Seq) -> None:
        frame = model.tokenization.frame("en")
        suppressed = model.tokenization.unnamed_ids(model.network.get_output_embeddings().weight.shape[0])
        for source in sources_of_all_sorts(6):
            theirs = model.network.generate(
                torch.tensor([model.tokenization.source(source, frame)]),
                decoder_input_ids=torch.tensor([frame.decoder_prefix]),
                do_sample=False,
                max_new_tokens=12,
                suppress_tokens=suppressed or None,
                forced_eos_token_id=None,
            )[0].tolist()[len(frame.decoder_prefix) :]
            (hypothesis,) = hypotheses(model, 1, Sampling(top_k=1, candidates=1, max_subwords=11), source)
            assert [*hypothesis.subwords, *[frame.end] * hypothesis.finished] == theirs

    @torch.no_grad()
    @pytest.mark.parametrize("width", [1, 3, pytest.param(5, marks=pytest.mark.torture)])
    def test_beams_without_noise_equal_those_of_transformers(
        self, model: Seq2Seq, width: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noise = Sampler._noise
        monkeypatch.setattr(Sampler, "_noise", lambda *args: 0 * noise(*args))
        frame = model.tokenization.frame("en")
        suppressed = model.tokenization.unnamed_ids(model.network.get_output_embeddings().weight.shape[0])
        bias = torch.zeros(model.network.get_output_embeddings().weight.shape[0])
        bias[frame.end] = 6.0  # so that texts end at all
        handle = model.network.get_output_embeddings().register_forward_hook(lambda module, inputs, out: out + bias)
        finished = 0
        for source in sources_of_all_sorts(12):
            theirs = model.network.generate(
                torch.tensor([model.tokenization.source(source, frame)]),
                decoder_input_ids=torch.tensor([frame.decoder_prefix]),
                do_sample=False,
                num_beams=width,
                early_stopping=True,
                max_new_tokens=40,
                suppress_tokens=suppressed or None,
                forced_eos_token_id=None,
            )[0].tolist()[len(frame.decoder_prefix) :]
            (hypothesis,) = hypotheses(model, 1, Sampling(50, candidates=width, max_subwords=39, beams=True), source)
            if theirs[-1] == frame.end:
                finished += 1
                assert [*hypothesis.subwords, frame.end] == theirs
        handle.remove()
        assert finished > 3

    @pytest.mark.parametrize("sampling", [SAMPLING, BEAMS])
    def test_the_log_probability_is_the_mean_over_all_subwords(self, model: Seq2Seq, sampling: Sampling) -> None:
        for hypothesis in hypotheses(model, 5, sampling):
            behind = [*hypothesis.subwords, *[hypothesis.end] * hypothesis.finished]
            values = scores(model, behind[:-1]).gather(1, torch.tensor(behind)[:, None])
            assert hypothesis.mean == pytest.approx(float(values.mean()), abs=1e-4)


class TestDrawing:
    def test_subwords_are_drawn_in_proportion_to_their_probability(self, bart: Seq2Seq) -> None:
        count, best = 600, scores(bart, ())[0].topk(4)
        first = Counter(
            (*hypothesis.subwords, hypothesis.end)[0]
            for hypothesis in hypotheses(bart, count, Sampling(top_k=4, candidates=1, max_subwords=1))
        )
        assert set(first) <= set(best.indices.tolist())
        chances = dict(zip(best.indices.tolist(), best.values.softmax(0).tolist(), strict=True))
        for subword, chance in chances.items():
            assert abs(first[subword] / count - chance) < 4 * math.sqrt(chance / count)

    def test_the_most_probable_candidate_is_kept(self, bart: Seq2Seq, raised_end: Any) -> None:
        """The best of twenty candidates is better than one drawn at random."""
        raised_end(-1e4)
        one, many = (
            [hypothesis.mean for hypothesis in hypotheses(bart, 30, replace(SAMPLING, candidates=candidates))]
            for candidates in (1, 20)
        )
        assert min(many) > sum(one) / len(one)

    def test_beams_are_more_probable_than_independent_texts(self, bart: Seq2Seq, raised_end: Any) -> None:
        raised_end(-1e4)
        apart, beams = ([hypothesis.mean for hypothesis in hypotheses(bart, 30, one)] for one in (SAMPLING, BEAMS))
        assert sum(beams) > sum(apart)
        assert len({tuple(hypothesis.subwords) for hypothesis in hypotheses(bart, 30, BEAMS)}) > 15  # they still vary

    def test_beams_end_when_enough_texts_have_ended(self) -> None:
        beams = Beams(end=2, width=2)
        assert beams.advance([(0, 5, -1.0), (0, 2, -1.5), (0, 6, -3.0), (0, 7, -4.0)]) == [0, 0]
        assert [hypothesis.subwords for hypothesis in beams.running] == [[5], [6]]
        assert [hypothesis.mean for hypothesis in beams.ended] == [-1.5]
        assert beams.advance([(1, 8, -0.1), (0, 9, -2.5), (0, 2, -2.6), (1, 2, -2.7)]) == [1, 0]  # too late to end
        assert len(beams.ended) == 1
        assert not beams.are_done
        assert beams.advance([(1, 2, -0.3), (0, 4, -1.0), (0, 3, -2.0), (1, 3, -2.0)]) == [0, 0]
        assert beams.are_done
        assert [(hypothesis.subwords, hypothesis.finished) for hypothesis in beams.best()] == [
            ([5, 9], True),
            ([], True),
        ]
        assert beams.advance([(0, 7, -0.1)] * 4) == [0, 1]
        assert len(beams.ended) == 2

    def test_beams_with_one_choice_equal_greedy_texts(self, bart: Seq2Seq) -> None:
        one, several = (hypotheses(bart, 3, Sampling(1, count, 8, beams=count > 1)) for count in (1, 4))
        assert [hypothesis.subwords for hypothesis in one] == [hypothesis.subwords for hypothesis in several]

    def test_a_finished_candidate_precedes_a_more_probable_unfinished_one(self) -> None:
        finished, unfinished, worse = Hypothesis(2), Hypothesis(2), Hypothesis(2)
        for hypothesis, subwords in ((finished, [5, 6, 2]), (unfinished, [5, 6, 7]), (worse, [5, 2])):
            for subword in subwords:
                hypothesis.add(subword, -2.0 if hypothesis is finished else -1.0 if hypothesis is unfinished else -3.0)
        assert finished.subwords == [5, 6]
        assert finished.mean == -2.0
        assert max((unfinished, worse, finished), key=lambda hypothesis: hypothesis.rank) is finished
        assert max((unfinished, Hypothesis(2, [5], -9.0)), key=lambda hypothesis: hypothesis.rank) is unfinished

    def test_a_text_cut_at_the_limit_is_marked_unfinished(self, bart: Seq2Seq, raised_end: Any) -> None:
        raised_end(3.0)
        long, short = (hypotheses(bart, 60, Sampling(top_k=100, candidates=1, max_subwords=most)) for most in (12, 5))
        assert (
            {hypothesis.finished for hypothesis in short}
            == {hypothesis.finished for hypothesis in long}
            == {True, False}
        )
        for cut, whole in zip(short, long, strict=True):
            assert cut.finished == (whole.finished and len(whole.subwords) <= 5)
            assert cut.subwords == whole.subwords[: len(cut.subwords)]

    def test_unnamed_subwords_are_never_drawn(self, model: Seq2Seq) -> None:
        unnamed_ids = model.tokenization.unnamed_ids(model.network.get_output_embeddings().weight.shape[0])
        with torch.no_grad():
            bias = torch.zeros(model.network.get_output_embeddings().weight.shape[0])
            bias[unnamed_ids] = 1e4
        handle = model.network.get_output_embeddings().register_forward_hook(lambda module, inputs, out: out + bias)
        found = hypotheses(model, 20, Sampling(top_k=10_000, candidates=1, max_subwords=10))
        handle.remove()
        assert not set(unnamed_ids) & {subword for hypothesis in found for subword in hypothesis.subwords}


class TestWork:
    def test_ended_texts_are_not_computed_further(
        self, bart: Seq2Seq, raised_end: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        raised_end(3.0)
        calls = Calls(bart, monkeypatch)
        count = 3 * ROWS + 5
        found = hypotheses(bart, count, Sampling(top_k=100, candidates=1, max_subwords=30))
        lengths = [len(hypothesis.subwords) for hypothesis in found]
        alive = [sum(length > step for length in lengths) for step in range(30)]
        assert calls.shapes[: -(-count // SOURCES)] == [(SOURCES, 2)] * -(-count // SOURCES)
        assert calls.shapes[-(-count // SOURCES) :] == [(ROWS, 1)] * sum(-(-rows // ROWS) for rows in alive)
        assert alive[0] > ROWS > alive[-1]

    def test_each_source_is_read_once_for_all_candidates(self, bart: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = Calls(bart, monkeypatch)
        hypotheses(bart, SOURCES, Sampling(candidates=5, max_subwords=2))
        kinds = [len(list(same)) for _, same in itertools.groupby(calls.shapes)]
        assert kinds[0] == 1

    def test_long_texts_have_fewer_rows_per_pass(self, bart: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = Calls(bart, monkeypatch)
        hypotheses(bart, 1, Sampling(max_subwords=2000), ("saw",) * 40)
        assert max(rows for rows, _ in calls.shapes[1:]) < ROWS


@pytest.mark.parametrize("columns", [5, BLOCK * 12, BLOCK * 40 + 17])
def test_largest_equals_topk(columns: int) -> None:
    scores = torch.rand(7, columns, generator=torch.Generator().manual_seed(columns))
    scores[3, : columns // 2] = -torch.inf
    count = min(10, columns)
    values, ids = largest(scores, count)
    assert torch.equal(values, scores.topk(count).values)
    assert torch.equal(scores.gather(1, ids), values)
    assert all(len({*row}) == count for row in ids.tolist())
