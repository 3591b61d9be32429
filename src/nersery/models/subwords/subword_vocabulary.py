"""The subwords of a vocabulary that can form words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from nersery.core.errors import MissingResourceError
from nersery.core.text.korean import has_ending
from nersery.core.text.scripts import digits_of, script_in_name, script_of
from nersery.core.text.spacing import lacks_spaces
from nersery.core.text.text_forms import respelled
from nersery.io.word_splitting.scripts_without_spaces import LETTERLIKE_SIGNS, follows_without_space, is_character
from nersery.io.word_splitting.tokenization import END_PUNCTUATION, outer_punctuation
from nersery.models.subwords.subwords import WORD_BORDER, SubwordEncoder

PLACEHOLDER = re.compile(r"[\[<(]?(unused|extra_id_|madeupword|reserved|placeholder)[_ ]?\d+[\]>)]?", re.IGNORECASE)
"""Unused entries of vocabularies."""

SPECIAL = re.compile(r"<[^<>]+>|\[[A-Z_]+\]|\|.+\|")
"""What special tokens look like. Tokenizers do not declare all of them."""

INSIDE, OPENING, BEHIND_BORDER, JOINED, WORD_OR_PUNCTUATION, JOINED_OR_PUNCTUATION = range(6)
"""Places of a subword: within a word, at its start, at its start after a border that is a subword of its own, at its
start in a script without spaces, and two places where a word or punctuation may start."""
VIRAMA = 9
"""Unicode's combining class of the mark that removes the vowel of a letter."""
SILENCING = "\N{THAI CHARACTER THANTHAKHAT}\N{LAO CANCELLATION MARK}\N{KHMER SIGN TOANDAKHIAT}\N{MYANMAR SIGN ASAT}"
"""Marks of a letter that is silent or ends a syllable, so that no word begins with it."""
SHORT = 3
"""The most letters of a subword that opens words but may not be a word. Longer ones are mostly words too."""
MAX_LETTER_LENGTH = 4
"""The most characters of a letter, including its marks or the parts of a Korean syllable."""
MAX_PUNCTUATION_LENGTH = 3
"""The most characters of punctuation, such as "...". Longer ones are decoration."""
STEMS, FOREIGN, NAME = "stems", "foreign", "name"
"""Kinds of words: words without a Korean ending, because one follows; Latin words that a text in another script may
have; words that may be part of a name."""


class SubwordConstraint(NamedTuple):
    """Which subwords may stand at a gap: the arguments of `SubwordVocabulary.allowed`."""

    place: int
    scripts: tuple[str, ...]
    single: bool
    capital: bool | None
    only: str = ""


