"""From words to the subwords of an encoder-decoder, and from its output back to words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby, takewhile
from typing import Any
from unicodedata import category

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.text.languages import primary
from nersery.core.text.text_forms import respelled
from nersery.models.subwords.subword_vocabulary import PLACEHOLDER, check_decoder
from nersery.models.subwords.subwords import CACHED_WORDS, WORD_BORDER, SubwordEncoder, frame
from nersery.models.tokens import BROKEN, GAP, TOKEN_PREFIX, UNKNOWN

WITH_GAPS = "facebook/bart-base, facebook/mbart-large-50 or google/mt5-base"
SENTINEL = f"{WORD_BORDER}?<extra_id_([0-9]+)>"
"""Sentinels of T5. Their number in the vocabulary limits the gaps of a text."""
BYTES_NOT_IN_UTF8 = range(0xFF, 0xF4, -1)
LANGUAGE_CODE = "[a-z]{2,3}_[A-Z][A-Za-z]+"
"""``hi_IN`` in mBART, ``hin_Deva`` in NLLB."""
HALF_A_CHARACTER = "\ufffd"


@dataclass(frozen=True, slots=True)
class LanguageTokens:
    """The special tokens of texts in a language.

    Args:
        prefix: Before a source.
        suffix: After a source.
        decoder_prefix: The decoder input before the text.
        end: The token that ends a text.
    """

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    decoder_prefix: tuple[int, ...]
    end: int


class Seq2SeqTokenization:
    """Turns words into subwords and back. All facts about the model come from its tokenizer and configuration.

    Args:
        name: The name of the model in messages.
        tokenizer: A tokenizer of transformers.
        config: The configuration of the model.

    Raises:
        MissingResourceError: If the model has no token for a gap, or cannot write words.
    """

    def __init__(self, name: str, tokenizer: Any, config: Any) -> None:
        check_decoder(tokenizer)
        self.name, self._config, self._tokenizer = name, config, _plain(tokenizer)
        self.subwords = SubwordEncoder(tokenizer, borders=True)
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        self._size = 1 + max(vocabulary.values())
        self._mask = tokenizer.mask_token_id
        self._sentinels = _sentinels(tokenizer, vocabulary) if self._mask is None else []
        if self._mask is None and not self._sentinels:
            raise MissingResourceError(
                f'the model "{name}" has neither a mask token nor sentinels (<extra_id_0>), so it cannot fill gaps. '
                f"Name an encoder-decoder that has, e.g. {WITH_GAPS}"
            )
        self._names = dict(_names(tokenizer, vocabulary))
        self._names |= dict.fromkeys([self._mask] if self._mask is not None else self._sentinels, GAP)
        has_codes = hasattr(tokenizer, "src_lang")
        self.codes = sorted(filter(re.compile(LANGUAGE_CODE).fullmatch, vocabulary)) if has_codes else []
        self._frames: dict[str, LanguageTokens] = {}
        self._parts: dict[str, tuple[str, ...]] = {}

    def add_names(self, tokens: Mapping[str, int]) -> None:
        """Register new tokens of the model."""
        self._names |= {number: token for token, number in tokens.items()}

    def unnamed_ids(self, rows: int) -> list[int]:
        """Ids below ``rows`` that have no token. Embedding matrices are often larger than vocabularies."""
        return [number for number in range(self._size, rows) if number not in self._names]

    def frame(self, language: str = "") -> LanguageTokens:
        """The special tokens around texts in a language.

        Raises:
            SettingsError: When the model needs a language and gets none, or has no code for it.
        """
        code = self._code(language) if self.codes else ""
        if code not in self._frames:
            self._frames[code] = self._frame(code)
        return self._frames[code]

    def source(self, words: Sequence[str], frame: LanguageTokens) -> tuple[int, ...]:
        """The subwords of a source with special tokens. Adjacent gaps are merged."""
        return (*frame.prefix, *self._ids(words), *frame.suffix)

    def target(self, words: Sequence[str]) -> tuple[int, ...]:
        """The subwords of a target without special tokens."""
        return tuple(self._ids(words))

    @property
    def has_sentinels(self) -> bool:
        """Whether the model fills gaps, as T5 does, instead of writing whole texts."""
        return bool(self._sentinels)

    def has_marks_for(self, words: Sequence[str]) -> bool:
        """Whether the model has enough mask tokens or sentinels for the gaps of a text. Each sentinel exists once."""
        gaps = sum(is_gap for is_gap, _ in groupby(word == GAP for word in words))
        return self._mask is not None or gaps <= len(self._sentinels)

    def words(self, subwords: Sequence[int]) -> tuple[str, ...]:
        """The words that subwords form; see `nersery.models.seq2seq.seq2seq_inputs.Generated`."""
        words: list[str] = []
        for name, run in groupby(subwords, self._names.get):
            if name is not None:
                words += [name for _ in run]
                continue
            ids = list(run)
            text = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
            new = respelled(text).split()
            written = [BROKEN if HALF_A_CHARACTER in word or _is_unseen(word) else word for word in new]
            words += [BROKEN, *written[1:]] if self._continues(ids[0]) else written
        return tuple(words)

    def _continues(self, subword: int) -> bool:
        """Whether a subword of BERT's vocabulary continues a word. Decoding writes its mark ``##`` at a beginning."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        prefix = str(getattr(getattr(backend, "model", None), "continuing_subword_prefix", None) or "")
        return prefix != "" and str(self._tokenizer.convert_ids_to_tokens(subword)).startswith(prefix)

    def parts(self, word: str) -> tuple[str, ...]:
        """The words that the model writes for a word: one, unless decoding splits it.

        That happens at a space within the word or where a normalizer inserts one, and in vocabularies in which each
        Chinese character or punctuation mark is a word. A word that the model cannot write stays as it is.
        """
        if len(self._parts) > CACHED_WORDS:
            self._parts.clear()
        if word not in self._parts:
            parts = [part for subword in word.split() for part in self._written(subword)]
            self._parts[word] = tuple(parts) or (word,)
        return self._parts[word]

    def _written(self, word: str) -> tuple[str, ...]:
        written = self.words(self.target((word,)))
        return (word,) if len(written) < 2 or any(part.startswith(TOKEN_PREFIX) for part in written) else written

    def _ids(self, words: Sequence[str]) -> Iterator[int]:
        marks = iter(self._sentinels)
        for is_gap, run in groupby(words, lambda word: word == GAP):
            if is_gap:
                yield self._mask if self._mask is not None else next(marks)
            else:
                for ids in self.subwords.subwords(list(run)):
                    yield from ids

    def _code(self, language: str) -> str:
        """The model's code for a language, e.g. ``hi_IN`` or ``hin_Deva`` for ``hi``."""
        codes = [code for code in self.codes if primary(code) == primary(language)]
        rest = language.replace("-", "_").partition("_")[2].lower()
        alike = [code for code in codes if code.partition("_")[2].lower() == rest]  # zho_Hant for zh-Hant
        if codes:
            return (alike or codes)[0]
        issue = f'has no code for the language "{language}"' if language else "needs the language of each text"
        advice = "Name one of these, or a model" if language else "Give the sentences a language, or name a model"
        raise SettingsError(
            f'the model "{self.name}" {issue}; its codes are {", ".join(self.codes)}. {advice} without language codes, '
            "e.g. facebook/bart-base or google/mt5-base"
        )

    def _frame(self, code: str) -> LanguageTokens:
        tokenizer = self._tokenizer
        if code:
            tokenizer.src_lang = tokenizer.tgt_lang = code
        prefix, suffix = frame(tokenizer)
        before, behind = frame(lambda text, **settings: tokenizer(text_target=text, **settings))
        start = _first(self._config, tokenizer, "decoder_start_token_id", "bos_token_id")
        end = _first(tokenizer, self._config, "eos_token_id")
        if code and tokenizer.convert_tokens_to_ids(code) in behind:  # mBART before mBART-50 begins with it
            start = tokenizer.convert_tokens_to_ids(code)
        if start is None or end is None:
            lacking = "decoder_start_token_id" if start is None else "eos_token_id"
            raise MissingResourceError(
                f'the configuration of the model "{self.name}" does not set {lacking}, so the model cannot write '
                "texts. Set it in config.json"
            )
        return LanguageTokens(prefix, suffix, (start, *before), end)


