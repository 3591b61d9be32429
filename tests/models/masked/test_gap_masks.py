from __future__ import annotations

from typing import Any

import pytest

from nersery.augment.words.stop_words import latin_function_words
from nersery.models.masked.gap_masks import GapMasks
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.subwords.subword_vocabulary import SubwordVocabulary

MASK = 99
TEXTS = (
    "학교",
    "에서",
    "는",
    "사람",
    "것을",
    "책",
    "을",
    "king",
    "König",
    "Google",
    "गाना",
    "나",
    "노",
    "이",
    "東京",
    "",
)
OPENING = {"학교", "사람", "것을", "책", "king", "König", "Google", "गाना", "나", "東京"}
ALL = (*TEXTS, "und", "the", "of", "eu", "EU", "Facebook")
VOCABULARY = SubwordVocabulary(TEXTS, tuple(text in OPENING for text in TEXTS))
SUBWORDS = {
    "학교에서는": ("학교", "에서", "는"),
    "책을": ("책", "을"),
    "책을,": ("책", "을", ""),
    "것을": ("것을",),
    "나노이": ("나", "노", "이"),
}


class Encoder:
    """A substitute for an encoder with these subwords."""

    max_subwords = 128

    def subwords(self, words: list[str]) -> list[tuple[int, ...]]:
        return [tuple(ALL.index(part) for part in SUBWORDS.get(word, (word,))) for word in words]


def found(
    word: str, script: str, vocabulary: SubwordVocabulary = VOCABULARY, **drawing: Any
) -> tuple[tuple[str, ...], set[str]]:
    """The template of a word, and the texts that may be drawn for its first mask."""
    encoder: Any = Encoder()
    subwords, keys = GapMasks(encoder, vocabulary, MASK).template(word, (script, False), Drawing(**drawing))
    shown = tuple("_" if subword == MASK else TEXTS[subword] for subword in subwords)
    return shown, {TEXTS[subword] for subword in vocabulary.allowed(*keys[0])}


@pytest.mark.parametrize("punctuation", [False, True])
def test_korean_particles_are_kept_after_a_replaced_stem(punctuation: bool) -> None:
    """Otherwise a bare noun would replace a subject or an object."""
    stems = {"학교", "사람", "책", "나"}
    assert found("학교에서는", "HANGUL", punctuation=punctuation) == (("_", "에서", "는"), stems)
    assert found("책을,", "HANGUL", punctuation=punctuation) == (("_", "을"), stems)


def test_replaces_endings_that_only_look_like_particles() -> None:
    assert found("나노이", "HANGUL") == (("_",), {*"학교 사람 것을 책 나".split()})
    assert found("것을", "HANGUL")[0] == ("_",)
    assert found("학교에서는", "HANGUL", by_subword=True)[0] == ("_", "_", "_")


def test_a_latin_word_in_other_scripts_becomes_a_language_neutral_one() -> None:
    """In Hindi text it used to become a German or French word."""
    vocabulary = SubwordVocabulary(ALL, (*VOCABULARY.begins, *[True] * 6), function_words=frozenset(ALL[-6:-3]))

    def drawn(word: str, script: str, **drawing: Any) -> set[str]:
        encoder: Any = Encoder()
        _, keys = GapMasks(encoder, vocabulary, MASK).template(word, (script, False), Drawing(**drawing))
        return {ALL[subword] for subword in vocabulary.allowed(*keys[0])}

    everything = {"king", "König", "Google", "und", "the", "of", "eu", "EU", "Facebook"}
    assert drawn("Google", "DEVANAGARI") == {"Google", "EU", "Facebook"}, "a capital stays one"
    assert drawn("König", "DEVANAGARI") == {"Google", "EU", "Facebook"}, "its own accent does not tell the language"
    assert drawn("king", "DEVANAGARI") == {"king", "Google", "EU", "Facebook"}
    assert drawn("king", "LATIN") == drawn("king", "DEVANAGARI", by_subword=True) == everything
    assert drawn("und", "DEVANAGARI") == everything, "a function word may become another one"
    assert drawn("गाना", "LATIN") == {"गाना"}


