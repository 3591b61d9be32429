"""A transformers pipeline that decodes with the tagger's CRF. It is copied to saved folders, so it needs no nersery."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import TokenClassificationPipeline
from transformers.utils import cached_file

WEIGHTS = "crf.safetensors"
FORBIDDEN = -1e4
BORDERS = ("▁", "Ġ")
NO_SPACES = re.compile(
    r"\s*[\u0e00-\u109f\u1780-\u17ff\u1980-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u2fdf々-〇\u3040-\u312f\u31a0-\u31bf"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\ua980-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9d"
    r"\U00016fe0-\U0001b2ff\U00020000-\U0003ffff\u3000-\u303f\uff00-\uff65]"
)
"""Matches a character of a script without spaces or of its punctuation, like nersery's `scripts_without_spaces`."""


class CrfTokenClassificationPipeline(TokenClassificationPipeline):  # type: ignore[misc]
    """Finds entities in text with words separated by spaces, like the tagger's own ``predict``.

    Each entity is a dictionary with ``entity_group``, ``score``, ``word``, ``start`` and ``end``. The score is the mean
    probability of its words' tags without the CRF. A text too long for the model is cut off unless ``stride`` is set.
    """

    def preprocess(self, sentence: str, *args: Any, **options: Any) -> Iterator[dict[str, Any]]:
        """Yield the windows of a text."""
        text = self._lead + sentence
        for inputs in super().preprocess(text, *args, **options):
            yield _without_borders(inputs, text, self.tokenizer)

    def postprocess(self, all_outputs: Any, *args: Any, **options: Any) -> list[dict[str, Any]]:
        """The entities of one text, from the scores of its subwords."""
        text = all_outputs[0]["sentence"]
        emissions = self._emissions(text, all_outputs)
        spans = _words(text)
        labels = [self.model.config.id2label[index] for index in range(self.model.config.num_labels)]
        if not spans or not emissions:
            return []
        read = [place for place in range(len(spans)) if place in emissions]
        scores = torch.stack([emissions[place] for place in read])
        path = _best_path(scores, *self._transitions(labels))
        probabilities = scores.softmax(1)
        tagged = [
            (spans[place], labels[tag], float(row[tag]))
            for place, tag, row in zip(read, path, probabilities, strict=True)
        ]
        return [_entity(text, group, len(self._lead)) for group in _groups(tagged)]

    @cached_property
    def _lead(self) -> str:
        """The space that must precede the first word so that it gets the same subwords as within a sentence, if any."""
        alone, behind, inside = self.tokenizer(["a", " a", "a a"], add_special_tokens=False)["input_ids"]
        return " " if alone != behind == inside[-len(behind) :] else ""

    def _emissions(self, text: str, all_outputs: Any) -> dict[int, Tensor]:
        """The scores of each word: those of its first subword in the first window that has it."""
        word_at = {at: place for place, (start, end) in enumerate(_words(text)) for at in range(start, end)}
        found: dict[int, Tensor] = {}
        for outputs in all_outputs:
            logits, offsets = outputs["logits"][0].float(), outputs["offset_mapping"][0].tolist()
            special = outputs["special_tokens_mask"][0].tolist()
            border: int | None = None  # a border that is a subword of its own is the first subword of the next word
            for row, ((begin, end), is_special) in enumerate(zip(offsets, special, strict=True)):
                start = begin
                while start < end and text[start].isspace():
                    start += 1
                if not is_special and start < end:
                    first = row if border is None or begin < start else border
                    found.setdefault(word_at[start], logits[first].cpu())
                border = row if not is_special and start == end else None
        return found

    def _transitions(self, labels: list[str]) -> list[Tensor]:
        """The scores of transitions from tag to tag, at the start and at the end."""
        weights = load_file(cached_file(self.model.config.name_or_path, WEIGHTS))
        learnt = (weights["transitions"], weights["start"], weights["end"])
        return [a + b for a, b in zip(learnt, _transition_penalties(labels), strict=True)]


def _transition_penalties(labels: list[str]) -> tuple[Tensor, Tensor, Tensor]:
    """The penalties that exclude sequences forbidden by the scheme: from tag to tag, at the start and at the end."""
    is_bioes = any(label[:2] in ("E-", "S-") for label in labels)

    def follows(before: str, after: str) -> bool:
        is_open = before[:2] in ("B-", "I-")
        if after[:2] in ("I-", "E-"):
            return is_open and before[2:] == after[2:]
        return not (is_bioes and is_open)

    def penalty(allowed: list[bool]) -> Tensor:
        return torch.tensor([0.0 if each else FORBIDDEN for each in allowed])

    between = torch.stack([penalty([follows(before, after) for after in labels]) for before in labels])
    return between, penalty([follows("O", tag) for tag in labels]), penalty([follows(tag, "O") for tag in labels])


def _without_borders(inputs: Any, text: str, tokenizer: Any) -> dict[str, Any]:
    """The subwords as the tagger reads them, without borders before words of scripts without spaces."""
    kept, ids = list[int](), inputs["input_ids"].clone()
    starts = inputs["offset_mapping"][0, :, 0].tolist()
    for row, (subword, start) in enumerate(zip(ids[0].tolist(), starts, strict=True)):
        token = tokenizer.convert_ids_to_tokens(subword)
        if token.startswith(BORDERS) and NO_SPACES.match(text, start):
            if token in BORDERS:
                continue
            inner = tokenizer.convert_tokens_to_ids(token[1:])
            ids[0, row] = subword if inner in (None, tokenizer.unk_token_id) else inner
        kept.append(row)
    tensors = {name: value[:, kept] for name, value in inputs.items() if isinstance(value, Tensor)}
    return {**inputs, **tensors, "input_ids": ids[:, kept]}


def _words(text: str) -> list[tuple[int, int]]:
    spans, place = [], 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        spans.append((start, place))
    return spans


def _best_path(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> list[int]:
    """The best tag sequence, by Viterbi decoding. Shape of the emissions: (words, tags)."""
    score, before = start + emissions[0], []
    for row in emissions[1:]:
        best, origin = (score.unsqueeze(1) + transitions).max(0)
        score = best + row
        before.append(origin)
    path = [int((score + end).argmax())]
    for origin in reversed(before):
        path.append(int(origin[path[-1]]))
    return path[::-1]


def _groups(tagged: list[tuple[tuple[int, int], str, float]]) -> list[list[tuple[tuple[int, int], str, float]]]:
    """The tagged words of each entity."""
    groups: list[list[tuple[tuple[int, int], str, float]]] = []
    outside = True
    for word in tagged:
        if word[1] == "O":
            outside = True
            continue
        if outside or word[1][:2] in ("B-", "S-"):
            groups.append([])
        groups[-1].append(word)
        outside = False
    return groups


def _entity(text: str, group: list[tuple[tuple[int, int], str, float]], lead: int) -> dict[str, Any]:
    (start, _), end = group[0][0], group[-1][0][1]
    score = sum(probability for _, _, probability in group) / len(group)
    place = {"start": start - lead, "end": end - lead}
    return {"entity_group": group[0][1][2:], "score": score, "word": text[start:end], **place}
