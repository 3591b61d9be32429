from __future__ import annotations

import itertools
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import (
    AutoTokenizer,
    ByT5Tokenizer,
    CanineTokenizer,
    LukeConfig,
    LukeModel,
    LukeTokenizer,
    PreTrainedTokenizerFast,
)

from nersery.models.pretrained.loading import ModelSource
from nersery.models.subwords.collation import collate
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import window_spans

WORDS = ["Ada", "wrote", "in", "दिल्ली", "東京", "unseenword", "New", "👩‍👩‍👧"]


@pytest.fixture(scope="module", params=["wordpiece", "bytes", "unigram"])
def tokenizer(request: pytest.FixtureRequest, tiny_models: dict[str, Path]):
    return ModelSource(str(tiny_models[request.param])).tokenizer()


def test_words_get_the_subwords_that_they_have_in_a_sentence(tokenizer) -> None:
    if "ByteLevel" in repr(tokenizer.backend_tokenizer.pre_tokenizer):
        expected = tokenizer(" " + " ".join(WORDS))["input_ids"]
    else:
        expected = tokenizer(WORDS, is_split_into_words=True)["input_ids"]
    (window,) = SubwordEncoder(tokenizer, borders=True).windows(WORDS)
    assert list(window.subwords) == expected


def test_words_that_look_like_special_tokens_are_text(tokenizer) -> None:
    words = ["[SEP]", "[MASK]x", "we"]
    raw = AutoTokenizer.from_pretrained(tokenizer.name_or_path)
    lead = " " * ("ByteLevel" in repr(tokenizer.backend_tokenizer.pre_tokenizer))
    texts = [lead + word for word in words]
    expected = raw(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    special = {*raw.all_special_ids}  # a unigram vocabulary has them as subwords, too
    assert SubwordEncoder(tokenizer).subwords(words) == [
        tuple(raw.unk_token_id if subword in special else subword for subword in ids) for ids in expected
    ]


def test_luke_works_without_a_keyword_for_special_tokens(tmp_path: Path) -> None:
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<ent>", "<ent2>"]
    vocabulary = [*names, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    entities = {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3}
    vocab = {subword: number for number, subword in enumerate(vocabulary)}
    LukeTokenizer(vocab=vocab, merges=[], entity_vocab=entities).save_pretrained(tmp_path)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    LukeModel(LukeConfig(vocab_size=len(vocab), entity_vocab_size=4, **sizes)).save_pretrained(tmp_path)
    encoder = SubwordEncoder(ModelSource(str(tmp_path)).tokenizer())
    assert [encoder.tokenizer.decode(ids) for ids in encoder.subwords(["a", "</s>"])] == [" a", " </s>"]
    assert not {*encoder.subwords(["</s>"])[0]} & {*encoder.tokenizer.all_special_ids}


def test_words_of_scripts_without_spaces_get_subwords_of_running_text(tokenizer) -> None:
    """A model trained on 東京。 as two or three subwords gets no word border before each."""
    plain = {"add_special_tokens": False}
    words = ["wrote", "東", "京", "。", "in"]
    subwords = SubwordEncoder(tokenizer).subwords(words)
    running = tokenizer("東京", **plain)["input_ids"]
    joined = [subword for word in subwords[1:3] for subword in word]
    texts = [[text.strip("▁") for text in tokenizer.convert_ids_to_tokens(ids)] for ids in (joined, running)]
    assert "".join(texts[0]) == "".join(texts[1])
    assert not any(token.startswith(("▁", "Ġ")) for token in tokenizer.convert_ids_to_tokens(joined))
    for word, ids in zip(("wrote", "in"), (subwords[0], subwords[-1]), strict=True):
        assert SubwordEncoder(tokenizer, borders=True).subwords([word]) == [ids]


def test_words_get_a_leading_space_if_a_normalizer_marks_it_as_in_gemma() -> None:
    subwords = ["<unk>", *"▁Adawrote", "▁Ada", "▁wrote", "▁a"]
    backend = Tokenizer(models.Unigram([(subword, -5.0 if len(subword) == 1 else -1.0) for subword in subwords], 0))
    backend.normalizer = normalizers.Replace(" ", "▁")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    encoded = SubwordEncoder(tokenizer).subwords(["Ada", "wrote", "a"])
    assert [tokenizer.convert_ids_to_tokens(list(ids)) for ids in encoded] == [["▁Ada"], ["▁wrote"], ["▁a"]]


def test_a_word_without_subwords_becomes_unknown(tokenizer) -> None:
    encoder = SubwordEncoder(tokenizer)
    (window,) = encoder.windows(["Ada", "\u200b", "\u200d", "wrote"])
    assert len(window.firsts) == 4
    assert len(set(window.firsts)) == 4
    assert all(0 < first < len(window.subwords) - 1 for first in window.firsts)


def test_a_word_longer_than_the_model_causes_no_warning(tokenizer) -> None:
    records: list[logging.LogRecord] = []
    listener, logger = logging.Handler(), logging.getLogger("transformers")
    listener.emit = records.append  # type: ignore[method-assign]
    logger.addHandler(listener)
    try:
        SubwordEncoder(tokenizer).subwords(["東京" * 90])
    finally:
        logger.removeHandler(listener)
    assert records == []


def test_unmarked_is_the_share_of_words_that_lose_accents_or_vowel_signs(tokenizer) -> None:
    leaves_out = "BertNormalizer" in repr(tokenizer.backend_tokenizer.normalizer)
    assert SubwordEncoder(tokenizer).unmarked(["राम", "में", "दिल्ली", "Ada"]) == (0.5 if leaves_out else 0)
    assert SubwordEncoder(tokenizer).unmarked(["Ada", "राम"]) == SubwordEncoder(tokenizer).unmarked([]) == 0


def test_every_word_of_a_long_sentence_is_in_the_core_of_one_window(tokenizer) -> None:
    words = [WORDS[i % len(WORDS)] for i in range(500)]
    encoder = SubwordEncoder(tokenizer)
    windows = encoder.windows(words)
    assert len(windows) > 1
    assert all(len(window.subwords) <= 64 for window in windows)
    covered = [i for window in windows for i in range(*window.core)]
    assert covered == list(range(500))
    for window in windows:
        assert window.start <= window.core[0] < window.core[1] <= window.start + len(window.firsts)


def test_a_word_longer_than_the_window_keeps_its_place(tokenizer) -> None:
    windows = SubwordEncoder(tokenizer, 16).windows(["Ada", "x" * 3000, "wrote"])
    assert [i for window in windows for i in range(*window.core)] == [0, 1, 2]
    assert all(len(window.subwords) <= 16 for window in windows)


@given(st.lists(st.integers(1, 10), min_size=1, max_size=60), st.integers(10, 30))
def test_spans_cover_all_words_and_advance(lengths: list[int], room: int) -> None:
    spans = window_spans(lengths, room)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(lengths)
    assert all(sum(lengths[a:b]) <= room for a, b in spans)
    for (a, b), (c, d) in itertools.pairwise(spans):
        assert a < c <= b < d


def test_collate_pads_to_rows_and_multiple(tokenizer) -> None:
    encoder = SubwordEncoder(tokenizer)
    windows = [*encoder.windows(["Ada"]), *encoder.windows(["Ada", "wrote", "in"])]
    batch = collate(windows, encoder.pad, rows=4, multiple=8)
    assert batch.input_ids.shape[0] == 4
    assert batch.input_ids.shape[1] % 8 == 0
    assert batch.attention_mask.sum(1)[:2].tolist() == [len(window.subwords) for window in windows]
    assert batch.word_mask.sum(1).tolist() == [1, 3, 1, 1]


def test_detects_a_vocabulary_of_another_language() -> None:
    from nersery.models.pretrained.loading import ModelSource

    encoder = SubwordEncoder(ModelSource("bundled").tokenizer())
    assert (
        encoder.vocabulary_issue("Angela Merkel wurde in Hamburg geboren und wuchs in der Uckermark auf .".split())
        == ""
    )
    assert encoder.vocabulary_issue("so good 😀 👍🏽 🇮🇳 ★ → 3½ ☺".split()) == ""
    assert "unknown" in encoder.vocabulary_issue(["東京", "は", "日本", "の", "首都"])
    assert "subwords" in encoder.vocabulary_issue("राम दिल्ली में रहता है और काम करता है".split())


def test_vowel_points_do_not_indicate_another_language() -> None:
    plain, pointed = "ברא אלהים את השמים ואת הארץ", "בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ"
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *plain.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    encoder = SubwordEncoder(PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]"))
    assert not encoder.vocabulary_issue(pointed.split())
    assert "unknown" in encoder.vocabulary_issue(["Ада"])


@pytest.mark.parametrize("tokenizer_class", [ByT5Tokenizer, CanineTokenizer])
def test_character_and_byte_vocabularies_suit_every_language(
    tokenizer_class: type, few_canine_characters: None
) -> None:
    encoder = SubwordEncoder(tokenizer_class(model_max_length=64))
    assert encoder.vocabulary_issue("Donaudampfschiffahrt दिल्ली में राम".split()) == ""
