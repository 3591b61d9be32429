from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from transformers import AddedToken, AutoTokenizer

from nersery.core.errors import MissingResourceError
from nersery.io.word_splitting.scripts_without_spaces import follows_without_space
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource
from nersery.models.subwords.subword_vocabulary import (
    BEHIND_BORDER,
    INSIDE,
    JOINED,
    OPENING,
    WORD_OR_PUNCTUATION,
    SubwordVocabulary,
    _is_clean,
    check_decoder,
)
from nersery.models.subwords.subwords import SubwordEncoder
from tests.conftest import MASKED_TEXT, build_tokenizer

MARKS = ("##", "▁", "Ġ", "</w>", "\ufffd", "\t", "[", "]", "<", ">")
KINDS = ["wordpiece", "bytes", "unigram"]


@pytest.fixture(scope="module", params=KINDS)
def encoder(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> SubwordEncoder:
    return SubwordEncoder(ModelSource(str(tiny_masked_lms[request.param])).tokenizer())


def test_every_subword_has_an_entry(encoder: SubwordEncoder) -> None:
    vocabulary = SubwordVocabulary.of(encoder)
    assert len(vocabulary.texts) == len(vocabulary.begins) == len(encoder.tokenizer)


def test_no_text_has_marks_spaces_or_parts_of_characters(encoder: SubwordEncoder) -> None:
    texts = [text for text in SubwordVocabulary.of(encoder).texts if text]
    assert len(texts) > 50
    assert not [text for text in texts if any(mark in text for mark in MARKS)]
    assert not [text for text in texts if text != "".join(text.split())]
    assert not [text for text in texts if not any(unicodedata.category(c)[0] in "LNM" for c in text)]


def test_special_tokens_are_not_allowed_in_words(encoder: SubwordEncoder) -> None:
    vocabulary = SubwordVocabulary.of(encoder)
    assert {vocabulary.texts[subword] for subword in encoder.tokenizer.all_special_ids} == {""}
    allowed = {*vocabulary.allowed(OPENING), *vocabulary.allowed(INSIDE)}
    assert not allowed & set(encoder.tokenizer.all_special_ids)


def test_added_special_tokens_are_not_allowed_in_words(tiny_masked_lms: dict[str, Path]) -> None:
    tokenizer = ModelSource(str(tiny_masked_lms["bytes"])).tokenizer()
    tokenizer.add_tokens([AddedToken("marker", special=True), AddedToken("covid", special=False)])
    assert SubwordVocabulary.of(SubwordEncoder(tokenizer)).texts[-2:] == ("", "covid")


def test_openers_begin_a_word_and_other_subwords_continue_one(encoder: SubwordEncoder) -> None:
    """After a word, an opener begins a new word, and any other subword continues that word."""
    vocabulary, tokenizer = SubwordVocabulary.of(encoder), encoder.tokenizer
    (anchor, *_) = encoder.subwords(["a"])[0]
    lead = tokenizer.decode([anchor])
    for opening, space in ((True, " "), (False, "")):
        for subword in vocabulary.allowed(OPENING if opening else INSIDE):
            assert tokenizer.decode([anchor, subword]) == lead + space + vocabulary.texts[subword]


def test_the_subwords_of_a_word_are_joined_to_the_word(encoder: SubwordEncoder) -> None:
    vocabulary = SubwordVocabulary.of(encoder)
    folds = encoder.subwords(["ADA"]) == encoder.subwords(["ada"])
    written = 0
    for word in ["Lovelace", "London", "Ada", "program", "famous", "Grace", "दिल्ली", "personal", "1"]:
        subwords = encoder.subwords([word])[0]
        if all(vocabulary.texts[subword] for subword in subwords):
            assert vocabulary.places(subwords)[0]
            assert not any(vocabulary.places(subwords)[1:])
            whole = unicodedata.normalize("NFD", word.lower()) if folds else word
            assert vocabulary.word(subwords) == "".join(
                c for c in whole if not folds or unicodedata.category(c) != "Mn"
            )
            written += 1
    assert written >= 3


def test_a_word_with_an_unusable_subword_counts_as_one_opener(encoder: SubwordEncoder) -> None:
    vocabulary = SubwordVocabulary.of(encoder)
    for word in ["\u200b", "👩‍👩‍👧", "(Ada", "[MASK]", "…"]:
        assert vocabulary.places(encoder.subwords([word])[0]) == [True]
    assert vocabulary.places([10**6]) == [True], "a tag token"


def test_chinese_characters_of_a_wordpiece_vocabulary_are_all_openers(tiny_masked_lms: dict[str, Path]) -> None:
    encoder = SubwordEncoder(ModelSource(str(tiny_masked_lms["wordpiece"])).tokenizer())
    assert SubwordVocabulary.of(encoder).places(encoder.subwords(["東京"])[0]) == [True, True]


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
def test_accepts_only_texts_that_read_as_part_of_a_word(text: str, clean: bool, opens: bool) -> None:
    assert _is_clean(text, opens) == clean


def test_a_vowel_sign_does_not_open_a_word() -> None:
    assert _is_clean("ि", opens=False)
    assert not _is_clean("ि", opens=True)


def words_alone(folder: Path, model: Any, decoder: Any = None, trainer: Any = None) -> SubwordEncoder:
    """A tokenizer without marks in front of subwords."""
    from tokenizers import Tokenizer, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if trainer is not None:
        tokenizer.decoder = decoder
        tokenizer.train_from_iterator(MASKED_TEXT, trainer)
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(folder)
    return SubwordEncoder(AutoTokenizer.from_pretrained(folder))


def test_with_end_of_word_marks_only_final_subwords_are_words(tmp_path: Path) -> None:
    """As in the tokenizers of XLM, FlauBERT and HerBERT."""
    from tokenizers import decoders, models, trainers

    trainer = trainers.BpeTrainer(
        special_tokens=["[PAD]", "[UNK]", "[MASK]"], end_of_word_suffix="</w>", vocab_size=600
    )
    model = models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>")
    encoder = words_alone(tmp_path, model, decoders.BPEDecoder(suffix="</w>"), trainer)
    vocabulary = SubwordVocabulary.of(encoder)
    openers, others = (
        encoder.tokenizer.convert_ids_to_tokens(vocabulary.allowed(OPENING if opening else INSIDE))
        for opening in (True, False)
    )
    assert {"London</w>", "Ada</w>", "दिल्ली</w>"} & set(openers)
    assert all(subword.endswith("</w>") for subword in openers)
    assert others
    assert not any(subword.endswith("</w>") for subword in others)
    subwords = encoder.subwords(["Londonada"])[0]
    assert vocabulary.places(subwords) == [False] * (len(subwords) - 1) + [True]
    assert vocabulary.word(subwords) == "Londonada"


def test_continuation_marks_are_not_part_of_the_word(tmp_path: Path) -> None:
    """As in the tokenizers of PhoBERT and BERTweet, which exist only in Python."""
    from transformers import PhobertTokenizer

    subwords = ["l@@", "o@@", "w@@", "e@@", "lo@@", "low@@", "low", "er", "w", "a", "r", "e", "o", "l"]
    (tmp_path / "vocab.txt").write_text("".join(f"{subword} 1\n" for subword in subwords), "utf-8")
    (tmp_path / "bpe.codes").write_text("l o 3\nlo w 3\nlo w</w> 3\ne r</w> 3\n", "utf-8")
    tokenizer = PhobertTokenizer(str(tmp_path / "vocab.txt"), str(tmp_path / "bpe.codes"))
    encoder = SubwordEncoder(tokenizer)
    vocabulary = SubwordVocabulary.of(encoder)
    assert not any("@" in text for text in vocabulary.texts)
    (lower,) = encoder.subwords(["lower"])
    assert tokenizer.convert_ids_to_tokens(lower) == ["low@@", "er"]
    assert vocabulary.word(lower) == "lower"
    assert vocabulary.places(lower) == [INSIDE, OPENING]


def test_a_vocabulary_of_whole_words_has_no_other_subwords(tmp_path: Path) -> None:
    from tokenizers import models

    words = ["[PAD]", "[UNK]", "[MASK]", "Ada", "won", "a", "दिल्ली", "."]
    model = models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]")
    vocabulary = SubwordVocabulary.of(words_alone(tmp_path, model))
    assert [vocabulary.texts[subword] for subword in vocabulary.allowed(OPENING)] == ["Ada", "won", "a", "दिल्ली"]
    assert vocabulary.allowed(INSIDE) == []


