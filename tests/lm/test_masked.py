from __future__ import annotations

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery.errors import MissingResourceError, SettingsError
from nersery.lm import load
from nersery.lm.cloze import OWN, Cloze, Drawing
from nersery.lm.gaps import Row
from nersery.lm.load import ModelSource
from nersery.lm.masked import ROWS, MaskedLM, fine_tuning_plan
from nersery.lm.pieces import collate
from nersery.lm.training import TrainingPlan
from nersery.lm.vocabulary import BEHIND_BORDER, OPENING
from nersery.progress import Progress
from nersery.rng import item_rng

KINDS = ["wordpiece", "bytes", "unigram"]
MARKS = ("##", "▁", "Ġ", "\ufffd", OWN, "[", "]", "<", ">")
TEXTS = [
    "Ada Lovelace wrote the first program in London .",
    "Grace won",
    "नमस्ते दुनिया राम दिल्ली में रहता है ।",
    "東京 は 日本 の 首都",
    "زار أحمد مدينةً",
    "we saw 👩‍👩‍👧 there \u200b today",
    "[MASK] [SEP] <b-per> ##s ▁a Ġ",
]


def opened(folder: Path | str) -> MaskedLM:
    return MaskedLM(ModelSource(str(folder)), "cpu", "fp32")


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> MaskedLM:
    return opened(tiny_masked_lms[request.param])


@pytest.fixture
def fresh(tiny_masked_lm: str) -> MaskedLM:
    """One that a test may train."""
    return opened(tiny_masked_lm)


def clozes_of_all_sorts() -> list[Cloze]:
    """Texts of many lengths, with one gap, several and all, and some longer than a window."""
    rng = random.Random(5)
    clozes = []
    for number in range(60):
        words = tuple(rng.choice(" ".join(TEXTS).split()) for _ in range(rng.randint(1, 30)))
        count = rng.choice([1, 1, 2, len(words)])
        gaps = tuple(sorted(rng.sample(range(len(words)), min(count, len(words)))))
        clozes.append(Cloze(words, gaps, ("name", "of", "a", "place") if number % 3 else ()))
    long = tuple(TEXTS[0].split() * 20)
    return [*clozes, Cloze(long, (3, 100, 150)), Cloze(("Ada", "x" * 500, "won"), (1, 2)), Cloze(("Ada",), ())]


def rngs(count: int, seed: int = 0) -> list[random.Random]:
    return [random.Random(f"{seed} {number}") for number in range(count)]


def plan(epochs: int = 2, batch_size: int = 4, learning_rate: float = 5e-3) -> TrainingPlan:
    return fine_tuning_plan(epochs, batch_size, learning_rate, "fp32")


def one_word(words: tuple[str, ...], rng: random.Random) -> Cloze:
    return Cloze(words, (rng.randrange(len(words)),))


def all_words(words: tuple[str, ...], rng: random.Random) -> Cloze:
    return Cloze(words, tuple(range(len(words))))


def weights(model: MaskedLM) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.network.parameters()])