@dataclass(frozen=True)
class SubwordVocabulary:
    """The texts of a model's subwords.

    Args:
        texts: The text of each subword without subword marks; empty if it cannot be part of a word: special tokens,
            parts of characters, placeholders, punctuation.
        begins: Whether a subword opens a word, and may be a whole word.
        marks: Subwords that only mark the border of a word.
        punctuation: Subwords that are punctuation and may stand alone, with their texts.
        beginnings: Subwords that open words but are not known to be words themselves.
        function_words: Latin function words such as *the* and *und*, in lower case.
        own_function_words: Case-folded function words of the languages of the text, in any script.
    """

    texts: tuple[str, ...]
    begins: tuple[bool, ...]
    marks: frozenset[int] = frozenset()
    punctuation: Mapping[int, str] = field(default_factory=dict)
    beginnings: frozenset[int] = frozenset()
    function_words: frozenset[str] = frozenset()
    own_function_words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, encoder: SubwordEncoder) -> SubwordVocabulary:
        """Derive the vocabulary from the behaviour of the tokenizer, so that subword marks (``##``, ``▁``, ``Ġ``) need
        not be known.

        If marks show the end of a word (``</w>``) or its continuation (``@@``), a subword is a whole word if its text
        is tokenized into that subword.

        Raises:
            MissingResourceError: If no subword is a whole word.
        """
        tokenizer = encoder.tokenizer
        (anchor, *_) = encoder.subwords(["a"])[0]
        added = tokenizer.added_tokens_decoder
        special = {*tokenizer.all_special_ids, *(subword for subword, token in added.items() if token.special)}
        ids = range(len(tokenizer))
        lead = _decode(tokenizer, [[anchor]])[0]
        decoded = _decode(tokenizer, [[anchor, subword] for subword in ids])
        tails = [text[len(lead) :] if text.startswith(lead) else "" for text in decoded]
        begins = tuple(tail[:1].isspace() for tail in tails)
        texts = tuple(
            "" if subword in special or not _is_clean(tail.strip(), begins[subword]) else tail.strip()
            for subword, tail in zip(ids, tails, strict=True)
        )
        # Marks are at the end of words, or the vocabulary has no marks.
        if all(begins[subword] for subword, text in enumerate(texts) if text):
            texts = _before(tokenizer, texts, anchor)
            whole = encoder.subwords(texts)
            begins = tuple(subwords == (subword,) for subword, subwords in enumerate(whole))
        if not any(text and whole for text, whole in zip(texts, begins, strict=True)):
            raise MissingResourceError(
                f'no subword of the tokenizer of "{tokenizer.name_or_path}" is a whole word, so its model cannot fill '
                "gaps with words. Name another masked language model, e.g. bert-base-multilingual-cased"
            )
        tokens = tokenizer.convert_ids_to_tokens([*ids])
        marks = frozenset(subword for subword, token in enumerate(tokens) if token == WORD_BORDER)
        punctuation_texts = {
            subword: tail.strip() for subword, tail in enumerate(tails) if _is_short_punctuation(tail.strip())
        }
        whole = encoder.subwords(list(punctuation_texts.values()))  # decoders may leave out the space before it
        punctuation = {
            subword: text
            for (subword, text), subwords in zip(punctuation_texts.items(), whole, strict=True)
            if subwords[-1:] == (subword,) and marks.issuperset(subwords[:-1]) and subword not in special
        }
        return cls(texts, begins, marks, punctuation)

    def without_beginnings(self, words: Iterable[Sequence[int]]) -> SubwordVocabulary:
        """The vocabulary without short subwords that open some of these distinct words but are not words themselves.

        An example is the Arabic article *ال*: a model that expects a long word predicts its beginning. Other single
        letters (Hindi *स*) are as rarely words. In scripts without spaces they often are, so there several words must
        begin with them.
        """
        inner = [word[self.border(tuple(word)) :] for word in words]
        whole = {word[0] for word in inner if len(word) == 1}
        opened = Counter(word[0] for word in inner if len(word) > 1 and self.texts[word[1]])
        several = (subword for subword, count in opened.items() if count > lacks_spaces(self.texts[subword]))
        short = {subword for subword in several if _is_short(self.texts[subword])}
        letters = {subword for subword, text in enumerate(self.texts) if self.begins[subword] and _is_letter(text)}
        return replace(self, beginnings=frozenset((short | letters) - whole) | self._without_end(inner))

    def with_function_words(self, latin: frozenset[str], own: frozenset[str]) -> SubwordVocabulary:
        """The vocabulary with these Latin function words and those of the text's languages; see its arguments."""
        return replace(self, function_words=latin, own_function_words=own)

    def without_foreign_punctuation(self, words: Iterable[Sequence[int]]) -> SubwordVocabulary:
        """The vocabulary without punctuation that is not in these words. Commas and others that can end words stay.

        A text that has *'s* and *(1)* as words has no lone apostrophe and bracket.
        """
        known = {
            *END_PUNCTUATION,
            ".",
            *(self.punctuation.get(word[-1]) for word in words if self.border(tuple(word)) == len(word) - 1),
        }
        return replace(self, punctuation={subword: text for subword, text in self.punctuation.items() if text in known})

    def _without_end(self, words: Iterable[Sequence[int]]) -> frozenset[int]:
        """Subwords that end in a consonant without a vowel, in scripts in which no word does: Bengali *দুর্*."""
        written = ([text for subword in word if (text := self.texts[subword])] for word in words)  # empty: punctuation
        scripts = {script_of(texts[-1]) for texts in written if texts and _ends_without_vowel(texts[-1])}
        bare = (subword for subword, text in enumerate(self.texts) if text and _ends_without_vowel(text))
        return frozenset(subword for subword in bare if script_of(self.texts[subword]) not in scripts)

    @cached_property
    def scripts(self) -> tuple[str, ...]:
        """The script of each subword. Numbers have that of their digits, and punctuation that of its script, if any."""
        of_punctuation = {subword: _script_of_punctuation(mark) for subword, mark in self.punctuation.items()}
        return tuple(
            script_of(text) or digits_of(text) or of_punctuation.get(subword, "")
            for subword, text in enumerate(self.texts)
        )

    @cached_property
    def opening_scripts(self) -> frozenset[str]:
        """The scripts that have whole words of one subword, border included."""
        return frozenset(self.scripts[subword] for subword in self._fit(OPENING))

    @cached_property
    def _parts_of_words(self) -> frozenset[int]:
        """Subwords with punctuation attached, such as "2018." and "(1)", consonants without a vowel, and Thai *ๆ*."""
        texts = ((subword, text) for subword, text in enumerate(self.texts) if text)
        no_words = (subword for subword, text in texts if any(outer_punctuation(text)) or _is_part_of_word(text))
        return self.beginnings.union(no_words)

    def allowed(
        self, place: int, scripts: Sequence[str] = (), single: bool = False, capital: bool | None = None, only: str = ""
    ) -> list[int]:
        """The subwords that may stand at a place.

        Args:
            scripts: Leave out those of other scripts, unless none is left; see `scripts`. Empty keeps all.
            single: Leave out words of several characters, unless none is left. Punctuation stays.
            capital: Leave out words that begin without a capital, unless none is left. Punctuation stays. False: leave
                words with capitals.
            only: Leave out words that are not of this kind, unless none is left. Empty keeps all.
        """
        fit = self._fit(place)
        if single and any(is_character(self.texts[subword]) for subword in fit):
            fit = [subword for subword in fit if subword in self.punctuation or is_character(self.texts[subword])]
        same = [subword for subword in fit if self.scripts[subword] in scripts] if any(scripts) else fit
        same = same if any(self.scripts[subword] for subword in same) else fit
        same = [subword for subword in same if self._is_of_kind(subword, only)] or same
        if capital is None:
            return same
        alike = [subword for subword in same if _is_in_case(self.texts[subword], capital)]
        return alike if any(self.texts[subword] for subword in alike) else same

    def _is_of_kind(self, subword: int, kind: str) -> bool:
        text = self.texts[subword]
        if kind == FOREIGN and text:  # drops words that reveal their language; names and terms are left
            return text.isascii() and text.lower() not in self.function_words and (len(text) > 2 or text.isupper())
        if kind == NAME:
            return text.casefold() not in self.own_function_words
        return kind != STEMS or not has_ending(text)

    def _fit(self, place: int) -> list[int]:
        opens = place in (OPENING, WORD_OR_PUNCTUATION)
        fit = [subword for subword, text in enumerate(self.texts) if text and self.begins[subword] == opens]
        if place != INSIDE:
            fit = [subword for subword in fit if subword not in self._parts_of_words]
        if place in (JOINED, JOINED_OR_PUNCTUATION):
            fit = [subword for subword in fit if follows_without_space(self.texts[subword])]
        if place in (WORD_OR_PUNCTUATION, JOINED_OR_PUNCTUATION):
            return sorted({*fit, *self.punctuation})
        if place in (INSIDE, OPENING):
            return fit
        return [subword for subword in fit if unicodedata.category(self.texts[subword][0])[0] != "M"]

    def border(self, subwords: tuple[int, ...]) -> int:
        """The number of subwords before a word that only mark its border."""
        return int(len(subwords) > 1 and subwords[0] in self.marks)

    def places(self, subwords: tuple[int, ...]) -> list[int]:
        """The place of each subword of a word, except those of its border.

        `OPENING` alone if a subword cannot be part of a word. In Chinese, some models only have subwords that may open
        a word.
        """
        border = self.border(subwords)
        if not all(subword < len(self.texts) and self.texts[subword] for subword in subwords[border:]):
            return [OPENING]
        first, *rest = (OPENING if self.begins[subword] else INSIDE for subword in subwords[border:])
        if first == INSIDE and border:
            first = BEHIND_BORDER
        elif first == INSIDE and follows_without_space(self.texts[subwords[0]]):
            first = JOINED
        return [first, *rest]

    def word(self, subwords: Sequence[int]) -> str:
        """The word that subwords form."""
        return respelled("".join(self.texts[subword] or self.punctuation.get(subword, "") for subword in subwords))


