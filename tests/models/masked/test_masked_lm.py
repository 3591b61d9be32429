"""Words, guesses and probabilities of a masked language model."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from unicodedata import normalize

import pytest
import torch

from nersery.core.text.scripts import script_of
from nersery.models.masked.gap_masks import GapMasks
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.masked.masked_lm import MaskedLM, logits_at_masks
from nersery.models.passes import WINDOWS
from nersery.models.subwords.subword_vocabulary import BEHIND_BORDER, INSIDE, JOINED, OPENING, SubwordVocabulary
from nersery.models.tokens import TOKEN_PREFIX
from tests.models.masked_texts import KINDS, MARKS, TEXTS, masked_inputs_of_all_sorts, opened, plan, rngs


class TestFilling:
    def is_clean(self, word: str) -> bool:
        return bool(word) and "".join(word.split()) == word and not any(mark in word for mark in MARKS)

    @pytest.mark.parametrize("by_subword", [False, True])
    @pytest.mark.parametrize("top_k", [1, 5, 10_000])
    def test_filled_words_are_never_empty_and_have_no_marks(
        self, model: MaskedLM, by_subword: bool, top_k: int
    ) -> None:
        masked_inputs = masked_inputs_of_all_sorts()
        filled = model.fill(masked_inputs, rngs(len(masked_inputs)), Drawing(top_k, by_subword=by_subword))
        assert [len(words) for words in filled] == [len(masked_input.gaps) for masked_input in masked_inputs]
        words = [word.strip("[]") for words in filled for word in words]  # brackets of [MASK] are kept
        assert not [word for word in words if not self.is_clean(word)]

    def test_every_possible_word_is_clean(self, model: MaskedLM) -> None:
        ((guesses,),) = model.guesses([MaskedInput(("Ada", "won"), (1,))], 10_000)
        assert len(guesses) == len(model.vocabulary.allowed(OPENING, ("LATIN",)))
        assert not [word for word, _ in guesses if not self.is_clean(word)]

    def test_whole_words_consist_of_one_opening_subword(self, model: MaskedLM) -> None:
        masked_inputs = [MaskedInput(tuple(text.split()), (0,)) for text in TEXTS] * 20
        filled = model.fill(masked_inputs, rngs(len(masked_inputs)), Drawing(10_000))
        words = {word.strip("[]") for (word,) in filled}  # brackets of [MASK] are kept
        places = (OPENING, JOINED, BEHIND_BORDER) if model.vocabulary.marks else (OPENING, JOINED)
        allowed = {model.vocabulary.texts[subword] for place in places for subword in model.vocabulary.allowed(place)}
        if model.folds_case:
            words = {word.lower() for word in words}
        assert words <= allowed
        assert len(words) > 10

    def test_subwords_keep_their_places(self, model: MaskedLM) -> None:
        """By subword, a word of an opener and two more subwords becomes an opener and two more subwords."""
        vocabulary = model.vocabulary
        word = next(
            word
            for word in ("Londonada", "personers", "placeram", "famous", "Hopperon", "wonder")
            if len(vocabulary.places(model.encoder.subwords([word])[0])) > 1
        )
        places = vocabulary.places(model.encoder.subwords([word])[0])
        masked_input = MaskedInput(("Ada", word), (1,))
        options = model._options([masked_input], Drawing(10_000, by_subword=True))[0]
        assert [(1, number) for number in range(len(places))] == list(options)
        for (subwords, _), place in zip(options.values(), places, strict=True):
            capital = word[0].isupper() if place == OPENING and not model.folds_case else None
            scripts = ("LATIN",) if place == OPENING else ("", "LATIN")
            assert sorted(subwords) == vocabulary.allowed(place, scripts, capital=capital or None)

    @pytest.mark.parametrize("by_subword", [False, True])
    def test_a_word_is_replaced_by_one_in_its_script(self, model: MaskedLM, by_subword: bool) -> None:
        words = ("Ada", "राम", "أحمد", "1843", "🎉", "won")
        options = model._options([MaskedInput(words, tuple(range(5)))], Drawing(10_000, by_subword=by_subword))[0]
        found = [set[str]() for _ in words]
        for (gap, _), (subwords, _) in options.items():
            found[gap] |= {model.vocabulary.scripts[subword] for subword in subwords}
        latin, _, _, number, emoji, _ = found
        assert latin - {""} == {"LATIN"}
        assert number == emoji
        assert number - {""} == {"LATIN"}, "they have no script, and may become a word of the sentence's"

    def test_a_word_with_letters_does_not_become_a_number(self, tiny_masked_lms: dict[str, Path]) -> None:
        """A person must not be called 11; a number may become one."""
        model = opened(tiny_masked_lms["bytes"])
        masked_input = MaskedInput(("दिल्ली", "1843", "won"), (0, 1))
        name, number = ({word for word, _ in at} for at in model.guesses([masked_input], 10_000)[0])
        assert not any(word.isdecimal() for word in name)
        assert any(word.isdecimal() for word in number)
        (signs, _) = model.guesses([masked_input], 10_000, punctuation=True)[0]
        assert any(word.isdecimal() for word, _ in signs), "a gap of a template may hold a number"

    def test_a_number_gets_digits_of_the_script_of_the_text(self, tiny_masked_lms: dict[str, Path]) -> None:
        """In Thai, 8 used to become a Bengali digit."""
        model = opened(tiny_masked_lms["bytes"])
        _, [(_, scripts, *_)] = model.gap_masks.template("1843", ("THAI", False), Drawing())
        assert scripts == ("", "THAI DIGIT", "THAI")

    def test_a_word_partly_in_the_script_of_the_text_becomes_one_in_it(self, tiny_masked_lms: dict[str, Path]) -> None:
        """Such as a Latin name with a Korean particle."""
        model = opened(tiny_masked_lms["unigram"])
        words = ("Adaदिल्ली", "दिल्ली", "राम", "Ada", "दिल्ली")
        (mixed, latin) = model.guesses([MaskedInput(words, (0, 3))], 10_000)[0]
        assert {script_of(word) for word, _ in mixed} - {""} == {"DEVANAGARI"}
        assert {script_of(word) for word, _ in latin} - {""} == {"LATIN"}

    def test_new_words_have_the_unicode_form_of_the_text(self, model: MaskedLM) -> None:
        """Otherwise, one word would have two forms in an augmented corpus, and models would read them as two words."""
        forms = [normalize(form, "Adé") for form in ("NFC", "NFD")]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SubwordVocabulary, "word", lambda *_: "é")
            filled = [model.fill([MaskedInput((word, "won"), (1,))], rngs(1), Drawing())[0][0] for word in forms]
        assert filled == [word[2:] for word in forms]

    def test_attached_punctuation_is_kept(self, model: MaskedLM) -> None:
        words = ("(Ada", "won,", "Mr.", "Hopper)", "it.")
        ((a, b, c, d, e),) = model.fill([MaskedInput(words, tuple(range(5)))], rngs(1), Drawing(10_000))
        assert (a[0], b[-1], d[-1], e[-1]) == ("(", ",", ")", ".")
        assert c[-1] != ".", "an abbreviation gives way as a whole"
        assert all(self.is_clean(word.strip("(),.")) for word in (a, b, c, d, e))

    def test_the_new_word_gets_the_endings_of_the_old_one(
        self, model: MaskedLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        end = model.vocabulary.allowed(INSIDE)[-1]
        monkeypatch.setattr(GapMasks, "ending", lambda own, word: (end,) if word == "won" else ())
        masked_input = MaskedInput(("Ada", "won", "there"), (1,))
        ((word,),) = model.fill([masked_input], rngs(1), Drawing(1))
        ((guesses,),) = model.guesses([masked_input], 10)
        text = model.vocabulary.texts[end]
        assert word == guesses[0][0]
        assert all(guess.endswith(text) and guess != text for guess, _ in guesses)

    def test_text_without_capitals_gets_none(self, tiny_masked_lms: dict[str, Path]) -> None:
        model = opened(tiny_masked_lms["bytes"])
        for text, lower in (("ada won in london", True), ("Ada won in london", False)):
            ((guesses,),) = model.guesses([MaskedInput(tuple(text.split()), (3,))], 10_000)
            assert all(word == word.lower() for word, _ in guesses) == lower

    @pytest.mark.parametrize(
        ("text", "names", "is_written"),
        [
            ("ADA WON IN LONDON", {0, 3}, True),
            ("ADA Won IN LONDON", {0, 3}, False),
            ("NATO , EU LONDON", {0, 2, 3}, False),
            ("12 A LONDON", {2}, False),
        ],
    )
    def test_a_headline_in_capitals_stays_in_capitals(
        self, tiny_masked_lms: dict[str, Path], text: str, names: set[int], is_written: bool
    ) -> None:
        """Otherwise *MICROSOFT BUYS ACTIVISION* becomes *Facebook BUYS ACTIVISION*; acronyms are not a headline."""
        model = opened(tiny_masked_lms["bytes"])
        words = tuple(text.split())
        masked_input = MaskedInput(words, (len(words) - 1,), names=frozenset(names))
        ((guesses,),) = model.guesses([masked_input], 10_000)
        assert all(word == word.upper() for word, _ in guesses) == is_written
        filled = model.fill([masked_input] * 20, rngs(20), Drawing(10_000))
        assert all(word == word.upper() for (word,) in filled) == is_written

    @pytest.mark.parametrize("by_subword", [False, True])
    def test_a_capitalized_word_becomes_another_capitalized_word(
        self, tiny_masked_lms: dict[str, Path], by_subword: bool
    ) -> None:
        """This holds for names and for the first word of a sentence."""
        model = opened(tiny_masked_lms["bytes"])
        words = ("Ada", "won", "in", '"London"')
        filled = model.fill([MaskedInput(words, (0, 1, 3))] * 50, rngs(50), Drawing(10_000, by_subword=by_subword))
        first, second, last = (set(column) for column in zip(*filled, strict=True))
        assert all(word[0].isupper() for word in first | {word.strip('"') for word in last})
        assert any(word[0].islower() for word in second)

    def test_a_word_that_the_tokenizer_splits_is_not_drawn_by_subword(self, model: MaskedLM) -> None:
        """Its parts would be joined: tokenizers treat the Persian half-space or a space within a word as a border."""
        words = ("Ada", "Ada\u200cwon", "Ada won")
        options = model._options([MaskedInput(words, (1, 2))], Drawing(5, by_subword=True))[0]
        assert [*options] == [(1, 0), (2, 0)]

    def test_fills_a_word_of_too_many_subwords(self, model: MaskedLM) -> None:
        masked_input = MaskedInput(("Ada", "abcdefghik" * 60, "won"), (1,))
        for by_subword in (False, True):
            ((word,),) = model.fill([masked_input], rngs(1), Drawing(3, by_subword=by_subword))
            assert 0 < len(word) < 500

    def test_the_generator_is_the_only_source_of_randomness(self, model: MaskedLM) -> None:
        masked_inputs = [MaskedInput(tuple(TEXTS[0].split()), (0, 1, 6))] * 20
        filled = model.fill(masked_inputs, rngs(20), Drawing(20))
        torch.manual_seed(1)
        random.seed(1)
        assert filled == model.fill(masked_inputs, rngs(20), Drawing(20))
        assert filled != model.fill(masked_inputs, rngs(20, seed=1), Drawing(20))
        assert len(set(filled)) > 10

    def test_draws_only_the_best_words(self, model: MaskedLM) -> None:
        masked_input = MaskedInput(tuple(TEXTS[0].split()), (1, 6))
        (guesses,) = model.guesses([masked_input], 3)
        filled = model.fill([masked_input] * 200, rngs(200), Drawing(3))
        for number, best in enumerate(guesses):
            counts = Counter(words[number] for words in filled)
            assert counts.keys() == {word for word, _ in best}
            assert min(counts.values()) > 40, "each with the same chance"

    def test_weighted_draws_follow_the_probabilities(self, fresh: MaskedLM) -> None:
        words = tuple("Ada won".split())
        examples = [words] * 3 + [("Grace", "won")]
        fresh.fine_tune(examples, lambda words, rng: MaskedInput(words, (0,)), plan(60), rate=1.0)
        ((guesses,),) = fresh.guesses([MaskedInput(words, (0,))], 2)
        assert [word for word, _ in guesses] == ["Ada", "Grace"]
        share = guesses[0][1] / (guesses[0][1] + guesses[1][1])
        assert 0.6 < share < 0.9, "three of four"
        drawn = fresh.fill([MaskedInput(words, (0,))] * 500, rngs(500), Drawing(2, weighted=True))
        assert Counter(drawn)["Ada",] / 500 == pytest.approx(share, abs=0.06)

    def test_accepts_texts_without_gaps(self, model: MaskedLM) -> None:
        assert model.fill([], [], Drawing()) == []
        assert model.fill([MaskedInput(("Ada",), ())], rngs(1), Drawing()) == [()]
        assert model.guesses([MaskedInput(("Ada",), ())], 5) == [[]]
        assert model.log_probabilities([MaskedInput(("Ada",), ())]) == [[]]

    def test_tag_tokens_are_never_drawn(self, tiny_masked_lms: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_masked_lms[kind])
            before = model.guesses([MaskedInput(("Ada", "won"), (0,))], 10_000)
            model.add_tokens({f"{TOKEN_PREFIX}<b-per>": "person", f"{TOKEN_PREFIX}<i-per>": "person"})
            with torch.no_grad():  # they would be the best guesses of all
                model.network.get_output_embeddings().bias[-2:] = 1e3
            after = model.guesses([MaskedInput(("Ada", "won"), (0,))], 10_000)
            assert [sorted(word for word, _ in at) for at in before[0]] == [
                sorted(word for word, _ in at) for at in after[0]
            ]

    def test_uncased_models_take_capitals_from_the_old_word(self, fresh: MaskedLM) -> None:
        assert fresh.folds_case
        words = ("ada", "Ada", "ADA", "A", "أحمد", "राम")
        filled = fresh.fill([MaskedInput(words, tuple(range(6)))] * 50, rngs(50), Drawing(10_000))
        shapes = [(low, title, up, one) for low, title, up, one, *_ in filled]
        assert all(low == low.lower() for low, *_ in shapes)
        assert all(title[0] == title[0].upper() and title[1:] == title[1:].lower() for _, title, *_ in shapes)
        assert all(up == up.upper() for _, _, up, _ in shapes)
        assert all(one[0] == one[0].upper() and one[1:] == one[1:].lower() for *_, one in shapes)
        assert all(word == word.lower() for *_, arabic, hindi in filled for word in (arabic, hindi))

    def test_cased_models_decide_on_capitals_after_the_first_letter(self, tiny_masked_lms: dict[str, Path]) -> None:
        model = opened(tiny_masked_lms["bytes"])
        assert not model.folds_case
        masked_input = MaskedInput(("ADA", "won"), (0,))
        words = {word for (word,) in model.fill([masked_input] * 300, rngs(300), Drawing(10_000))}
        assert "Lovelace" in words

    def test_a_model_without_latin_letters_folds_no_case(self, fresh: MaskedLM) -> None:
        fresh.encoder.tokenizer.unk_token = fresh.encoder.tokenizer.convert_ids_to_tokens(
            fresh.encoder.subwords(["paris"])[0][0]
        )
        assert not fresh.folds_case


class TestGuesses:
    def test_guesses_are_sorted_and_their_probabilities_sum_to_one(self, model: MaskedLM) -> None:
        masked_inputs = masked_inputs_of_all_sorts()[:10]
        for masked_input, gaps in zip(masked_inputs, model.guesses(masked_inputs, 10_000), strict=True):
            assert len(gaps) == len(masked_input.gaps)
            for guesses in gaps:
                chances = [chance for _, chance in guesses]
                assert chances == sorted(chances, reverse=True)
                assert sum(chances) == pytest.approx(1.0, abs=1e-4)

    def test_returns_the_requested_number_of_guesses(self, model: MaskedLM) -> None:
        masked_inputs = [MaskedInput(tuple(TEXTS[0].split()), (1, 6))]
        (five,), (two,) = model.guesses(masked_inputs, 5), model.guesses(masked_inputs, 2)
        assert [len(guesses) for guesses in five] == [5, 5]
        assert [guesses[:2] for guesses in five] == two

    def test_guesses_do_not_depend_on_the_word_in_the_gap(self, model: MaskedLM) -> None:
        """Words with a separate border subword are excluded: their gap begins after it."""
        words = ["we", "oslo", "place", "person", "won", "today"]
        bare = [word for word in words if not model.vocabulary.border(model.encoder.subwords([word])[0])]
        first, *others = model.guesses([MaskedInput((word, "won", "there"), (0,)) for word in bare], 5)
        assert others
        assert all(other == first for other in others)

    def test_guesses_depend_on_the_condition(self, model: MaskedLM) -> None:
        plain, under = model.guesses(
            [MaskedInput(("Ada", "won"), (0,)), MaskedInput(("Ada", "won"), (0,), ("place",))], 5
        )
        assert plain != under

    def test_guesses_depend_on_the_words_within_the_window(self, model: MaskedLM) -> None:
        words = ["Ada"] * 200
        far, near = list(words), list(words)
        far[199], near[1] = "Oslo", "Oslo"
        here, beyond, beside = model.guesses([MaskedInput(tuple(text), (0,)) for text in (words, far, near)], 5)
        assert here == beyond != beside


class TestLogProbabilities:
    def naive(self, model: MaskedLM, masked_input: MaskedInput) -> list[float]:
        """Log probabilities from transformers with all subwords of all gaps masked at once."""
        tokenizer = model.encoder.tokenizer
        subwords = model.encoder.subwords(masked_input.words)
        ids = [tokenizer.cls_token_id]
        if masked_input.condition:
            ids += [subword for word in model.encoder.subwords(masked_input.condition) for subword in word]
            ids.append(tokenizer.sep_token_id)
        places: list[list[tuple[int, int]]] = []
        for number, word in enumerate(subwords):
            if number in masked_input.gaps:
                places.append([(len(ids) + offset, subword) for offset, subword in enumerate(word)])
            ids += [tokenizer.mask_token_id] * len(word) if number in masked_input.gaps else word
        ids.append(tokenizer.sep_token_id)
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        return [sum(float(logits[position, subword]) for position, subword in word) for word in places]

    def test_log_probabilities_match_transformers(self, model: MaskedLM) -> None:
        masked_inputs = [MaskedInput(tuple(text.split()), gaps) for text in TEXTS[:4] for gaps in ((0,), (1,), (0, 1))]
        masked_inputs += [MaskedInput(tuple(TEXTS[0].split()), (1, 2, 6), ("name", "of", "a", "place"))]
        for masked_input, found in zip(masked_inputs, model.log_probabilities(masked_inputs), strict=True):
            assert found == pytest.approx(self.naive(model, masked_input), abs=1e-4)

    def test_the_log_probability_of_a_word_is_the_sum_over_its_subwords(self, model: MaskedLM) -> None:
        word = next(w for w in ("दिल्ली", "Hopperon", "famous") if len(model.encoder.subwords([w])[0]) > 1)
        masked_input = MaskedInput(("Ada", word, "won"), (1,))
        (row,) = model.masking.fully_masked(masked_input)
        logits = logits_at_masks(model.network, model.encoder, [row]).detach().log_softmax(-1)
        parts = [float(logits[number, subword]) for number, subword in enumerate(row.targets)]
        assert len(parts) > 1
        assert model.log_probabilities([masked_input])[0] == pytest.approx([sum(parts)], abs=1e-4)

    def test_gaps_are_masked_in_neighbouring_windows(self, model: MaskedLM) -> None:
        """The words in the other gaps do not matter, as with `guesses`."""
        names = ("Ada", "Grace", "Oslo", "Paris", "Lima", "won", "there", "today")

        def template(word: str) -> object:
            return model.gap_masks.template(word, ("LATIN", False), Drawing())

        subwords = dict(zip(names, model.encoder.subwords(names), strict=True))
        one, two = next(
            (a, b)
            for a, b in itertools.combinations(names, 2)
            if len(subwords[a]) == len(subwords[b]) and template(a) == template(b)
        )
        gaps = tuple(range(0, 200, 3))
        long = [one, "won", "there"] * 67
        other = [two if number in gaps[1:] else word for number, word in enumerate(long)]
        first, second = model.log_probabilities([MaskedInput(tuple(words), gaps) for words in (long, other)])
        assert first[0] == second[0]
        ours, theirs = model.guesses([MaskedInput(tuple(words), gaps) for words in (long, other)], 1)
        assert [[chance for _, chance in at] for at in ours] == [[chance for _, chance in at] for at in theirs]

    def test_learnt_words_are_more_probable(self, fresh: MaskedLM) -> None:
        learnt, other = MaskedInput(("Ada", "won"), (0,)), MaskedInput(("Oslo", "won"), (0,))
        fresh.fine_tune([learnt.words] * 4, lambda words, rng: MaskedInput(words, (0,)), plan(30), rate=1.0)
        (high,), (low,) = fresh.log_probabilities([learnt, other])
        assert low < -2 < high < 0


class TestSameBytes:
    """A text gets bitwise the same numbers, whatever other texts are in the batch."""

    def test_guesses_and_log_probabilities_do_not_depend_on_the_batch(self, model: MaskedLM) -> None:
        masked_inputs = masked_inputs_of_all_sorts()
        assert len(masked_inputs) > 3 * WINDOWS
        together = model.guesses(masked_inputs, 20), model.log_probabilities(masked_inputs)
        alone = (
            [model.guesses([c], 20)[0] for c in masked_inputs],
            [model.log_probabilities([c])[0] for c in masked_inputs],
        )
        assert together == alone
        backwards = model.guesses(masked_inputs[::-1], 20)[::-1], model.log_probabilities(masked_inputs[::-1])[::-1]
        assert together == backwards

    @pytest.mark.parametrize("count", [1, 2, 3, 5, 15, 16, 17])
    def test_results_do_not_depend_on_the_number_of_texts(self, model: MaskedLM, count: int) -> None:
        masked_inputs = [MaskedInput(("Ada", word, "won"), (0,)) for word in ("grace", "oslo", "lima")] * 10
        assert model.log_probabilities(masked_inputs[:count]) == model.log_probabilities(masked_inputs)[:count]

    def test_tokens_added_later_do_not_change_guesses(self, tiny_masked_lms: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_masked_lms[kind])
            masked_inputs = masked_inputs_of_all_sorts()
            before = model.guesses(masked_inputs, 20)
            model.add_tokens({f"{TOKEN_PREFIX}<b-{number}>": "person" for number in range(7)})
            assert model.guesses(masked_inputs, 20) == before


class TestTagTokens:
    @pytest.mark.parametrize("kind", KINDS)
    def test_an_embedding_starts_at_the_mean_of_its_description(
        self, kind: str, tiny_masked_lms: dict[str, Path]
    ) -> None:
        model = opened(tiny_masked_lms[kind])
        model.add_tokens({f"{TOKEN_PREFIX}<x>": "named person", f"{TOKEN_PREFIX}<y>": "दिल्ली"})
        for token, text in ((f"{TOKEN_PREFIX}<x>", "named person"), (f"{TOKEN_PREFIX}<y>", "दिल्ली")):
            subwords = [subword for word in model.encoder.subwords(text.split()) for subword in word]
            (number,) = model.encoder.token_ids[token]
            for layer in (model.network.get_input_embeddings(), model.network.get_output_embeddings()):
                assert torch.allclose(layer.weight[number], layer.weight[subwords].mean(0))

    def test_a_token_is_added_once(self, fresh: MaskedLM) -> None:
        size = fresh.network.get_input_embeddings().num_embeddings
        for _ in range(2):
            fresh.add_tokens({f"{TOKEN_PREFIX}<x>": "person", f"{TOKEN_PREFIX}<y>": "place"})
        fresh.add_tokens({})
        assert fresh.network.get_input_embeddings().num_embeddings == size + 2
        assert len(set(fresh.encoder.token_ids.values())) == 2

    def test_a_description_without_words_still_makes_a_token(self, fresh: MaskedLM) -> None:
        fresh.add_tokens({f"{TOKEN_PREFIX}<x>": " "})
        (number,) = fresh.encoder.token_ids[f"{TOKEN_PREFIX}<x>"]
        assert torch.isfinite(fresh.network.get_input_embeddings().weight[number]).all()

    def test_input_and_output_stay_tied(self, fresh: MaskedLM) -> None:
        fresh.add_tokens({f"{TOKEN_PREFIX}<x>": "person"})
        assert fresh.network.get_input_embeddings().weight is fresh.network.get_output_embeddings().weight

    def test_global_random_state_is_unchanged(self, fresh: MaskedLM) -> None:
        before = torch.get_rng_state()
        fresh.add_tokens({f"{TOKEN_PREFIX}<x>": "person"})
        assert torch.equal(before, torch.get_rng_state())

    def test_tag_tokens_are_trained(self, fresh: MaskedLM) -> None:
        token = f"{TOKEN_PREFIX}<x>"
        fresh.add_tokens({token: "person"})
        (number,) = fresh.encoder.token_ids[token]
        before = fresh.network.get_input_embeddings().weight[number].clone()
        fresh.fine_tune([(token, "Ada", token)], lambda words, rng: MaskedInput(words, (1,)), plan(2), rate=1.0)
        assert not torch.equal(before, fresh.network.get_input_embeddings().weight[number])