def test_refuses_a_vocabulary_without_a_whole_word(tmp_path: Path) -> None:
    build_tokenizer("bytes", tmp_path, ["東京", "日本", "北京"], 300)
    encoder = SubwordEncoder(AutoTokenizer.from_pretrained(tmp_path))
    with pytest.raises(MissingResourceError, match=f'no subword of the tokenizer of "{tmp_path}" is a whole word, so'):
        SubwordVocabulary.of(encoder)


def test_the_bundled_vocabulary_has_words_and_no_unused_tokens() -> None:
    encoder = SubwordEncoder(ModelSource("bundled").tokenizer())
    vocabulary = SubwordVocabulary.of(encoder)
    openers: Any = {vocabulary.texts[subword] for subword in vocabulary.allowed(OPENING)}
    assert {"paris", "london", "john", "the", "1999"} <= openers
    assert not [text for text in vocabulary.texts if "unused" in text and text != "unused"]
    assert not openers & {"[MASK]", "[PAD]", "##s", ".", ",", ""}
    assert len(openers) > 20_000


def test_refuses_a_tokenizer_without_a_decoder(tiny_masked_lms: dict[str, Path]) -> None:
    tokenizer = ModelSource(str(tiny_masked_lms["wordpiece"])).tokenizer()
    check_decoder(tokenizer)
    tokenizer.backend_tokenizer.decoder = None
    with pytest.raises(MissingResourceError, match=r"has no decoder, .*Save it with one"):
        check_decoder(tokenizer)