def test_a_rare_word_becomes_a_whole_word_if_its_script_has_any() -> None:
    """XLM-R splits Yoruba *Ọ̀yọ́* into a border and parts of words; *Ng* and *Nh* used to replace it."""
    texts = ("", "Oslo", "Ng", "東京", "京", "ܫܠܡ", "ܐ")
    vocabulary = SubwordVocabulary(texts, (False, True, False, True, False, False, False), marks=frozenset([0]))

    class Cutter(Encoder):
        def subwords(self, words: list[str]) -> list[tuple[int, ...]]:
            return [(0, texts.index(word)) for word in words]

    def drawn(word: str, script: str, *, by_subword: bool = False) -> tuple[tuple[int, ...], set[str]]:
        encoder: Any = Cutter()
        masked = GapMasks(encoder, vocabulary, MASK)
        subwords, keys = masked.template(word, (script, False), Drawing(by_subword=by_subword))
        return subwords, {texts[subword] for subword in vocabulary.allowed(*keys[0])}

    assert drawn("Ng", "LATIN") == ((MASK,), {"Oslo"})
    assert drawn("Ng", "LATIN", by_subword=True) == ((0, MASK), {"Ng"})
    assert drawn("京", "CJK") == ((0, MASK), {"京"}), "its words have no border"
    assert drawn("ܐ", "SYRIAC") == ((0, MASK), {"ܫܠܡ", "ܐ"})


def test_a_word_of_a_name_does_not_become_a_function_word() -> None:
    """Otherwise *[of King]* and *[the]* would be persons."""
    stop = frozenset(["the", "of", "eu"])
    vocabulary = SubwordVocabulary(ALL, (*VOCABULARY.begins, *[True] * 6), own_function_words=stop)

    def drawn(word: str, **options: Any) -> set[str]:
        encoder: Any = Encoder()
        by_subword = options.pop("by_subword", False)
        template = GapMasks(encoder, vocabulary, MASK).template
        _, keys = template(word, ("LATIN", False), Drawing(by_subword=by_subword), **options)
        return {ALL[subword] for subword in vocabulary.allowed(*keys[0])}

    everything = drawn("king")
    assert everything >= {"king", "the", "of", "EU"}
    assert drawn("king", is_name=True) == everything - {"the", "of", "eu", "EU"}
    assert drawn("the", is_name=True) == everything
    assert drawn("king", is_name=True, by_subword=True) == everything


@pytest.mark.parametrize(
    ("old", "new"),
    [("world's", "Oslo's"), ("Jehovah’s,", "Oslo’s,"), ("'s", "Oslo"), ("l's", "Oslo"), ("workers", "Oslo")],
)
def test_a_name_keeps_its_possessive(old: str, new: str) -> None:
    words = ("the", old, "witnesses")
    assert MaskedInput(words, (1,), names=frozenset([1])).with_affixes(1, "Oslo") == new
    assert MaskedInput(words, (1,)).with_affixes(1, "Oslo") == ("Oslo," if old.endswith(",") else "Oslo"), "it's"


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("tr", "Ankara'da", "Oslo'da"),
        ("tr-TR", "Türkiye’nin,", "Oslo’nun,"),
        ("tur", "L'Oréal'in", "Oslo'nun"),
        ("tr", "Bakanlığı'ndan", "Oslo'dan"),
        ("az", "Bakı'də", "Oslo'də"),
        ("fi", "EU:n", "Oslo:n"),
        ("tr", "O'Brien", "Oslo"),
        ("tr", "L'Oréal", "Oslo"),
        ("tr", "d'Artagnan", "Oslo"),
        ("tr", "Kur'an", "Oslo"),
        ("en", "Sana'a", "Oslo"),
        ("", "Ankara'da", "Oslo"),
    ],
)
def test_a_name_keeps_the_suffix_after_its_apostrophe(language: str, old: str, new: str) -> None:
    words = ("dün", old, "idi")
    assert MaskedInput(words, (1,), names=frozenset([1]), language=language).with_affixes(1, "Oslo") == new
    without = MaskedInput(words, (1,), language=language).with_affixes(1, "Oslo")
    assert without == ("Oslo," if old.endswith(",") else "Oslo")


@pytest.mark.parametrize(
    ("old", "new"),
    [("#Rome", "#Oslo"), ("(#Rome’s,", "(#Oslo’s,"), ("＃東京", "＃Oslo"), ("#1", "Oslo"), ("C#", "Oslo")],
)
def test_a_hashtag_stays_a_hashtag(old: str, new: str) -> None:
    assert MaskedInput(("in", old, "."), (1,), names=frozenset([1])).with_affixes(1, "Oslo") == new


def test_latin_function_words_identify_their_language() -> None:
    words = latin_function_words()
    assert words >= {"the", "of", "und", "des", "que", "ve"}
    assert words.isdisjoint(["google", "linux", "london", "film"])