class TestFilling:
    def is_clean(self, word: str) -> bool:
        return bool(word) and "".join(word.split()) == word and not any(mark in word for mark in MARKS)

    @pytest.mark.parametrize("by_piece", [False, True])
    @pytest.mark.parametrize("top_k", [1, 5, 10_000])
    def test_a_word_is_never_empty_and_has_no_mark(self, model: MaskedLM, by_piece: bool, top_k: int) -> None:
        clozes = clozes_of_all_sorts()
        filled = model.fill(clozes, rngs(len(clozes)), Drawing(top_k, by_piece=by_piece))
        assert [len(words) for words in filled] == [len(cloze.gaps) for cloze in clozes]
        assert not [word for words in filled for word in words if not self.is_clean(word)]

    def test_every_word_that_could_be_drawn_is_clean(self, model: MaskedLM) -> None:
        ((guesses,),) = model.guesses([Cloze(("Ada", "won"), (1,))], 10_000)
        assert len(guesses) == len(model.vocabulary.allowed(OPENING))
        assert not [word for word, _ in guesses if not self.is_clean(word)]

    def test_whole_words_are_one_opening_piece(self, model: MaskedLM) -> None:
        clozes = [Cloze(tuple(text.split()), (0,)) for text in TEXTS] * 20
        words = {word for (word,) in model.fill(clozes, rngs(len(clozes)), Drawing(10_000))}
        places = (OPENING, BEHIND_BORDER) if model.vocabulary.marks else (OPENING,)
        allowed = {model.vocabulary.texts[piece] for place in places for piece in model.vocabulary.allowed(place)}
        if model.folds_case:
            words = {word.lower() for word in words}
        assert words <= allowed
        assert len(words) > 10

    def test_pieces_keep_their_places(self, model: MaskedLM) -> None:
        """By piece, a word of an opener and two others gets an opener and two others."""
        vocabulary = model.vocabulary
        word = next(
            word
            for word in ("Londonada", "personers", "placeram", "famous", "Hopperon", "wonder")
            if len(vocabulary.places(model.encoder.pieces([word])[0])) > 1
        )
        places = vocabulary.places(model.encoder.pieces([word])[0])
        cloze = Cloze(("Ada", word), (1,))
        options = model._options([cloze], Drawing(10_000, by_piece=True))[0]
        assert [(1, number) for number in range(len(places))] == list(options)
        for (pieces, _), place in zip(options.values(), places, strict=True):
            assert sorted(pieces) == vocabulary.allowed(place)

    def test_a_word_of_too_many_pieces_is_filled_all_the_same(self, model: MaskedLM) -> None:
        cloze = Cloze(("Ada", "abcdefghik" * 60, "won"), (1,))
        for by_piece in (False, True):
            ((word,),) = model.fill([cloze], rngs(1), Drawing(3, by_piece=by_piece))
            assert 0 < len(word) < 500

    def test_the_generator_is_the_only_chance(self, model: MaskedLM) -> None:
        clozes = [Cloze(tuple(TEXTS[0].split()), (0, 1, 6))] * 20
        filled = model.fill(clozes, rngs(20), Drawing(20))
        torch.manual_seed(1)
        random.seed(1)
        assert filled == model.fill(clozes, rngs(20), Drawing(20))
        assert filled != model.fill(clozes, rngs(20, seed=1), Drawing(20))
        assert len(set(filled)) > 10

    def test_only_the_best_are_drawn(self, model: MaskedLM) -> None:
        cloze = Cloze(tuple(TEXTS[0].split()), (1, 6))
        (guesses,) = model.guesses([cloze], 3)
        filled = model.fill([cloze] * 200, rngs(200), Drawing(3))
        for number, best in enumerate(guesses):
            counts = Counter(words[number] for words in filled)
            assert counts.keys() == {word for word, _ in best}
            assert min(counts.values()) > 40, "each with the same chance"

    def test_weighted_draws_follow_the_probabilities(self, fresh: MaskedLM) -> None:
        words = tuple("Ada won".split())
        examples = [words] * 3 + [("Grace", "won")]
        fresh.fine_tune(examples, lambda words, rng: Cloze(words, (0,)), plan(60), rate=1.0)
        ((guesses,),) = fresh.guesses([Cloze(words, (0,))], 2)
        assert [word for word, _ in guesses] == ["Ada", "Grace"]
        share = guesses[0][1] / (guesses[0][1] + guesses[1][1])
        assert 0.6 < share < 0.9, "three of four"
        drawn = fresh.fill([Cloze(words, (0,))] * 500, rngs(500), Drawing(2, weighted=True))
        assert Counter(drawn)["Ada",] / 500 == pytest.approx(share, abs=0.06)

    def test_nothing_to_fill(self, model: MaskedLM) -> None:
        assert model.fill([], [], Drawing()) == []
        assert model.fill([Cloze(("Ada",), ())], rngs(1), Drawing()) == [()]
        assert model.guesses([Cloze(("Ada",), ())], 5) == [[]]
        assert model.log_probabilities([Cloze(("Ada",), ())]) == [[]]

    def test_tag_tokens_are_never_drawn(self, tiny_masked_lms: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_masked_lms[kind])
            before = model.guesses([Cloze(("Ada", "won"), (0,))], 10_000)
            model.add_tokens({f"{OWN}<b-per>": "person", f"{OWN}<i-per>": "person"})
            with torch.no_grad():  # they would be the best guesses of all
                model.network.get_output_embeddings().bias[-2:] = 1e3
            after = model.guesses([Cloze(("Ada", "won"), (0,))], 10_000)
            assert [sorted(word for word, _ in at) for at in before[0]] == [
                sorted(word for word, _ in at) for at in after[0]
            ]

    def test_capitals_come_from_the_old_word_where_the_model_knows_none(self, fresh: MaskedLM) -> None:
        assert fresh.folds_case
        words = ("ada", "Ada", "ADA", "A", "أحمد", "राम")
        filled = fresh.fill([Cloze(words, tuple(range(6)))] * 50, rngs(50), Drawing(10_000))
        shapes = [(low, title, up, one) for low, title, up, one, *_ in filled]
        assert all(low == low.lower() for low, *_ in shapes)
        assert all(title[0] == title[0].upper() and title[1:] == title[1:].lower() for _, title, *_ in shapes)
        assert all(up == up.upper() for _, _, up, _ in shapes)
        assert all(one[0] == one[0].upper() and one[1:] == one[1:].lower() for *_, one in shapes)
        assert all(word == word.lower() for *_, arabic, hindi in filled for word in (arabic, hindi))

    def test_a_cased_model_is_left_its_capitals(self, tiny_masked_lms: dict[str, Path]) -> None:
        model = opened(tiny_masked_lms["bytes"])
        assert not model.folds_case
        cloze = Cloze(("ADA", "won"), (0,))
        words = {word for (word,) in model.fill([cloze] * 300, rngs(300), Drawing(10_000))}
        assert {"Lovelace", "program"} <= words

    def test_a_model_that_knows_no_latin_letter_folds_no_case(self, fresh: MaskedLM) -> None:
        fresh.encoder.tokenizer.unk_token = fresh.encoder.tokenizer.convert_ids_to_tokens(
            fresh.encoder.pieces(["paris"])[0][0]
        )
        assert not fresh.folds_case


