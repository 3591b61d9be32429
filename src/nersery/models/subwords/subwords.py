"""From words to a model's subwords and back, without ever losing a word.

A sentence longer than the model is read in overlapping windows. If the tokenizer turns a word into nothing, the model
reads its unknown token instead.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nersery.core.errors import SettingsError, beginning
from nersery.core.text.text_forms import unpointed
from nersery.io.word_splitting.scripts_without_spaces import follows_without_space
from nersery.models.subwords.windows import MAX_SUBWORDS, Window, windows_over
from nersery.models.tokens import TOKEN_PREFIX, Token

WORD_BORDER = "▁"
"""The word border of SentencePiece, alone or at the start of a subword."""
SPACE_BYTE = "Ġ"
"""The word border of byte-level vocabularies."""

CACHED_WORDS = 500_000
MAX_UNKNOWN_SHARE = 0.05
MAX_SUBWORDS_A_WORD = 3.0
MAX_UNMARKED_SHARE = 0.05


class SubwordEncoder:
    """Splits words into subwords, each word by itself, as ``is_split_into_words`` does, but each distinct word only
    once.

    A word that looks like a special token (``[SEP]``) is ordinary text. In a script without spaces, a word has the
    same subwords as within running text, where no border precedes it.

    Args:
        tokenizer: A tokenizer of transformers, fast or slow.
        limits: Limits of the longest window, special tokens included, besides that of the tokenizer. None: no limit.
        borders: Mark the border of each word, in scripts without spaces too, for models whose output must be split
            into words again.

    Attributes:
        token_ids: The ids of words that begin with `TOKEN_PREFIX`; see
            `nersery.models.subwords.token_embeddings.add_rows`.
    """

    def __init__(self, tokenizer: Any, *limits: int | None, borders: bool = False) -> None:
        self.tokenizer = tokenizer
        self._borders = borders
        self.max_subwords: int = min(MAX_SUBWORDS, tokenizer.model_max_length, *(limit for limit in limits if limit))
        self.prefix, self.suffix = frame(tokenizer)
        if self.room < 1:
            raise SettingsError(
                f"a window of {self.max_subwords} subwords has no room for a word. Use a larger max_subwords"
            )
        self._leading_space = _leading_space(tokenizer)
        self._special = frozenset(tokenizer.all_special_ids)  # a unigram vocabulary also finds them in words
        self._cache: dict[str, tuple[int, ...]] = {}
        self.token_ids: dict[str, tuple[int, ...]] = {}

    @property
    def room(self) -> int:
        """The number of subwords of a text that fit into a window besides the special tokens."""
        return self.max_subwords - len(self.prefix) - len(self.suffix)

    @property
    def pad(self) -> int:
        """The id that fills up short rows. The padding is masked, so any id will do for a tokenizer that has none."""
        return int(self.tokenizer.pad_token_id or 0)

    def subwords(self, words: Sequence[Token]) -> list[tuple[int, ...]]:
        """The subwords of each word, always at least one."""
        texts = dict.fromkeys(word for word in words if isinstance(word, str))
        new = [word for word in texts if word not in self._cache]
        if new and len(self._cache) > CACHED_WORDS:
            self._cache.clear()
            new = [*texts]
        self._cache.update((word, self.token_ids[word]) for word in new if word.startswith(TOKEN_PREFIX))
        if plain := [word for word in new if not word.startswith(TOKEN_PREFIX)]:
            self._cache.update(zip(plain, self._encoded(plain), strict=True))
        return [self._cache[word] if isinstance(word, str) else word for word in words]

    def _encoded(self, words: Sequence[str]) -> Iterator[tuple[int, ...]]:
        """The subwords of each word, from the tokenizer."""
        led = [self._leading_space + word for word in words]
        encoded = self.tokenizer(led, add_special_tokens=False, verbose=False)["input_ids"]  # silent about long words
        unknown = self.tokenizer.unk_token_id
        nothing = (unknown if unknown is not None else self.pad,)
        for word, ids in zip(words, encoded, strict=True):
            if unknown is not None:
                ids = [unknown if subword in self._special else subword for subword in ids]
            if not self._borders and follows_without_space(word):
                ids = self._inside(ids)
            yield tuple(ids) or nothing

    def _inside(self, ids: Sequence[int]) -> Sequence[int]:
        """The subwords of a word as within a text: without a border, if the vocabulary has such subwords."""
        first = self.tokenizer.convert_ids_to_tokens(ids[0]) if ids else ""
        bare = first.removeprefix(WORD_BORDER).removeprefix(SPACE_BYTE)
        if bare == first:
            return ids
        if not bare:
            return ids[1:] or ids
        inner = self.tokenizer.convert_tokens_to_ids(bare)
        return ids if inner in (None, self.tokenizer.unk_token_id) else [inner, *ids[1:]]

    def is_nothing(self, word: str) -> bool:
        """Whether the tokenizer turns a word into nothing, as tokenizers for text do with control characters."""
        unknown = self.subwords([word])[0] in ((self.tokenizer.unk_token_id,), (self.pad,))
        return unknown and not self.tokenizer(self._leading_space + word, add_special_tokens=False)["input_ids"]

    def vocabulary_issue(self, words: Sequence[str]) -> str:
        """Evidence that the vocabulary was made for other languages than that of the words; empty if it suits them.

        In an English vocabulary, English has 1.2 subwords per word, German 2, Hindi or Korean 3 to 5. Emoji and numbers
        belong to no language. Vowel points are ignored, because they are rare in the text of any vocabulary.
        """
        subwords = self.subwords([unpointed(word) for word in words if any(map(str.isalpha, word))])
        unknown = sum(self.tokenizer.unk_token_id in ids for ids in subwords) / max(1, len(subwords))
        mean = sum(map(len, subwords)) / max(1, len(subwords))
        if unknown <= MAX_UNKNOWN_SHARE and (mean <= MAX_SUBWORDS_A_WORD or self._has_only_characters):
            return ""
        evidence = [f"{100 * unknown:.0f} % of the words are unknown to it"] * (unknown > 0)
        evidence += [f"{'the others' if evidence else 'words'} have {mean:.1f} subwords on average"] * (unknown < 1)
        return ", ".join(evidence)

    @property
    def _has_only_characters(self) -> bool:
        """Whether the vocabulary only has characters or bytes. Then words have many subwords in any language."""
        special = {*self.tokenizer.all_special_tokens}
        return all(len(subword) == 1 or subword in special for subword in self.tokenizer.get_vocab())

    def unmarked(self, words: Sequence[str]) -> float:
        """The share of words whose accents or vowel signs the tokenizer drops, as tokenizers for uncased text do. They
        read ``é`` as ``e`` and ``में`` as ``म``.
        """
        decomposed = {word: unicodedata.normalize("NFD", word) for word in dict.fromkeys(words) if not word.isascii()}
        bare = {word: "".join(c for c in text if unicodedata.category(c) != "Mn") for word, text in decomposed.items()}
        marked = [word for word in bare if bare[word] not in ("", decomposed[word])]
        both = zip(self.subwords(marked), self.subwords([bare[word] for word in marked]), strict=True)
        alike = [ids == bare_ids and self.tokenizer.unk_token_id not in ids for ids, bare_ids in both]
        lost = frozenset(itertools.compress(marked, alike))
        return sum(word in lost for word in words) / max(1, len(words))

    def windows(self, words: Sequence[Token], condition: Sequence[str] = ()) -> list[Window]:
        """The windows of a sentence, one if it fits; see `window_spans`.

        A word longer than a window is truncated for the model. It keeps its position and gets a result.

        Args:
            condition: Words at the front of every window, as a text of their own.

        Raises:
            SettingsError: If the condition takes more than half of a window.
        """
        prefix = self._prefix(condition)
        room = self.max_subwords - len(prefix) - len(self.suffix)
        subwords = [ids[:room] for ids in self.subwords(words)]
        return windows_over(subwords, room, prefix, self.suffix)

    def _prefix(self, condition: Sequence[str]) -> tuple[int, ...]:
        """The special tokens before a sentence, and the condition with a separator."""
        if not condition:
            return self.prefix
        room = self.room // 2
        ids = [subword for word in self.subwords(condition) for subword in word]
        if len(ids) > room:
            raise SettingsError(
                f'"{beginning(" ".join(condition))}" has {len(ids)} subwords, but only {room} fit in front of a '
                "sentence. Shorten it"
            )
        return (*self.prefix, *ids, *self.suffix[:1])

    def word_spans(self, window: Window) -> list[tuple[int, int]]:
        """The positions ``[start, end)`` of the subwords of each word of a window."""
        return list(itertools.pairwise((*window.firsts, len(window.subwords) - len(self.suffix))))


def frame(encode: Callable[..., Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that a tokenizer puts before and after a text."""
    inner = encode("a", add_special_tokens=False)["input_ids"]
    whole = encode("a")["input_ids"]
    for start in range(len(whole) - len(inner) + 1):
        if whole[start : start + len(inner)] == inner:
            return tuple(whole[:start]), tuple(whole[start + len(inner) :])
    return (), ()


def _leading_space(tokenizer: Any) -> str:
    """The space that a word needs in front of it to get the same subwords as within a sentence, as in GPT-2, RoBERTa
    and Gemma; empty for other models.
    """
    alone, behind, inside = tokenizer(["a", " a", "a a"], add_special_tokens=False)["input_ids"]
    return " " if alone != behind == inside[-len(behind) :] else ""
