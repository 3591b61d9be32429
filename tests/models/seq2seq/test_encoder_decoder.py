from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, EncoderDecoderConfig, ProphetNetConfig, ProphetNetForConditionalGeneration

from nersery.augment.linearized.linearization import linearize, tag_token, token_descriptions
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.sentence import Entity, Sentence
from nersery.models.pretrained.loading import ModelSource
from nersery.models.seq2seq.encoder_decoder import Seq2Seq, fitting_sentences, tokenization_of, warn_of_words_apart
from nersery.models.seq2seq.seq2seq_inputs import Sampling, TextPair
from nersery.models.tokens import BROKEN, GAP, TOKEN_PREFIX, UNKNOWN
from nersery.models.training.snapshot import weights_of
from tests.models.masked_texts import plan as plan_of

KINDS = ["bart", "mbart", "t5"]
TYPES = ["PER", "creative work", "a:b", "<x>", "<b-PER>", "स्थान", "per"]
GOLD = [
    Sentence(("Ada", "Lovelace", "wrote", "the", "program"), (Entity(0, 2, "PER"),)),
    Sentence(("we", "saw", "Linus", "in", "New", "York"), (Entity(2, 3, "PER"), Entity(4, 6, "LOC"))),
    Sentence(("राम", "दिल्ली", "में", "रहता", "है"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC"))),
]
Texts = tuple[str, ...]


def opened(folder: Path | str, language: str = "en") -> Seq2Seq:
    return Seq2Seq(ModelSource(str(folder)), "cpu", "fp32", language)


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tiny_seq2seqs: dict[str, Path]) -> Seq2Seq:
    made = opened(tiny_seq2seqs[request.param])
    made.add_tokens(token_descriptions(TYPES, (), {}))
    return made


@pytest.fixture
def copy(tiny_seq2seqs: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the BART that a test may change."""
    return Path(shutil.copytree(tiny_seq2seqs["bart"], tmp_path / "copy"))


def words_hidden(sentence: Sentence, rng: random.Random) -> TextPair:
    """Half of the words that belong to no entity."""
    shown = linearize(sentence)
    entities = {place for entity in sentence.entities for place in entity.positions}
    hidden = {shown.positions[p] for p in range(len(sentence)) if p not in entities and rng.random() < 0.5}
    return TextPair(tuple(GAP if place in hidden else word for place, word in enumerate(shown.words)), shown.words)


def copied(words: Texts, rng: random.Random) -> TextPair:
    return TextPair(words, words)


def ids(model: Seq2Seq, source: Texts, language: str = "en") -> Texts:
    """The subwords of a source, as the tokenizer names them."""
    subwords = model.tokenization.source(source, model.tokenization.frame(language))
    return tuple(model.tokenization.subwords.tokenizer.convert_ids_to_tokens(list(subwords)))


class TestWords:
    @pytest.mark.parametrize("type_", TYPES)
    def test_tag_tokens_are_decoded_unchanged(self, model: Seq2Seq, type_: str) -> None:
        begins, inside = tag_token(type_, begins=True), tag_token(type_, begins=False)
        words = (begins, "Ada", begins, inside, "Ada", inside, "wrote", begins)
        assert model.written(words) == words

    def test_a_byte_vocabulary_decodes_any_word(self, tiny_seq2seq: str) -> None:
        words = ("👩‍👩‍👧", "தமிழ்", "क्‍ष", "don't", "<mask>", "</s>", "<b-PER>", "C++", ".", "東京", "x" * 300)
        assert opened(tiny_seq2seq).written(words) == words

    def test_a_word_outside_the_vocabulary_is_decoded_as_unknown(self, tiny_seq2seqs: dict[str, Path]) -> None:
        for kind in ("mbart", "t5"):
            assert UNKNOWN in opened(tiny_seq2seqs[kind]).written(("we", "தமிழ்"))

    def test_special_tokens_are_recognized(self, model: Seq2Seq) -> None:
        tokenizer = model.tokenization.subwords.tokenizer
        special = [tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id]
        assert model.tokenization.words(special) == (f"{TOKEN_PREFIX}<pad>", f"{TOKEN_PREFIX}</s>", UNKNOWN)
        source = model.tokenization.source((GAP, "saw"), model.tokenization.frame("en"))
        assert model.tokenization.words(source)[-3:] == (GAP, "saw", f"{TOKEN_PREFIX}</s>")

    def test_an_incomplete_character_is_broken(self, tiny_seq2seq: str) -> None:
        model = opened(tiny_seq2seq)
        subwords = model.tokenization.target(("saw", "த"))
        assert model.tokenization.words(subwords[:-1]) == ("saw", BROKEN)

    def test_an_invisible_word_is_broken(self, tiny_seq2seq: str) -> None:
        tokenization = opened(tiny_seq2seq).tokenization
        assert tokenization.words(tokenization.target(("saw", "\u200d", "\u0301"))) == ("saw", BROKEN, BROKEN)

    def test_a_continuation_without_a_beginning_is_broken(self, word_splitting_seq2seq: str) -> None:
        tokenization = opened(word_splitting_seq2seq).tokenization
        rest = ModelSource(word_splitting_seq2seq).tokenizer().convert_tokens_to_ids("##a")
        saw = tokenization.target(("saw",))
        assert tokenization.words((rest, *saw)) == (BROKEN, "saw")
        assert tokenization.words((*saw, rest)) == ("sawa",)

    def test_separate_signs_stay_separate_words(self, word_splitting_seq2seq: str) -> None:
        """Decoders of WordPiece vocabularies write "Oslo ." as one word."""
        words = ("cars", "in", "oslo", ".")
        assert opened(word_splitting_seq2seq).written(words) == words

    def test_splits_a_word_into_the_parts_that_the_model_writes(
        self, word_splitting_seq2seq: str, tiny_seq2seq: str
    ) -> None:
        parting, keeping = opened(word_splitting_seq2seq), opened(tiny_seq2seq)
        for word, parts in {"東京": ("東", "京"), "Oslo.": ("oslo", "."), "New 東京": ("New", "東", "京")}.items():
            assert parting.parts(word) == parts
            assert keeping.parts(word) == tuple(word.split())
        for word in ("Oslo", "Oslo☃.", "\u00a0"):
            assert parting.parts(word) == (word,), "one word, not all of which can be written perhaps"

    def test_warns_if_many_words_are_split(
        self, word_splitting_seq2seq: str, tiny_seq2seq: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = [Sentence(("日本", "in", "Oslo", "."))]
        warn_of_words_apart(opened(tiny_seq2seq), text)
        warn_of_words_apart(opened(word_splitting_seq2seq), text * 5 + [Sentence(("in",) * 80)])
        assert not capsys.readouterr().err
        warn_of_words_apart(opened(word_splitting_seq2seq), text)
        assert 'splits 25 % of the words, e.g. "日本" into "日 本"' in capsys.readouterr().err


class TestGaps:
    def test_adjacent_gaps_are_merged(self, tiny_seq2seq: str) -> None:
        model = opened(tiny_seq2seq)
        found = ids(model, (GAP, GAP, "saw", GAP, GAP, GAP))
        assert found == ("<s>", "<mask>", "Ġsaw", "<mask>", "</s>")

    def test_t5_numbers_gaps(self, tiny_seq2seqs: dict[str, Path]) -> None:
        model = opened(tiny_seq2seqs["t5"])
        found = ids(model, (GAP, GAP, "▁", "saw", GAP, "there", GAP))
        assert [subword for subword in found if subword.startswith("<")] == [
            *("<extra_id_0>", "<extra_id_1>", "<extra_id_2>"),
            "</s>",
        ]

    def test_refuses_more_gaps_than_sentinels(self, tiny_seq2seqs: dict[str, Path]) -> None:
        model = opened(tiny_seq2seqs["t5"])
        assert not model.length_issue(TextPair((GAP, "saw") * 4, ("saw",)))
        assert model.length_issue(TextPair((GAP, "saw") * 5, ("saw",)))
        pair = TextPair((GAP, "saw") * 5, ("saw",))
        with pytest.raises(DataError, match=r'more gaps than the model has sentinels.* begins "gap saw gap'):
            model.fine_tune([pair], lambda item, rng: item, plan_of(1, 1, 1e-3))


def test_counts_sentences_that_are_too_long_to_learn_from(
    tiny_seq2seq: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = opened(tiny_seq2seq)
    short, long = (Sentence(("saw",) * count, id=f"text:{count}") for count in (3, 100))

    def issue(sentence: Sentence) -> str:
        return model.length_issue(TextPair((GAP,), sentence.words))

    assert fitting_sentences(model, [short, long], issue) == [short]
    assert "1 of 2 sentences do not fit" in (warning := capsys.readouterr().err)
    assert "text:100: the target has 102 subwords, but the model reads at most 64. It does not learn" in warning
    with pytest.raises(DataError, match="no sentence of 1 fits"):
        fitting_sentences(model, [long], issue)
    assert fitting_sentences(model, [long], issue, is_dev=True) == []
    warning = capsys.readouterr().err
    assert "no dev sentence of 1 fits the model" in warning
    assert "Its weights are chosen without them" in warning


class TestLanguages:
    def test_source_and_target_have_the_language_code(self, tiny_seq2seqs: dict[str, Path]) -> None:
        model = opened(tiny_seq2seqs["mbart"])
        for language, code in (
            ("en", "en_XX"),
            ("hi", "hi_IN"),
            ("hi-IN", "hi_IN"),
            ("EN", "en_XX"),
            ("ta_IN", "ta_IN"),
        ):
            frame = model.tokenization.frame(language)
            assert model.tokenization.subwords.tokenizer.convert_ids_to_tokens(list(frame.decoder_prefix)) == [
                "</s>",
                code,
            ]
            assert ids(model, ("saw",), language) == (code, "▁saw", "</s>")

    def test_a_text_may_have_its_own_language(self, tiny_seq2seqs: dict[str, Path]) -> None:
        model, sources = (
            opened(tiny_seq2seqs["mbart"]),
            [TextPair(("we", GAP), (), language) for language in ("hi", "en") * 3],
        )
        drawn = [random.Random(number) for number in range(6)]
        same = [random.Random(number) for number in range(6)]
        texts = model.generate(sources, drawn, Sampling(max_subwords=8))
        in_english = model.generate([TextPair(("we", GAP), ())] * 6, same, Sampling(max_subwords=8))
        assert [a == b for a, b in zip(texts, in_english, strict=True)] == [False, True] * 3

    @pytest.mark.parametrize(
        ("language", "message"), [("xx", 'no code for the language "xx"'), ("", "needs the language")]
    )
    def test_the_error_for_a_missing_code_lists_all_codes(
        self, tiny_seq2seqs: dict[str, Path], language: str, message: str
    ) -> None:
        with pytest.raises(SettingsError, match=f"{message}.*af_ZA, ar_AR.*zh_CN"):
            opened(tiny_seq2seqs["mbart"], "").length_issue(TextPair((), (), language))

    def test_a_missing_code_is_reported_before_weights_are_loaded(
        self, tiny_seq2seqs: dict[str, Path], tmp_path: Path
    ) -> None:
        folder = Path(shutil.copytree(tiny_seq2seqs["mbart"], tmp_path / "weightless"))
        (folder / "model.safetensors").write_bytes(b"")
        tokenization_of(ModelSource(str(folder)), "hi")
        with pytest.raises(SettingsError, match="no code"):
            tokenization_of(ModelSource(str(folder)), "xx")

    def test_models_without_codes_accept_any_language(self, tiny_seq2seqs: dict[str, Path]) -> None:
        for kind in ("bart", "t5"):
            model = opened(tiny_seq2seqs[kind], "xx")
            assert model.tokenization.frame("xx") == model.tokenization.frame("")


class TestRefusals:
    def test_refuses_a_masked_language_model(self, tiny_masked_lm: str) -> None:
        with pytest.raises(MissingResourceError, match="is BertForMaskedLM, not an encoder-decoder"):
            opened(tiny_masked_lm)

    def test_refuses_a_combined_encoder_and_decoder(self, copy: Path) -> None:
        bert = BertConfig(hidden_size=8, num_attention_heads=1)
        EncoderDecoderConfig.from_encoder_decoder_configs(bert, bert).save_pretrained(copy)
        with pytest.raises(
            MissingResourceError,
            match=r"combines a separate encoder and decoder .*, so tag tokens cannot be added to its vocabulary",
        ):
            tokenization_of(ModelSource(str(copy)))

    def test_refuses_a_model_without_mask_token_or_sentinels(self, copy: Path) -> None:
        settings = json.loads((copy / "tokenizer_config.json").read_text("utf-8"))
        del settings["mask_token"]
        (copy / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
        with pytest.raises(MissingResourceError, match="neither a mask token nor sentinels"):
            opened(copy)

    def test_refuses_a_model_without_a_start_token(self, tiny_seq2seqs: dict[str, Path], tmp_path: Path) -> None:
        folder = Path(shutil.copytree(tiny_seq2seqs["t5"], tmp_path / "copy"))
        config = json.loads((folder / "config.json").read_text("utf-8"))
        (folder / "config.json").write_text(json.dumps(config | {"decoder_start_token_id": None}), "utf-8")
        with pytest.raises(MissingResourceError, match="does not set decoder_start_token_id"):
            opened(folder).length_issue(TextPair((), ()))

    def test_refuses_a_model_that_cannot_write_subword_by_subword(self, copy: Path) -> None:
        sizes = {f"{part}_{name}": 1 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")}
        sizes = {f"num_{name}": count for name, count in sizes.items()} | {
            "hidden_size": 8,
            "vocab_size": 600,
            "pad_token_id": 1,
        }
        ProphetNetForConditionalGeneration(ProphetNetConfig(**sizes)).save_pretrained(copy)
        with pytest.raises(MissingResourceError, match=r"copy\" is ProphetNetFor.*, which cannot write .*mt5-base"):
            opened(copy)

    def test_refuses_pickled_weights(self, copy: Path) -> None:
        torch.save(torch.zeros(1), copy / "pytorch_model.bin")
        (copy / "model.safetensors").unlink()
        with pytest.raises(MissingResourceError, match="safetensors"):
            opened(copy)

    def test_refuses_weights_that_are_nan(self, tiny_seq2seq: str) -> None:
        model = opened(tiny_seq2seq)
        with torch.no_grad():
            model.network.get_output_embeddings().weight.fill_(torch.nan)
        with pytest.raises(SettingsError, match="computes NaN"):
            model.generate([TextPair(("we",), ())], [random.Random(0)], Sampling())


class TestLength:
    def test_a_text_fits_up_to_the_last_position(self, model: Seq2Seq) -> None:
        """BART and mBART put two tokens around a source and before a target, T5 one."""
        framing = len(model.tokenization.source((), model.tokenization.frame("en")))
        most = ("saw",) * ((64 - framing) // len(model.tokenization.target(("saw",))))
        assert not model.length_issue(TextPair(most, most))
        assert model.length_issue(TextPair((*most, "saw"), most))
        assert model.length_issue(TextPair(most, (*most, "saw")))

    @pytest.mark.parametrize("kind", KINDS)
    def test_long_texts_are_never_truncated(self, tiny_seq2seqs: dict[str, Path], kind: str) -> None:
        model, long = opened(tiny_seq2seqs[kind]), ("saw",) * 65
        pairs = [TextPair(("we",), ()), TextPair(long, ()), None]
        assert [text is None for text in model.generate(pairs, [random.Random(0)] * 3, Sampling())] == [
            False,
            True,
            True,
        ]
        with pytest.raises(DataError, match=r"the source has \d+ subwords, but the model reads at most 64"):
            model.fine_tune([long], lambda words, rng: TextPair(words, ("we",)), plan_of(1, 1, 1e-3))
        with pytest.raises(DataError, match=r"the target has \d+ subwords"):
            model.fine_tune([long], lambda words, rng: TextPair(("we",), words), plan_of(1, 1, 1e-3))

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_longest_pair_can_be_learnt_and_generated(self, tiny_seq2seqs: dict[str, Path], kind: str) -> None:
        model = opened(tiny_seq2seqs[kind])
        most = ("saw",) * (64 - len(model.tokenization.source((), model.tokenization.frame("en"))))
        model.fine_tune([most], copied, plan_of(1, 1, 1e-3))
        with torch.no_grad():  # the end is never reached
            model.network.get_output_embeddings().weight[model.tokenization.frame("en").end] = 0.0
        (text,) = model.generate([TextPair(most, ())], [random.Random(0)], Sampling(top_k=1, max_subwords=1000))
        assert text is not None
        assert not text.finished


class TestTokens:
    def test_embeddings_start_at_the_mean_of_the_description(self, tiny_seq2seqs: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_seq2seqs[kind])
            weight = model.network.get_input_embeddings().weight.detach().clone()
            token = tag_token("PER", begins=True)
            model.add_tokens({token: "person or family"})
            model.add_tokens({token: "something else"})
            subwords = model.tokenization.target(("person", "or", "family"))
            (number,) = model.tokenization.target((token,))
            grown = model.network.get_input_embeddings().weight
            assert number == len(weight) == len(grown) - 1
            assert torch.allclose(grown[number], weight[list(subwords)].mean(0))
            assert torch.equal(grown[:number], weight)


class TestFineTuning:
    def test_decoder_inputs_and_losses_equal_those_of_transformers(self, tiny_seq2seqs: dict[str, Path]) -> None:
        for kind in KINDS:
            model = opened(tiny_seq2seqs[kind])
            row = model._row(TextPair(("we", GAP), ("we", "saw")))
            labels = torch.tensor([[*row.decoder_prefix[1:], *row.target]])
            shown = model.network.prepare_decoder_input_ids_from_labels(labels)
            assert shown.tolist() == [list(row.decoder_input)]
            outputs = model.network(input_ids=torch.tensor([row.source]), labels=labels)
            theirs = torch.nn.functional.cross_entropy(
                outputs.logits[0, len(row.decoder_prefix) - 1 :], torch.tensor(row.target), reduction="none"
            )
            assert torch.allclose(model._losses([row]), theirs, atol=1e-5)

    def test_padding_does_not_affect_the_loss(self, model: Seq2Seq) -> None:
        pairs = [TextPair(("we",), ("we", "saw", "Linus", "there")), TextPair(("we", "saw", GAP, "today"), ("we",))]
        rows = [model._row(pair) for pair in pairs]
        apart = torch.cat([model._losses([row]) for row in rows])
        assert torch.allclose(model._losses(rows), apart, atol=1e-5)

    def test_each_epoch_has_new_pairs_and_dev_the_same_ones(self, tiny_seq2seq: str) -> None:
        drawn: dict[str, list[float]] = {}

        def noted(words: Texts, rng: random.Random) -> TextPair:
            drawn.setdefault(words[0], []).append(rng.random())
            return TextPair(words, words)

        def trained(batch_size: int) -> dict[str, list[float]]:
            drawn.clear()
            progress = Progress(None)
            plan = plan_of(3, batch_size, 1e-3)
            items = [("we", "saw"), ("Linus",), ("there",)]
            opened(tiny_seq2seq).fine_tune(items, noted, plan, dev=[("today",)], seed=3, progress=progress)
            assert progress.total == plan.total_steps(3)
            return dict(drawn)

        first = trained(1)
        assert {word: len(set(values)) for word, values in first.items()} == {
            **dict.fromkeys(("we", "Linus", "there"), 3),
            "today": 1,
        }
        assert trained(2) == first

    def test_an_untrained_bart_learns_to_write_the_sentences(self, tiny_seq2seq: str) -> None:
        model = opened(tiny_seq2seq)
        model.add_tokens(token_descriptions({"PER", "LOC"}, (), {}))
        history = model.fine_tune(GOLD, words_hidden, plan_of(50, 3, 1e-2), dev=GOLD)
        assert history.best is not None
        assert history.best.score == max(evaluation.score for evaluation in history.evaluations) > -0.1
        pairs = [words_hidden(sentence, random.Random(number)) for number, sentence in enumerate(GOLD * 2)]
        rngs = [random.Random(number) for number in range(len(pairs))]
        texts = [text for text in model.generate(pairs, rngs, Sampling(top_k=5)) if text]
        assert [text.words for text in texts] == [pair.target for pair in pairs]
        assert all(text.finished and -0.2 < text.log_probability < 0 for text in texts)

    @pytest.mark.usefixtures("saves_each_step")
    def test_resumes_with_the_same_bytes_after_a_stop(self, tiny_seq2seq: str, tmp_path: Path) -> None:
        def weights(pair: Any, folder: Path | None) -> dict[str, torch.Tensor]:
            model = opened(tiny_seq2seq)
            model.add_tokens(token_descriptions({"PER", "LOC"}, (), {}))
            plan = plan_of(4, 2, 1e-2)
            model.fine_tune(GOLD, pair, plan, dev=GOLD[:1], folder=folder, fingerprint={"a": 1})
            return weights_of(model.network)

        calls = []

        def stopped(sentence: Sentence, rng: random.Random) -> TextPair:
            calls.append(sentence)
            if len(calls) == 9:
                raise KeyboardInterrupt
            return words_hidden(sentence, rng)

        undisturbed = weights(words_hidden, None)
        with pytest.raises(KeyboardInterrupt):
            weights(stopped, tmp_path / "state")
        assert list((tmp_path / "state").glob("step-*"))
        resumed = weights(words_hidden, tmp_path / "state")
        assert all(torch.equal(tensor, resumed[name]) for name, tensor in undisturbed.items())
        with pytest.raises(SettingsError, match="other settings"):
            opened(tiny_seq2seq).fine_tune(GOLD, copied, plan_of(1, 2, 1e-2), folder=tmp_path / "state")