class TestGuesses:
    def test_the_best_come_first_and_their_chances_add_up(self, model: MaskedLM) -> None:
        clozes = clozes_of_all_sorts()[:10]
        for cloze, gaps in zip(clozes, model.guesses(clozes, 10_000), strict=True):
            assert len(gaps) == len(cloze.gaps)
            for guesses in gaps:
                chances = [chance for _, chance in guesses]
                assert chances == sorted(chances, reverse=True)
                assert sum(chances) == pytest.approx(1.0, abs=1e-4)

    def test_there_are_as_many_as_asked_for(self, model: MaskedLM) -> None:
        clozes = [Cloze(tuple(TEXTS[0].split()), (1, 6))]
        (five,), (two,) = model.guesses(clozes, 5), model.guesses(clozes, 2)
        assert [len(guesses) for guesses in five] == [5, 5]
        assert [guesses[:2] for guesses in five] == two

    def test_a_gap_is_empty_whatever_stood_there(self, model: MaskedLM) -> None:
        """Apart from a border that is a piece of its own: there the gap lies behind it."""
        words = ["we", "oslo", "place", "person", "won", "today"]
        bare = [word for word in words if not model.vocabulary.border(model.gaps.pieces.pieces([word])[0])]
        first, *others = model.guesses([Cloze((word, "won", "there"), (0,)) for word in bare], 5)
        assert others
        assert all(other == first for other in others)

    def test_the_condition_is_seen(self, model: MaskedLM) -> None:
        plain, under = model.guesses([Cloze(("Ada", "won"), (0,)), Cloze(("Ada", "won"), (0,), ("place",))], 5)
        assert plain != under

    def test_other_words_are_seen_but_not_those_behind_a_window(self, model: MaskedLM) -> None:
        words = ["Ada"] * 200
        far, near = list(words), list(words)
        far[199], near[1] = "Oslo", "Oslo"
        here, beyond, beside = model.guesses([Cloze(tuple(text), (0,)) for text in (words, far, near)], 5)
        assert here == beyond != beside


