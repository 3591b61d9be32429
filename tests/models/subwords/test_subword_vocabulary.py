from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from transformers import AddedToken, AutoTokenizer

from nersery.core.errors import MissingResourceError
from nersery.models.loading import ModelSource
from nersery.models.masked.masked_inputs import Cloze
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.subwords.subword_vocabulary import (
    BEHIND_BORDER,
    INSIDE,
    OPENING,
    Vocabulary,
    _is_clean,
    check_decoder,
)
from nersery.models.subwords.subwords import PieceEncoder
from tests.conftest import MASKED_TEXT, build_tokenizer

MARKS = ("##", "▁", "Ġ", "</w>", "\ufffd", "\t", "[", "]", "<", ">")
KINDS = ["wordpiece", "bytes", "unigram"]


@pytest.fixture(scope="module", params=KINDS)
def encoder(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> PieceEncoder:
    return PieceEncoder(ModelSource(str(tiny_masked_lms[request.param])).tokenizer())


def test_there_is_an_entry_for_every_piece(encoder: PieceEncoder) -> None:
    vocabulary = Vocabulary.of(encoder)
    assert len(vocabulary.texts) == len(vocabulary.begins) == len(encoder.tokenizer)


def test_no_text_has_marks_spaces_or_parts_of_characters(encoder: PieceEncoder) -> None:
    texts = [text for text in Vocabulary.of(encoder).texts if text]
    assert len(texts) > 50
    assert not [text for text in texts if any(mark in text for mark in MARKS)]
    assert not [text for text in texts if text != "".join(text.split())]
    assert not [text for text in texts if not any(unicodedata.category(c)[0] in "LNM" for c in text)]


def test_special_tokens_are_fit_for_no_word(encoder: PieceEncoder) -> None:
    vocabulary = Vocabulary.of(encoder)
    assert {vocabulary.texts[piece] for piece in encoder.tokenizer.all_special_ids} == {""}
    allowed = {*vocabulary.allowed(OPENING), *vocabulary.allowed(INSIDE)}
    assert not allowed & set(encoder.tokenizer.all_special_ids)


def test_added_tokens_are_fit_for_no_word_when_they_are_special(tiny_masked_lms: dict[str, Path]) -> None:
    tokenizer = ModelSource(str(tiny_masked_lms["bytes"])).tokenizer()
    tokenizer.add_tokens([AddedToken("marker", special=True), AddedToken("covid", special=False)])
    assert Vocabulary.of(PieceEncoder(tokenizer)).texts[-2:] == ("", "covid")


def test_openers_begin_a_word_and_the_others_go_on_with_one(encoder: PieceEncoder) -> None:
    """Behind a word an opener is a word of its own, and another piece the end of that word."""
    vocabulary, tokenizer = Vocabulary.of(encoder), encoder.tokenizer
    (anchor, *_) = encoder.pieces(["a"])[0]
    lead = tokenizer.decode([anchor])
    for opening, space in ((True, " "), (False, "")):
        for piece in vocabulary.allowed(OPENING if opening else INSIDE):
            assert tokenizer.decode([anchor, piece]) == lead + space + vocabulary.texts[piece]


def test_pieces_of_a_word_write_the_word(encoder: PieceEncoder) -> None:
    vocabulary = Vocabulary.of(encoder)
    folds = encoder.pieces(["ADA"]) == encoder.pieces(["ada"])
    written = 0
    for word in ["Lovelace", "London", "Ada", "program", "famous", "Grace", "दिल्ली", "personal", "1"]:
        pieces = encoder.pieces([word])[0]
        if all(vocabulary.texts[piece] for piece in pieces):
            assert vocabulary.places(pieces)[0]
            assert not any(vocabulary.places(pieces)[1:])
            whole = unicodedata.normalize("NFD", word.lower()) if folds else word
            assert vocabulary.word(pieces) == "".join(c for c in whole if not folds or unicodedata.category(c) != "Mn")
            written += 1
    assert written >= 3


def test_a_word_with_a_piece_that_is_fit_for_none_counts_as_one_opener(encoder: PieceEncoder) -> None:
    vocabulary = Vocabulary.of(encoder)
    for word in ["\u200b", "👩‍👩‍👧", "(Ada", "[MASK]", "…"]:
        assert vocabulary.places(encoder.pieces([word])[0]) == [True]
    assert vocabulary.places([10**6]) == [True], "a tag token"


def test_chinese_characters_of_a_wordpiece_vocabulary_may_all_open(tiny_masked_lms: dict[str, Path]) -> None:
    encoder = PieceEncoder(ModelSource(str(tiny_masked_lms["wordpiece"])).tokenizer())
    assert Vocabulary.of(encoder).places(encoder.pieces(["東京"])[0]) == [True, True]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Ada", True),
        ("3", True),
        ("don't", True),
        ("दिल्ली", True),
        ("क्ष\u200dमा", True),
        ("北京", True),
        ("", False),
        (".", False),
        ("👩‍🚀", False),
        ("a b", False),
        ("a\u00a0b", False),
        ("a\x07", False),
        ("caf\ufffd", False),
        ("[unused12]", False),
        ("[UNUSED_12]", False),
        ("<extra_id_3>", False),
        ("madeupword0001", False),
        ("<unk>", False),
        ("</s>", False),
        ("<|endoftext|>", False),
        ("[CLS]", False),
        ("|||EMAIL_ADDRESS|||", False),
        ("[sic]", True),
        ("unused", True),
        ("reserved", True),
    ],
)
@pytest.mark.parametrize("opens", [True, False])
def test_what_a_reader_would_take_for_part_of_a_word(text: str, clean: bool, opens: bool) -> None:
    assert _is_clean(text, opens) == clean


