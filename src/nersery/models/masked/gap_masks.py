"""Masks in place of a word, and which subwords may replace them."""

from __future__ import annotations

from typing import NamedTuple

from nersery.core.text import korean
from nersery.core.text.scripts import script_of
from nersery.core.text.spacing import lacks_spaces
from nersery.io.word_splitting.scripts_without_spaces import is_character
from nersery.io.word_splitting.tokenization import outer_punctuation
from nersery.models.masked.masked_inputs import Drawing, has_capital
from nersery.models.subwords.subword_vocabulary import (
    BEHIND_BORDER,
    FOREIGN,
    JOINED,
    JOINED_OR_PUNCTUATION,
    NAME,
    OPENING,
    STEMS,
    WORD_OR_PUNCTUATION,
    SubwordConstraint,
    SubwordVocabulary,
)
from nersery.models.subwords.subwords import SubwordEncoder

LATIN = "LATIN"


class GapTemplate(NamedTuple):
    """What replaces the word of a gap.

    Args:
        subwords: Its subwords; those to fill in are masks.
        constraints: For each mask, which subwords may stand there.
    """

    subwords: tuple[int, ...]
    constraints: list[SubwordConstraint]


class GapMasks:
    """Puts masks in place of words.

    Args:
        mask: The id of the mask token.
    """

    def __init__(self, encoder: SubwordEncoder, vocabulary: SubwordVocabulary, mask: int) -> None:
        self._encoder, self._vocabulary, self._mask = encoder, vocabulary, mask

    def template(self, word: str, style: tuple[str, bool], drawing: Drawing, *, is_name: bool = False) -> GapTemplate:
        """The masks that replace a word, and for each of them which subwords may stand there.

        A subword that only marks the border of the word stays if the vocabulary has no whole words of the script with a
        border. A word without a script, such as a number, may become a word in the script of the text. A word that is
        partly in that script, such as Korean *EU가*, becomes one. A word with a capital becomes another such word,
        unless the vocabulary has none. A name never becomes a number. The endings of a Korean word stay. In a text of
        another script, a Latin word becomes neither a function word nor a word with an accent, because these belong to
        one language, and the language is unknown.

        Args:
            is_name: Whether the word is part of a name. It then becomes a function word only if it is one.
        """
        vocabulary, subwords = self._vocabulary, self._encoder.subwords([word])[0]
        places = vocabulary.places(subwords)[: self._encoder.max_subwords // 4]
        script = style[0] if style[0] in map(script_of, word) else script_of(word) or style[0]
        is_foreign = script == LATIN != style[0] != "" and word.lower() not in vocabulary.function_words
        single, case = is_character(word), False if style[1] else None
        ending = () if drawing.by_subword else self.ending(word)
        if ending:
            stem = SubwordConstraint(OPENING, (script,), single=False, capital=case, only=STEMS)
            return GapTemplate((self._mask, *ending), [stem])
        # The tokenizer reads spaces and zero-width characters as borders, and the subwords beside them as words.
        if not (drawing.by_subword and word.isprintable() and " " not in word):
            has_whole_words = script in vocabulary.opening_scripts and not lacks_spaces(word)
            kept = (JOINED,) if has_whole_words else (JOINED, BEHIND_BORDER)
            first = places[0] if places[0] in kept else OPENING
            places = [
                (JOINED_OR_PUNCTUATION if first == JOINED else WORD_OR_PUNCTUATION) if drawing.punctuation else first
            ]
        border = subwords[: vocabulary.border(subwords)] if places[0] == BEHIND_BORDER else ()
        scripts: tuple[str, ...] = ("", f"{script} DIGIT", script)
        letters = scripts[-1:] if script_of(word) and not drawing.punctuation else scripts
        first_case = True if case is None and has_capital(word) else case
        name = NAME if is_name and word.casefold() not in vocabulary.own_function_words else ""
        only = "" if drawing.by_subword else FOREIGN if is_foreign else name
        constraints = [SubwordConstraint(places[0], letters, single, first_case, only)]
        constraints += [SubwordConstraint(place, scripts, single, case) for place in places[1:]]
        return GapTemplate((*border, *[self._mask] * len(places)), constraints)

    def ending(self, word: str) -> tuple[int, ...]:
        """The subwords of a Korean word that are particles or a verb ending; see `nersery.core.text.korean.endings`."""
        before, behind = outer_punctuation(word)
        (subwords,) = self._encoder.subwords([word[len(before) : len(word) - len(behind)]])
        subwords = subwords[self._vocabulary.border(subwords) :]
        endings = korean.endings([self._vocabulary.texts[subword] or " " for subword in subwords])
        return subwords[len(subwords) - len(endings) :]