class TestLogProbabilities:
    def naive(self, model: MaskedLM, cloze: Cloze) -> list[float]:
        """What transformers says when all pieces of all gaps are hidden at once."""
        tokenizer = model.encoder.tokenizer
        pieces = model.encoder.pieces(cloze.words)
        ids = [tokenizer.cls_token_id]
        if cloze.condition:
            ids += [piece for word in model.encoder.pieces(cloze.condition) for piece in word]
            ids.append(tokenizer.sep_token_id)
        places: list[list[tuple[int, int]]] = []
        for number, word in enumerate(pieces):
            if number in cloze.gaps:
                places.append([(len(ids) + offset, piece) for offset, piece in enumerate(word)])
            ids += [tokenizer.mask_token_id] * len(word) if number in cloze.gaps else word
        ids.append(tokenizer.sep_token_id)
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        return [sum(float(logits[position, piece]) for position, piece in word) for word in places]

    def test_they_match_transformers(self, model: MaskedLM) -> None:
        clozes = [Cloze(tuple(text.split()), gaps) for text in TEXTS[:4] for gaps in ((0,), (1,), (0, 1))]
        clozes += [Cloze(tuple(TEXTS[0].split()), (1, 2, 6), ("name", "of", "a", "place"))]
        for cloze, found in zip(clozes, model.log_probabilities(clozes), strict=True):
            assert found == pytest.approx(self.naive(model, cloze), abs=1e-4)

    def test_a_word_has_the_sum_over_its_pieces(self, model: MaskedLM) -> None:
        word = next(w for w in ("दिल्ली", "Hopperon", "famous") if len(model.encoder.pieces([w])[0]) > 1)
        cloze = Cloze(("Ada", word, "won"), (1,))
        (row,) = model.gaps.rows(cloze)
        logits = model._logits([row]).detach().log_softmax(-1)
        parts = [float(logits[number, piece]) for number, piece in enumerate(row.targets)]
        assert len(parts) > 1
        assert model.log_probabilities([cloze])[0] == pytest.approx([sum(parts)], abs=1e-4)

    def test_no_gap_is_seen_from_a_neighbouring_window(self, model: MaskedLM) -> None:
        """Whatever stands in the other gaps changes nothing, as with `guesses`."""
        names = ("Ada", "Grace", "Oslo", "Paris", "Lima", "won", "there", "today")
        pieces = dict(zip(names, model.encoder.pieces(names), strict=True))
        one, two = next(
            (a, b)
            for a, b in itertools.combinations(names, 2)
            if len(pieces[a]) == len(pieces[b]) and model._template(a, Drawing()) == model._template(b, Drawing())
        )
        gaps = tuple(range(0, 200, 3))
        long = [one, "won", "there"] * 67
        other = [two if number in gaps[1:] else word for number, word in enumerate(long)]
        first, second = model.log_probabilities([Cloze(tuple(words), gaps) for words in (long, other)])
        assert first[0] == second[0]
        ours, theirs = model.guesses([Cloze(tuple(words), gaps) for words in (long, other)], 1)
        assert [[chance for _, chance in at] for at in ours] == [[chance for _, chance in at] for at in theirs]

    def test_what_was_learnt_is_more_probable(self, fresh: MaskedLM) -> None:
        learnt, other = Cloze(("Ada", "won"), (0,)), Cloze(("Oslo", "won"), (0,))
        fresh.fine_tune([learnt.words] * 4, lambda words, rng: Cloze(words, (0,)), plan(30), rate=1.0)
        (high,), (low,) = fresh.log_probabilities([learnt, other])
        assert low < -2 < high < 0


class TestSameBytes:
    """A text gets the same numbers to the last bit, whatever stands beside it."""

    def test_guesses_and_log_probabilities(self, model: MaskedLM) -> None:
        clozes = clozes_of_all_sorts()
        assert len(clozes) > 3 * ROWS
        together = model.guesses(clozes, 20), model.log_probabilities(clozes)
        alone = [model.guesses([c], 20)[0] for c in clozes], [model.log_probabilities([c])[0] for c in clozes]
        assert together == alone
        backwards = model.guesses(clozes[::-1], 20)[::-1], model.log_probabilities(clozes[::-1])[::-1]
        assert together == backwards

    @pytest.mark.parametrize("count", [1, 2, 3, 5, 15, 16, 17])
    def test_any_number_of_texts_of_one_length(self, model: MaskedLM, count: int) -> None:
        clozes = [Cloze(("Ada", word, "won"), (0,)) for word in ("grace", "oslo", "lima")] * 10
        assert model.log_probabilities(clozes[:count]) == model.log_probabilities(clozes)[:count]

    def test_tokens_that_are_added_later_change_nothing(self, tiny_masked_lms: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_masked_lms[kind])
            clozes = clozes_of_all_sorts()
            before = model.guesses(clozes, 20)
            model.add_tokens({f"{OWN}<b-{number}>": "person" for number in range(7)})
            assert model.guesses(clozes, 20) == before