def test_a_vowel_sign_opens_no_word() -> None:
    assert _is_clean("ि", opens=False)
    assert not _is_clean("ि", opens=True)


def words_alone(folder: Path, model: Any, decoder: Any = None, trainer: Any = None) -> PieceEncoder:
    """A tokenizer without marks in front of pieces."""
    from tokenizers import Tokenizer, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if trainer is not None:
        tokenizer.decoder = decoder
        tokenizer.train_from_iterator(MASKED_TEXT, trainer)
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(folder)
    return PieceEncoder(AutoTokenizer.from_pretrained(folder))


def test_where_marks_stand_at_the_end_of_words_their_beginnings_are_no_words(tmp_path: Path) -> None:
    """As in the tokenizers of XLM, FlauBERT and HerBERT."""
    from tokenizers import decoders, models, trainers

    trainer = trainers.BpeTrainer(
        special_tokens=["[PAD]", "[UNK]", "[MASK]"], end_of_word_suffix="</w>", vocab_size=600
    )
    model = models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>")
    encoder = words_alone(tmp_path, model, decoders.BPEDecoder(suffix="</w>"), trainer)
    vocabulary = Vocabulary.of(encoder)
    openers, others = (
        encoder.tokenizer.convert_ids_to_tokens(vocabulary.allowed(OPENING if opening else INSIDE))
        for opening in (True, False)
    )
    assert {"London</w>", "Ada</w>", "दिल्ली</w>"} & set(openers)
    assert all(piece.endswith("</w>") for piece in openers)
    assert others
    assert not any(piece.endswith("</w>") for piece in others)
    pieces = encoder.pieces(["Londonada"])[0]
    assert vocabulary.places(pieces) == [False] * (len(pieces) - 1) + [True]
    assert vocabulary.word(pieces) == "Londonada"


def test_marks_that_a_word_goes_on_are_no_part_of_it(tmp_path: Path) -> None:
    """As in the tokenizers of PhoBERT and BERTweet, which are there in Python alone."""
    from transformers import PhobertTokenizer

    pieces = ["l@@", "o@@", "w@@", "e@@", "lo@@", "low@@", "low", "er", "w", "a", "r", "e", "o", "l"]
    (tmp_path / "vocab.txt").write_text("".join(f"{piece} 1\n" for piece in pieces), "utf-8")
    (tmp_path / "bpe.codes").write_text("l o 3\nlo w 3\nlo w</w> 3\ne r</w> 3\n", "utf-8")
    tokenizer = PhobertTokenizer(str(tmp_path / "vocab.txt"), str(tmp_path / "bpe.codes"))
    encoder = PieceEncoder(tokenizer)
    vocabulary = Vocabulary.of(encoder)
    assert not any("@" in text for text in vocabulary.texts)
    (lower,) = encoder.pieces(["lower"])
    assert tokenizer.convert_ids_to_tokens(lower) == ["low@@", "er"]
    assert vocabulary.word(lower) == "lower"
    assert vocabulary.places(lower) == [INSIDE, OPENING]