def _plain(tokenizer: Any) -> Any:
    """The tokenizer, changed so that decoding keeps spaces, because they separate words."""
    decoder: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    if getattr(decoder, "cleanup", False):
        decoder.cleanup = False
    return tokenizer


def _names(tokenizer: Any, vocabulary: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Names of the ids that are not text."""
    special = {*tokenizer.all_special_ids, *(n for n, token in tokenizer.added_tokens_decoder.items() if token.special)}
    for token, number in vocabulary.items():
        if number == tokenizer.unk_token_id:
            yield number, UNKNOWN
        elif number in special or PLACEHOLDER.fullmatch(token.lstrip(WORD_BORDER)):
            yield number, TOKEN_PREFIX + token.strip()


def _sentinels(tokenizer: Any, vocabulary: Mapping[str, int]) -> list[int]:
    """The ids of ``<extra_id_0>``, ``<extra_id_1>`` and so on, up to the first number that is missing."""
    ids = {int(match[1]): number for token, number in vocabulary.items() if (match := re.fullmatch(SENTINEL, token))}
    named = [ids[number] for number in takewhile(ids.__contains__, count())]
    if type(tokenizer).__name__ != "ByT5Tokenizer":
        return named
    # ByT5 has these names too, but was pretrained with the last bytes, counted downwards, in their place.
    return [*(vocabulary[chr(byte)] for byte in BYTES_NOT_IN_UTF8), *named]


def _first(preferred: Any, fallback: Any, *names: str) -> Any:
    """The first of these attributes that is an integer, in one object or else in the other."""
    values = (getattr(owner, name, None) for name in names for owner in (preferred, fallback))
    return next((value for value in values if isinstance(value, int)), None)


def _is_unseen(word: str) -> bool:
    """Whether a word has no visible characters, such as a lone joiner."""
    return all(category(character)[0] in "CZM" for character in word)