class TestTagTokens:
    @pytest.mark.parametrize("kind", KINDS)
    def test_an_embedding_starts_as_the_mean_of_its_description(
        self, kind: str, tiny_masked_lms: dict[str, Path]
    ) -> None:
        model = opened(tiny_masked_lms[kind])
        model.add_tokens({f"{OWN}<x>": "named person", f"{OWN}<y>": "दिल्ली"})
        for token, text in ((f"{OWN}<x>", "named person"), (f"{OWN}<y>", "दिल्ली")):
            pieces = [piece for word in model.encoder.pieces(text.split()) for piece in word]
            (number,) = model.encoder.own[token]
            for layer in (model.network.get_input_embeddings(), model.network.get_output_embeddings()):
                assert torch.allclose(layer.weight[number], layer.weight[pieces].mean(0))

    def test_a_token_is_added_once(self, fresh: MaskedLM) -> None:
        size = fresh.network.get_input_embeddings().num_embeddings
        for _ in range(2):
            fresh.add_tokens({f"{OWN}<x>": "person", f"{OWN}<y>": "place"})
        fresh.add_tokens({})
        assert fresh.network.get_input_embeddings().num_embeddings == size + 2
        assert len(set(fresh.encoder.own.values())) == 2

    def test_a_description_without_words_still_makes_a_token(self, fresh: MaskedLM) -> None:
        fresh.add_tokens({f"{OWN}<x>": " "})
        (number,) = fresh.encoder.own[f"{OWN}<x>"]
        assert torch.isfinite(fresh.network.get_input_embeddings().weight[number]).all()

    def test_input_and_output_stay_tied(self, fresh: MaskedLM) -> None:
        fresh.add_tokens({f"{OWN}<x>": "person"})
        assert fresh.network.get_input_embeddings().weight is fresh.network.get_output_embeddings().weight

    def test_global_chance_is_left_alone(self, fresh: MaskedLM) -> None:
        before = torch.get_rng_state()
        fresh.add_tokens({f"{OWN}<x>": "person"})
        assert torch.equal(before, torch.get_rng_state())

    def test_they_are_trained(self, fresh: MaskedLM) -> None:
        token = f"{OWN}<x>"
        fresh.add_tokens({token: "person"})
        (number,) = fresh.encoder.own[token]
        before = fresh.network.get_input_embeddings().weight[number].clone()
        fresh.fine_tune([(token, "Ada", token)], lambda words, rng: Cloze(words, (1,)), plan(2), rate=1.0)
        assert not torch.equal(before, fresh.network.get_input_embeddings().weight[number])