def check_decoder(tokenizer: Any) -> None:
    """Raise `MissingResourceError` for a tokenizer that cannot write words without subword marks."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and backend.decoder is None and type(backend.model).__name__ != "WordLevel":
        raise MissingResourceError(
            f'the tokenizer of "{tokenizer.name_or_path}" has no decoder, so it cannot write subwords as words. Save '
            "it with one, e.g. tokenizers.decoders.WordPiece, ByteLevel or Metaspace, whichever suits it"
        )


def _decode(tokenizer: Any, rows: list[list[int]]) -> list[str]:
    return list(tokenizer.batch_decode(rows, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _is_in_case(text: str, capital: bool) -> bool:
    if not text:  # punctuation
        return True
    return text[0] != text[0].lower() if capital else text == text.lower()


def _ends_without_vowel(text: str) -> bool:
    """Whether a text ends in a virama, the mark of Indian scripts that removes the vowel of a letter."""
    return unicodedata.combining(text[-1]) == VIRAMA


def _is_part_of_word(text: str) -> bool:
    """Whether each letter has a virama or the first is silent, as only in parts of words, or all repeat words (*ๆ*)."""
    is_part = text[1:2] in [*SILENCING] or (len(text) % 2 == 0 and _are_viramas(text[1::2]))
    return is_part or not text.strip(LETTERLIKE_SIGNS)


def _are_viramas(marks: str) -> bool:
    """Whether each character is a virama."""
    return all(unicodedata.combining(mark) == VIRAMA for mark in marks)


def _is_short(text: str) -> bool:
    """Whether a text has at most `SHORT` letters. Each letter of a Korean syllable counts."""
    letters = [letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter)[0] == "L"]
    return 0 < len(letters) <= SHORT


def _is_letter(text: str) -> bool:
    """Whether a text is one letter, with its marks, of a script with spaces. A Korean syllable counts as one letter.

    So do joined letters of Indian scripts without a vowel sign, such as Bengali *গ্র*.
    """
    if not text or lacks_spaces(text):
        return False
    if len(text) > 1 and text[::2].isalpha() and _are_viramas(text[1::2]):
        return True
    if len(text) > MAX_LETTER_LENGTH:
        return False
    first, *marks = (unicodedata.category(character)[0] for character in unicodedata.normalize("NFC", text))
    return first == "L" and set(marks) <= {"M"}


def _script_of_punctuation(mark: str) -> str:
    """The script without spaces of punctuation, such as *។* of Khmer and *。* of Chinese; empty for others."""
    if not follows_without_space(mark):
        return ""
    return script_in_name(mark[0]) if lacks_spaces(mark[0]) else "CJK"


def _is_short_punctuation(text: str) -> bool:
    """Whether a text only consists of punctuation and is short, as between words."""
    return 0 < len(text) <= MAX_PUNCTUATION_LENGTH and all(
        unicodedata.category(character)[0] == "P" for character in text
    )


def _before(tokenizer: Any, texts: Sequence[str], anchor: int) -> tuple[str, ...]:
    """The texts of subwords. One that the next subword continues has its text before that one, without ``@@``."""
    end = _decode(tokenizer, [[anchor]])[0]
    joined = (
        text.removesuffix(end) for text in _decode(tokenizer, [[subword, anchor] for subword in range(len(texts))])
    )
    return tuple(
        before if text and before == before.strip() and _is_clean(before, True) else text
        for text, before in zip(texts, joined, strict=True)
    )


def _is_clean(text: str, opens: bool) -> bool:
    """Whether a text has a letter or digit, and nothing that cannot be part of a word."""
    if not text or PLACEHOLDER.fullmatch(text) or SPECIAL.fullmatch(text) or "\ufffd" in text:
        return False
    if text.isalpha():  # as most texts are; the checks below take much longer
        return True
    categories = [unicodedata.category(character) for character in text]
    if any(category[0] in "CZ" and category != "Cf" for category in categories):
        return False
    if opens and categories[0][0] == "M":
        return False
    return any(category[0] in "LNM" for category in categories)