def test_decomposed_korean_syllables_are_composed(tmp_path: Path) -> None:
    build_tokenizer("wordpiece", tmp_path, ["철수는 서울에서 일한다", "ka क़"])
    encoder = SubwordEncoder(AutoTokenizer.from_pretrained(tmp_path))
    vocabulary = SubwordVocabulary.of(encoder)
    for word in ("서울에서", "철수는"):
        (subwords,) = encoder.subwords([word])
        assert "".join(vocabulary.texts[subword] for subword in subwords) == unicodedata.normalize("NFD", word)
        assert vocabulary.word(subwords) == word


def test_decomposed_thai_and_lao_am_is_composed() -> None:
    texts = tuple(unicodedata.normalize("NFKC", word) for word in ("น้ำ", "ຄຳ"))
    vocabulary = SubwordVocabulary(texts, (True,) * 2)
    assert [vocabulary.word([subword]) for subword in range(2)] == ["น้ำ", "ຄຳ"]


def test_subwords_after_a_border_mark_continue_a_word(tiny_masked_lms: dict[str, Path]) -> None:
    """SentencePiece splits rare words into a border mark and subwords that open no word."""
    vocabulary = MaskedLM(ModelSource(str(tiny_masked_lms["unigram"])), precision="fp32").vocabulary
    (border,) = vocabulary.marks
    inner = vocabulary.allowed(BEHIND_BORDER)
    assert vocabulary.places((border, inner[0], inner[1])) == [BEHIND_BORDER, INSIDE]
    texts = {vocabulary.texts[subword] for subword in inner}
    assert {"東", "京", "म"} <= texts
    assert "े" not in texts, "a vowel sign begins no word"


def test_words_of_a_script_without_spaces_are_filled_by_such_words(tiny_masked_lms: dict[str, Path]) -> None:
    model = MaskedLM(ModelSource(str(tiny_masked_lms["unigram"])), precision="fp32")
    vocabulary = model.vocabulary
    (subwords,) = model.encoder.subwords(["東京"])
    assert [vocabulary.texts[subword] for subword in subwords] == ["東", "京"]
    assert vocabulary.places(subwords) == [JOINED, INSIDE]
    joined = {vocabulary.texts[subword] for subword in vocabulary.allowed(JOINED)}
    assert {"東", "京"} <= joined
    assert all(map(follows_without_space, joined))
    (guesses,) = model.guesses([MaskedInput(("東京", "は"), (0,))], 500)[0]
    assert {word for word, _ in guesses} == joined
    (characters,) = model.guesses([MaskedInput(("東", "は"), (0,))], 500)[0]
    assert {word for word, _ in characters} == {word for word in joined if len(word) == 1}
    (guesses,) = model.guesses([MaskedInput(("東京", "は"), (0,))], 500, punctuation=True)[0]
    assert {word for word, _ in guesses} == joined | set(vocabulary.punctuation.values())
    (alone,) = model.guesses([MaskedInput(("東", "は"), (0,))], 500, punctuation=True)[0]
    assert {word for word, _ in alone} == {word for word, _ in characters} | set(vocabulary.punctuation.values())