class TestFineTuning:
    EXAMPLES = tuple(tuple(text.split()) for text in TEXTS[:4])

    def rows_seen(self, model: MaskedLM, monkeypatch: pytest.MonkeyPatch, epochs: int, seed: int) -> list[Row]:
        """The rows of a training with one step an epoch, in order."""
        seen: list[Row] = []
        loss = model._loss

        def watched(rows: Sequence[Row]) -> torch.Tensor:
            seen.extend(sorted(rows, key=lambda row: row.window.firsts))
            return loss(rows)

        monkeypatch.setattr(model, "_loss", watched)
        model.fine_tune(self.EXAMPLES, all_words, plan(epochs, len(self.EXAMPLES)), rate=0.5, seed=seed)
        return seen

    def test_masks_differ_between_epochs_and_are_the_same_for_the_same_seed(
        self, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, again, other = (self.rows_seen(opened(tiny_masked_lm), monkeypatch, 3, seed) for seed in (1, 1, 2))
        assert first == again != other
        size = len(first) // 3
        epochs = [first[start : start + size] for start in range(0, len(first), size)]
        assert len(epochs) == 3
        assert all(a != b for a, b in itertools.combinations(epochs, 2))

    def test_the_gaps_themselves_may_be_drawn_anew(self, fresh: MaskedLM) -> None:
        drawn: list[tuple[int, ...]] = []

        def cloze(words: tuple[str, ...], rng: random.Random) -> Cloze:
            made = one_word(words, rng)
            drawn.append(made.gaps)
            return made

        fresh.fine_tune([tuple(TEXTS[0].split())], cloze, plan(20), rate=1.0)
        assert len(drawn) == 20
        assert len(set(drawn)) > 4

    def test_the_loss_counts_hidden_pieces_only(self, model: MaskedLM) -> None:
        clozes = [Cloze(tuple(text.split()), (0, 1)) for text in TEXTS[:3]]
        rows = [row for number, c in enumerate(clozes) for row in model.gaps.hidden(c, 0.7, random.Random(number))]
        batch = collate([row.window for row in rows], model.encoder.pad)
        labels = torch.full_like(batch.input_ids, -100)
        for number, row in enumerate(rows):
            labels[number, list(row.positions)] = torch.tensor(row.targets)
        expected = model.network(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels).loss
        assert model._loss(rows).item() == pytest.approx(expected.item(), abs=1e-5)
        assert model._mean_loss(rows) == pytest.approx(expected.item(), abs=1e-5)

    def test_same_seed_same_weights_other_seed_others(self, tiny_masked_lm: str) -> None:
        found = []
        for seed in (1, 1, 2):
            torch.manual_seed(len(found))
            model = opened(tiny_masked_lm)
            model.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, seed=seed)
            found.append(weights(model))
        assert torch.equal(found[0], found[1])
        assert not torch.equal(found[0], found[2])

    def test_global_chance_is_left_alone(self, fresh: MaskedLM) -> None:
        before, plain = torch.get_rng_state(), random.getstate()
        fresh.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, dev=self.EXAMPLES)
        assert torch.equal(before, torch.get_rng_state())
        assert random.getstate() == plain

    def test_dev_picks_the_best_epoch(self, fresh: MaskedLM) -> None:
        """Learning "Ada won" first helps with, and then harms "Oslo won": the best epoch is not the last."""
        train, dev = [("Ada", "won")] * 4 + [("Oslo", "won")], [("Oslo", "won")]
        cloze = lambda words, rng: Cloze(words, (0,))  # noqa: E731
        history = fresh.fine_tune(train, cloze, plan(40, 5, 1e-2), rate=1.0, dev=dev, seed=3)
        assert history.best is not None
        scores = [evaluation.score for evaluation in history.evaluations]
        assert len(scores) == 40
        assert history.best.score == max(scores) > scores[-1]
        rows = fresh.gaps.hidden(cloze(dev[0], item_rng(3, "dev", 0, 0)), 1.0, item_rng(3, "dev", 0, 0))
        assert -fresh._mean_loss(rows) == pytest.approx(history.best.score, abs=1e-6)

    def test_without_dev_the_last_epoch_stays(self, fresh: MaskedLM) -> None:
        history = fresh.fine_tune(self.EXAMPLES, one_word, plan(3), rate=1.0)
        assert (history.best, history.evaluations, history.steps) == (None, (), 3)

    def test_dev_is_asked_the_same_each_time(self, fresh: MaskedLM) -> None:
        calls: list[tuple[str, ...]] = []

        def cloze(words: tuple[str, ...], rng: random.Random) -> Cloze:
            calls.append(words)
            return one_word(words, rng)

        dev = [("राम", "won")]
        fresh.fine_tune(self.EXAMPLES, cloze, plan(5), rate=1.0, dev=dev)
        assert calls.count(dev[0]) == 1

    def test_texts_without_gaps_harm_nothing(self, fresh: MaskedLM) -> None:
        before = weights(fresh)
        fresh.fine_tune(self.EXAMPLES, lambda words, rng: Cloze(words, ()), plan(), rate=1.0, dev=self.EXAMPLES)
        assert torch.equal(weights(fresh), before)

    def test_a_long_text_is_learnt_to_its_end(self, fresh: MaskedLM) -> None:
        long = ("Ada", "won") * 60 + ("Oslo", "there")
        fresh.fine_tune([long], lambda words, rng: Cloze(words, (120,)), plan(30, 1, 1e-2), rate=1.0)
        ((guesses,),) = fresh.guesses([Cloze(long, (120,))], 1)
        assert guesses[0][0] == "Oslo"

    def test_progress_counts_the_steps(self, fresh: MaskedLM) -> None:
        with Progress("training", quiet=True) as progress:
            fresh.fine_tune(self.EXAMPLES, one_word, plan(3, 2), rate=1.0, progress=progress)
            fresh.fine_tune(self.EXAMPLES, one_word, plan(1, 4), rate=1.0, progress=progress)
        assert progress.total == progress.done == 7

    def test_a_finished_training_is_taken_from_its_folder(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        first, second = opened(tiny_masked_lm), opened(tiny_masked_lm)
        first.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, folder=tmp_path / "state")
        calls: list[Any] = []
        second._loss = lambda rows: calls.append(rows)  # type: ignore[assignment, method-assign]
        second.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, folder=tmp_path / "state")
        assert torch.equal(weights(first), weights(second))
        assert not calls

    @pytest.mark.parametrize(("number", "name"), [(0, "epochs"), (1, "batch_size"), (2, "learning_rate")])
    @pytest.mark.parametrize("value", [0, -1, float("nan")])
    def test_a_plan_needs_numbers_above_zero(self, number: int, name: str, value: float) -> None:
        if number < 2 and value != value:
            pytest.skip("is a whole number")
        settings: list[Any] = [1, 1, 1e-3]
        settings[number] = value
        with pytest.raises(SettingsError, match=f"{name} must be above 0"):
            fine_tuning_plan(*settings, "fp32")


