"""FlipDA with an encoder-decoder with sentinels, such as T5, which fills the gaps of a sentence that names its types.

The description of its type precedes each entity, in brackets: ``we saw (person) <extra_id_0> in (location) Oslo``. The
model is not fine-tuned. It writes any number of words for each gap, as it learnt in its pretraining.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nersery.augment.linearized.parsing import UNSTORABLE, rejected
from nersery.core.entity import Span
from nersery.core.errors import DataError, MissingResourceError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.text.definitions import description
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP, TOKEN_PREFIX

if TYPE_CHECKING:
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq

TOO_LONG = "sentence longer than the model"
NOT_FILLED = "no words for a gap"


def check_span_model(settings: Any) -> None:
    """Look for the model of a method; see `Augmenter.check`.

    Raises:
        MissingResourceError: If the model is missing, or has no sentinels.
        SettingsError: If the model is to be adapted to raw text.
    """
    from nersery.models.pretrained.loading import pick_device
    from nersery.models.seq2seq.encoder_decoder import tokenization_of

    settings.refuse_adaptation()
    if not tokenization_of(settings.source).has_sentinels:
        raise MissingResourceError(
            f'the model "{settings.model}" has a mask token and writes whole sentences; expected one that fills gaps: '
            "an encoder-decoder with sentinels, e.g. google-t5/t5-large or google/mt5-base, or a masked language model"
        )
    pick_device(settings.device)


def fill_spans(
    model: Seq2Seq,
    sampling: Sampling,
    descriptions: Mapping[str, str],
    drafts: Sequence[tuple[Sentence, Collection[int]]],
    rngs: Sequence[random.Random],
) -> list[Sentence | Reject]:
    """Each sentence with new words in place of the hidden ones, or why there are none; independent of the others.

    Args:
        model: A model with sentinels.
        sampling: Each text is sampled once; see `Sampling`.
        descriptions: The user's own descriptions of types.
        drafts: Sentences with the intended types of their entities, and the positions of their hidden words.
        rngs: One for each draft.
    """
    sentences, gaps = [sentence for sentence, _ in drafts], [hidden_spans(*draft) for draft in drafts]
    sources = [
        TextPair(model_input(sentence, hidden, descriptions), (), sentence.language)
        for sentence, hidden in zip(sentences, gaps, strict=True)
    ]
    texts = model.generate(sources, rngs, sampling)
    return [_with_gaps_filled(*each) for each in zip(sentences, gaps, texts, strict=True)]


def _with_gaps_filled(sentence: Sentence, gaps: Sequence[Span], text: Generated | None) -> Sentence | Reject:
    if text is None:
        return Reject(TOO_LONG)
    parts = gap_words(text, len(gaps))
    if not parts:
        return rejected(NOT_FILLED, text.words, sentence)
    try:
        return sentence.replace_spans((*gap, part) for gap, part in zip(gaps, parts, strict=True))
    except DataError:
        return Reject(UNSTORABLE)


def hidden_spans(sentence: Sentence, hidden: Collection[int]) -> list[Span]:
    """Runs of hidden words. No run crosses the border of an entity.

    A word right after a hidden entity stays, because a model would fill both gaps at once.

    >>> from nersery import Entity
    >>> hidden_spans(Sentence(tuple("abcdef"), (Entity(2, 4, "PER"),)), [1, 2, 3, 4, 5])
    [(1, 2), (2, 4), (5, 6)]
    """
    starts, ends = {entity.start for entity in sentence.entities}, {entity.end for entity in sentence.entities}
    runs: list[list[int]] = []
    for position in sorted(hidden):
        follows = bool(runs) and runs[-1][1] == position
        if follows and position in ends - starts:
            continue
        if follows and position not in starts:
            runs[-1][1] = position + 1
        else:
            runs.append([position, position + 1])
    return [(start, end) for start, end in runs]


def model_input(sentence: Sentence, gaps: Sequence[Span], descriptions: Mapping[str, str]) -> tuple[str, ...]:
    """The input of the model: the words with gaps, and before each entity the description of its type."""
    descriptions_at = {
        entity.start: f"({description(entity.type, descriptions)})".split() for entity in sentence.entities
    }
    gap_starts = {start for start, _ in gaps}
    hidden = {position for start, end in gaps for position in range(start, end)}
    words: list[str] = []
    for position, word in enumerate(sentence.words):
        words += descriptions_at.get(position, [])
        if position in gap_starts:
            words.append(GAP)
        elif position not in hidden:
            words.append(word)
    return tuple(words)


def gap_words(text: Generated, count: int) -> list[tuple[str, ...]]:
    """The words for each gap, separated by sentinels; an empty list if a gap's words are missing, empty or cut off."""
    # T5 repeats each sentinel before its words and ends with one more. All are read as GAP: only their order counts. A
    # text that was cut off ends within its last part, so that part is dropped.
    marks = [position for position, word in enumerate(text.words) if word == GAP]
    ends = [*marks, len(text.words)] if text.finished else marks
    parts = [text.words[start + 1 : end] for start, end in pairwise(ends)][:count]
    is_complete = len(parts) == count and not any(text.words[: marks[0]])
    has_only_words = all(part and not any(word.startswith(TOKEN_PREFIX) for word in part) for part in parts)
    return parts if is_complete and has_only_words else []