def test_a_place_allows_only_subwords_of_its_script() -> None:
    texts = ("ada", "राम", "ि", "1843", "東京", "カナ", "東", "ที่", "ที่ดิน")
    vocabulary = SubwordVocabulary(texts, (True,) * len(texts))
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("", "LATIN"))] == ["ada", "1843"]
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("", "DEVANAGARI"))] == ["राम", "ि", "1843"]
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("", "CJK"))] == ["1843", "東京", "カナ", "東"]
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("LATIN",))] == ["ada"]
    assert vocabulary.allowed(OPENING, ("", "TAMIL")) == vocabulary.allowed(OPENING) == list(range(9))
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("", "CJK"), single=True)] == ["東"]
    assert [texts[subword] for subword in vocabulary.allowed(OPENING, ("", "THAI"), single=True)] == ["ที่"]
    assert SubwordVocabulary(("ada",), (True,)).allowed(OPENING, ("", "CJK"), single=True) == [0]


def test_a_number_has_no_digits_of_another_script() -> None:
    vocabulary = SubwordVocabulary(("1843", "১৮", "១៨", "١٨", "۱۸", "রাম"), (True,) * 6)
    assert vocabulary.scripts == ("", "BENGALI DIGIT", "KHMER DIGIT", "ARABIC DIGIT", "ARABIC DIGIT", "BENGALI")
    assert vocabulary.allowed(OPENING, ("", "BENGALI DIGIT", "BENGALI")) == [0, 1, 5]


def test_words_with_attached_punctuation_are_not_words() -> None:
    vocabulary = SubwordVocabulary(("2018", "2018.", "(1)", "50%", "U.S.", "ہے۔"), (True,) * 6)
    assert vocabulary.allowed(OPENING) == [0, 3, 4]


def test_bare_consonants_and_letter_like_signs_are_not_words() -> None:
    texts = ("स्", "ஸ்ட்", "ප්", "ๆ", "कल", "கல்", "ဒေါ်", "and")
    vocabulary = SubwordVocabulary(texts, (True,) * len(texts))
    assert [texts[subword] for subword in vocabulary.allowed(OPENING)] == ["कल", "கல்", "ဒေါ်", "and"]


def test_excluding_capitals_leaves_other_words() -> None:
    vocabulary = SubwordVocabulary(("oslo", "Rome", "राम"), (True,) * 3)
    assert vocabulary.allowed(OPENING, ("", "LATIN"), capital=False) == [0]
    assert SubwordVocabulary(("Rome",), (True,)).allowed(OPENING, capital=False) == [0], "there is no other word"


def test_requiring_a_capital_leaves_only_matching_words_and_signs() -> None:
    vocabulary = SubwordVocabulary(("oslo", "Rome", "iPad", "राम", "12", ""), (True,) * 6, punctuation={5: "("})
    assert vocabulary.allowed(OPENING, ("", "LATIN"), capital=True) == [1]
    assert vocabulary.allowed(WORD_OR_PUNCTUATION, ("", "LATIN"), capital=True) == [1, 5]
    assert vocabulary.allowed(OPENING, ("", "DEVANAGARI"), capital=True) == [3, 4], "the script has none"


def test_a_sign_after_a_border_mark_is_allowed(tmp_path: Path) -> None:
    """XLM-R has no full stop or comma with a border; it used to write sentences without an end."""
    build_tokenizer("unigram", tmp_path, ["it rained, then it stopped. we saw it."] * 3)
    encoder = SubwordEncoder(AutoTokenizer.from_pretrained(tmp_path))
    vocabulary = SubwordVocabulary.of(encoder)
    (stop,) = encoder.subwords(["."])
    assert len(stop) == 2, "a border mark and the sign"
    assert vocabulary.punctuation[stop[-1]] == "."
    assert stop[-1] in vocabulary.allowed(WORD_OR_PUNCTUATION, ("", "LATIN"))