def test_a_vocabulary_of_whole_words_has_no_other_pieces(tmp_path: Path) -> None:
    from tokenizers import models

    words = ["[PAD]", "[UNK]", "[MASK]", "Ada", "won", "a", "दिल्ली", "."]
    model = models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]")
    vocabulary = Vocabulary.of(words_alone(tmp_path, model))
    assert [vocabulary.texts[piece] for piece in vocabulary.allowed(OPENING)] == ["Ada", "won", "a", "दिल्ली"]
    assert vocabulary.allowed(INSIDE) == []


def test_a_vocabulary_without_a_whole_word_is_refused(tmp_path: Path) -> None:
    build_tokenizer("bytes", tmp_path, ["東京", "日本", "北京"], 300)
    encoder = PieceEncoder(AutoTokenizer.from_pretrained(tmp_path))
    with pytest.raises(MissingResourceError, match=f'no piece of the tokenizer of "{tmp_path}" is a whole word, so'):
        Vocabulary.of(encoder)


def test_the_bundled_vocabulary_has_words_and_no_stock() -> None:
    encoder = PieceEncoder(ModelSource("bundled").tokenizer())
    vocabulary = Vocabulary.of(encoder)
    openers: Any = {vocabulary.texts[piece] for piece in vocabulary.allowed(OPENING)}
    assert {"paris", "london", "john", "the", "1999"} <= openers
    assert not [text for text in vocabulary.texts if "unused" in text and text != "unused"]
    assert not openers & {"[MASK]", "[PAD]", "##s", ".", ",", ""}
    assert len(openers) > 20_000


def test_a_tokenizer_that_cannot_write_words_is_refused(tiny_masked_lms: dict[str, Path]) -> None:
    tokenizer = ModelSource(str(tiny_masked_lms["wordpiece"])).tokenizer()
    check_decoder(tokenizer)
    tokenizer.backend_tokenizer.decoder = None
    with pytest.raises(MissingResourceError, match=r"has no decoder, .*Save it with one"):
        check_decoder(tokenizer)


def test_korean_syllables_that_were_taken_apart_are_put_together(tmp_path: Path) -> None:
    build_tokenizer("wordpiece", tmp_path, ["철수는 서울에서 일한다", "ka क़"])
    encoder = PieceEncoder(AutoTokenizer.from_pretrained(tmp_path))
    vocabulary = Vocabulary.of(encoder)
    for word in ("서울에서", "철수는"):
        (pieces,) = encoder.pieces([word])
        assert "".join(vocabulary.texts[piece] for piece in pieces) == unicodedata.normalize("NFD", word)
        assert vocabulary.word(pieces) == word


def test_behind_a_border_mark_stands_what_goes_on_with_a_word(tiny_masked_lms: dict[str, Path]) -> None:
    """SentencePiece cuts words of scripts without spaces into a border mark and pieces that open no word."""
    model = MaskedLM(ModelSource(str(tiny_masked_lms["unigram"])), precision="fp32")
    vocabulary = model.vocabulary
    border, *rest = model.encoder.pieces(["東京"])[0]
    assert vocabulary.marks == {border}
    assert [vocabulary.texts[piece] for piece in rest] == ["東", "京"]
    assert vocabulary.places((border, *rest)) == [BEHIND_BORDER, INSIDE]
    inner = {vocabulary.texts[piece] for piece in vocabulary.allowed(BEHIND_BORDER)}
    assert {"東", "京", "म"} <= inner
    assert "े" not in inner, "a vowel sign begins no word"
    (guesses,) = model.guesses([Cloze(("東京", "は"), (0,))], 500)[0]
    assert {word for word, _ in guesses} == inner, "not what opens a word, which would have a border of its own"