SMALL: dict[str, Any] = {
    "vocab_size": 600,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 70,
}
XLM: dict[str, Any] = {"vocab_size": 600, "emb_dim": 32, "n_layers": 1, "n_heads": 2, "pad_index": 0}
MODERN_BERT_IDS = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Bert": SMALL,
    "XLMRoberta": {**SMALL, "pad_token_id": 1},
    "DistilBert": {"vocab_size": 600, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64},
    "Albert": {**SMALL, "embedding_size": 16},
    "Electra": {**SMALL, "embedding_size": 16},
    "DebertaV2": SMALL,
    "MPNet": SMALL,
    "ModernBert": {**SMALL, "pad_token_id": 0, **dict.fromkeys(MODERN_BERT_IDS, 2)},
    "XLM": {**XLM, "max_position_embeddings": 70},
}


@pytest.mark.parametrize("name", ARCHITECTURES)
class TestArchitectures:
    """What the tests above do with BERT holds for its kin."""

    @pytest.fixture
    def kin(self, name: str, tiny_masked_lm: str, tmp_path: Path) -> MaskedLM:
        import transformers

        config = getattr(transformers, f"{name}Config")(**ARCHITECTURES[name])
        torch.manual_seed(0)
        transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path)
        for path in Path(tiny_masked_lm).glob("token*.json"):
            shutil.copy(path, tmp_path)
        return opened(tmp_path)

    def test_the_output_layer_gives_the_same_where_it_sees_the_masks_alone(self, kin: MaskedLM, name: str) -> None:
        clozes = [Cloze(tuple(text.split()), (0, 1)) for text in TEXTS[:3]]
        rows = [row for cloze in clozes for row in kin.gaps.rows(cloze)]
        batch = collate([row.window for row in rows], kin.encoder.pad)
        with torch.no_grad():
            seen: list[int] = []
            output = kin.network.get_output_embeddings()
            handle = output.register_forward_hook(lambda layer, inputs, made: seen.append(made.shape[:-1].numel()))
            found = kin._logits(rows)
            handle.remove()
            whole = kin.network(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
        expected = torch.cat([whole[number, list(row.positions)] for number, row in enumerate(rows)])
        assert torch.allclose(found, expected, atol=1e-5)
        assert seen == [len(expected)], "the output layer was run on other positions too"

    def test_it_is_given_tokens_trained_and_asked(self, kin: MaskedLM, name: str) -> None:
        token = f"{OWN}<x>"
        kin.add_tokens({token: "person name"})
        (number,) = kin.encoder.own[token]
        pieces = [piece for word in kin.encoder.pieces(["person", "name"]) for piece in word]
        vectors = kin.network.get_input_embeddings().weight
        assert torch.allclose(vectors[number], vectors[pieces].mean(0))
        examples = [(token, word, token, "won") for word in ("Ada", "Grace")]
        kin.fine_tune(examples, lambda words, rng: Cloze(words, (1,)), plan(2), rate=1.0)
        ((guesses,),) = kin.guesses([Cloze(examples[0], (1,))], 5)
        assert len(guesses) == 5

    def test_it_reads_long_texts(self, kin: MaskedLM, name: str) -> None:
        long = tuple(TEXTS[0].split() * 30)
        assert len(kin.fill([Cloze(long, (0, 250))], rngs(1), Drawing())[0]) == 2


class TestRefusals:
    def test_a_model_without_a_mask_token(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        from transformers import AutoTokenizer

        folder = shutil.copytree(tiny_masked_lm, tmp_path / "plain")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.mask_token = None
        tokenizer.save_pretrained(folder)
        with pytest.raises(MissingResourceError, match=r"plain\" has no mask token.*e\.g\. bert-base-cased, xlm-rob"):
            opened(folder)

    def test_an_encoder_without_the_head(self, tiny_model: str) -> None:
        with pytest.raises(MissingResourceError, match=r"without the head of Auto.*e\.g\. cls\.pred.*trained"):
            opened(tiny_model)

    def test_a_model_with_half_its_weights(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = shutil.copytree(tiny_masked_lm, tmp_path / "half")
        tensors = load_file(folder / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if "layer.1.attention" not in name}
        assert len(kept) < len(tensors)
        save_file(kept, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(MissingResourceError, match="are not those of its configuration: 10 are missing"):
            opened(folder)

    def test_a_model_that_cannot_be_given_tokens(self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fresh.network, "get_output_embeddings", lambda: None)
        with pytest.raises(SettingsError, match="cannot be given new tokens"):
            fresh.add_tokens({f"{OWN}<x>": "person"})

    def test_weights_that_are_no_numbers(self, fresh: MaskedLM) -> None:
        with torch.no_grad():
            next(fresh.network.parameters()).fill_(torch.nan)
        cloze = Cloze(("Ada", "won"), (0,))
        with pytest.raises(SettingsError, match=r"values that are no numbers.*use a lower learning_rate"):
            fresh.fill([cloze], [random.Random(0)], Drawing(5))
        with pytest.raises(SettingsError, match="values that are no numbers"):
            fresh.guesses([cloze], 5)

    def test_a_condition_that_leaves_no_room(self, fresh: MaskedLM) -> None:
        fresh.check_condition(["name", "of", "a", "place"])
        with pytest.raises(SettingsError, match="Shorten it"):
            fresh.check_condition(["place"] * 50)


class TestMisfit:
    def test_another_language_is_noticed(self, fresh: MaskedLM, capsys: pytest.CaptureFixture[str]) -> None:
        load.warn.cache_clear()
        fresh.warn_of_misfit(["Ada", "won", "the", "program"])
        assert capsys.readouterr().err == ""
        fresh.warn_of_misfit(["Привет", "мир"])
        assert "was made for other languages than this text" in capsys.readouterr().err

    def test_the_bundled_model_says_that_it_knows_english_alone(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        load.warn.cache_clear()
        fresh.warn_of_misfit(["won"], ["de"])
        monkeypatch.setattr(fresh, "source", ModelSource("bundled"))
        fresh.warn_of_misfit(["won"], ["en", "EN-gb", ""])
        assert capsys.readouterr().err == ""
        fresh.warn_of_misfit(["won"], ["nl", "en", "de"])
        assert "the bundled model knows English alone, and there is text in de, nl" in capsys.readouterr().err

    def test_a_model_that_leaves_out_accents_is_noticed(
        self, tiny_masked_lms: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["राम", "दिल्ली", "में", *"the first program in London".split()]
        load.warn.cache_clear()
        uncased = opened(tiny_masked_lms["wordpiece"])
        uncased.warn_of_misfit([*"the first program in London".split() * 10, "Ádá"])
        assert capsys.readouterr().err == ""
        uncased.warn_of_misfit(words)
        assert "leaves out accents and vowel signs, which 25 % of the words have" in capsys.readouterr().err

    def test_capitals_are_spoken_of_for_the_bundled_model(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        load.warn.cache_clear()
        monkeypatch.setattr(fresh, "source", ModelSource("bundled"))
        fresh.warn_of_misfit(["won"])
        assert capsys.readouterr().err == ""
        fresh.warn_of_misfit(["Ada", "won"])
        assert "lower case only" in capsys.readouterr().err