def test_signs_of_a_script_without_spaces_are_limited_to_it() -> None:
    vocabulary = SubwordVocabulary(
        ("Rome", "東", "", "", "", ""), (True,) * 6, punctuation={2: ".", 3: "。", 4: "・", 5: "។"}
    )
    assert vocabulary.allowed(WORD_OR_PUNCTUATION, ("", "LATIN")) == [0, 2]
    assert vocabulary.allowed(WORD_OR_PUNCTUATION, ("", "CJK")) == [1, 2, 3, 4]
    assert vocabulary.scripts[5] == "KHMER"


def test_subwords_that_only_begin_words_are_not_words() -> None:
    """The Arabic article or a Korean stem; but not a separate word, one that begins none, or a long one."""
    texts = ("ال", "받", "to", "re", "Oslo", "\u0628\u064a\u062a", "day", ",")
    vocabulary = SubwordVocabulary((*texts[:-1], ""), (True,) * 5 + (False,) * 3)
    article, stem, to, re, oslo, house, day, comma = range(8)
    words = [(article, house), (article, day), (stem, house), (to,), (to, day), (to, house)]
    words += [(oslo, day), (oslo, house), (re, comma)]
    known = vocabulary.without_beginnings(words)
    assert known.beginnings == {article, stem}
    assert known.allowed(OPENING) == [to, re, oslo]
    assert vocabulary.allowed(OPENING) == [article, stem, to, re, oslo]


def test_allows_only_signs_of_the_text_and_those_that_end_words() -> None:
    punctuation = {1: "'", 2: "(", 3: "-", 4: "।", 5: ".", 6: "-"}
    vocabulary = SubwordVocabulary(("s", *[""] * 7), (True,) * 8, marks=frozenset([7]), punctuation=punctuation)
    apostrophe_s, bracketed, dash = (1, 0), (2, 0), (7, 3)
    assert {*vocabulary.without_foreign_punctuation([apostrophe_s, bracketed, dash]).punctuation} == {3, 4, 5, 6}


def test_a_letter_is_a_word_if_gold_has_it_or_its_script_has_no_spaces() -> None:
    """Excluded: Hindi and Korean syllables, English *s*; without spaces, only the beginnings of several words."""
    texts = ("a", "s", "सि", "불", "3", "東", "京", "day", "1a")
    vocabulary = SubwordVocabulary(texts, (True,) * 7 + (False, True))
    a, s, syllable, fire, _, east, capital, day, _ = range(9)
    known = vocabulary.without_beginnings([(a,), (a, day), (east, capital), (capital, east), (capital, day)])
    assert known.beginnings == {s, syllable, fire, capital}


def test_conjuncts_without_a_vowel_are_words_only_if_gold_has_them() -> None:
    """Bengali *গ্র*, Hindi *स्क्र*; but not Hindi *क्या*, Khmer, which has no spaces, or similar-looking words."""
    texts = ("গ্র", "स्क्र", "ട്ട", "क्या", "ល្អ", "प्रम", "a")
    vocabulary = SubwordVocabulary(texts, (True,) * 7)
    assert vocabulary.without_beginnings([(2,), (6,)]).beginnings == {0, 1}


def test_no_word_begins_with_a_silent_letter() -> None:
    """Thai *ร์*, Lao *ວ໌*, Khmer *ន៍* and Burmese *န်း* end words such as *เซอร์*."""
    texts = ("ร์", "ວ໌", "ន៍", "န်း", "เซอร์", "รัก", "နေ")
    assert SubwordVocabulary(texts, (True,) * 7).allowed(OPENING) == [4, 5, 6]


def test_words_end_in_a_bare_consonant_only_if_words_of_gold_do() -> None:
    texts = ("দুর্", "দল", "நான்", "தான்", "छन्", "சென்")
    vocabulary = SubwordVocabulary(texts, (True,) * 5 + (False,))
    prefix, team, i, only, are, to = range(6)
    for words, without in (([(team,), (i,)], {prefix, are}), ([(are,), (team,)], {prefix, i, only, to})):
        assert vocabulary.without_beginnings(words).beginnings == without
    assert vocabulary.without_beginnings([(team,), (team, to)]).allowed(OPENING) == [team, i, only]
