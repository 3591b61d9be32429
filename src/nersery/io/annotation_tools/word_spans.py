"""JSON whose entities are ranges of words: training data of GLiNER, DyGIE, SpERT, OneIE and W2NER.

- GLiNER: ``{"tokenized_text": […], "ner": [[first, last, type], …]}``
- DyGIE, as SciERC: ``{"sentences": [[…], …], "ner": [[[first, last, type], …], …]}``; words are counted across all
  sentences
- SpERT: ``{"tokens": […], "entities": [{"start": …, "end": …, "type": …}, …], "relations": […]}``
- OneIE: ``{"tokens": […], "entity_mentions": [{"start": …, "end": …, "entity_type": …}, …]}``
- W2NER: ``{"sentence": […], "ner": [{"index": [3, 4], "type": …}, …]}``, with the number of each word

Objects are one per line, in an array, or a single one on several lines. Relations and other keys are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nersery.core.errors import shown
from nersery.io.columns_and_rows.json_files import decoded, first_value
from nersery.io.columns_and_rows.objects import ENCODER, WRONG_OBJECT, BrokenError, JsonObject, wrong_object
from nersery.io.columns_and_rows.rows import is_native
from nersery.io.formats import FileHead
from nersery.io.jsonl import JsonlSource

EXPECTED = (
    'an object such as {"tokenized_text": ["Ada", "saw", "New", "York"], "ner": [[0, 0, "PER"], [2, 3, "LOC"]]}: the '
    "numbers of the first and last word, from 0, and the type; or one of DyGIE or SpERT"
)
_GLINER = frozenset({"tokenized_text", "ner"})
_DYGIE = frozenset({"sentences", "ner"})
_ONEIE = frozenset({"tokens", "entity_mentions"})
_SPERT = frozenset({"tokens", "entities", "relations"})
_W2NER = frozenset({"sentence", "ner"})


class WordSpansSource(JsonlSource):
    """Sentences with entities by words, read and checked like JSONL."""

    @property
    def description(self) -> str:
        return "entities by words, empty" if self._empty else "entities by words"

    def values(self) -> Iterator[tuple[int, Any]]:
        """The sentences as objects of JSONL, with their lines in the file. Values of another form stay as they are."""
        for line, given in super().values():
            try:
                value = decoded(given)
            except (ValueError, RecursionError):  # reading it again reports why
                yield line, given
            else:
                yield from ((line, sentence) for sentence in _sentences(value))

    def load(self, given: Any, line: int) -> JsonObject:
        """As in JSONL, but an object of another form is compared with that of GLiNER; see `JsonlSource`."""
        try:
            return super().load(given, line)
        except BrokenError as broken:
            if any(issue.kind != WRONG_OBJECT for issue in broken.issues):
                raise
            raise wrong_object(line, f"{shown(_wrong_part(given), 100)}, expected {EXPECTED}") from None


def _wrong_part(given: Any) -> Any:
    """The first label of GLiNER that is not a range of words, or the whole value because something else is wrong."""
    labels = given.get("ner") if isinstance(given, dict) and "tokenized_text" in given else None
    return next((label for label in labels if not _is_range(label)), given) if isinstance(labels, list) else given


def _is_range(label: Any) -> bool:
    return isinstance(label, list) and [*map(type, label[:3])] == [int, int, str]


def _sentences(value: Any) -> list[Any]:
    """The sentences of an object, in the native format. Values of another form stay as they are."""
    form = _form_of(value)
    if form is None:
        return [ENCODER.encode(value) if isinstance(value, str) else value]  # a text would be taken for a line
    if form is _GLINER:
        return [_if_right(_sentence(value["tokenized_text"], value["ner"], 0), value)]
    if form is _W2NER:
        return [_if_right({"words": value["sentence"], "entities": [*map(_of_numbers, value["ner"])]}, value)]
    if form in (_ONEIE, _SPERT):
        labels, type_ = (value["entity_mentions"], "entity_type") if form is _ONEIE else (value["entities"], "type")
        entities = [{"start": one.get("start"), "end": one.get("end"), "type": one.get(type_)} for one in labels]
        return [_if_right({"words": value["tokens"], "entities": entities}, value)]
    sentences, word_count, document = [], 0, value.get("doc_key")
    for words, ranges in zip(value["sentences"], value["ner"], strict=True):
        sentence = _sentence(words, ranges, word_count)
        sentence |= {"document": document} if isinstance(document, str) else {}
        sentences.append(_if_right(sentence, {"sentences": [words], "ner": [ranges]}))
        word_count += len(words)
    return sentences


def _if_right(sentence: JsonObject, written: JsonObject) -> JsonObject:
    """The sentence, or the value in its file if words or entities are wrong, so that the error shows this value."""
    return sentence if is_native(sentence) else written


def _form_of(value: Any) -> frozenset[str] | None:
    """The keys of the form that a value has, including the types of its lists; None if it has another form."""
    if not isinstance(value, dict):
        return None
    forms = (_DYGIE, _GLINER, _W2NER, _ONEIE, _SPERT)
    return next((form for form in forms if form <= value.keys() and _fits(value, form)), None)


def _fits(value: JsonObject, form: frozenset[str]) -> bool:
    """Whether the values under the keys of a form are lists of the right types."""
    if form is _DYGIE:
        words, ranges = value["sentences"], value["ner"]
        if not isinstance(words, list) or not isinstance(ranges, list) or len(words) != len(ranges):
            return False
        return all(isinstance(part, list) for part in (*words, *ranges))
    if value.keys() & {"tags", "ner_tags"} or (form is _W2NER and isinstance(value["sentence"], str)):
        return False
    if form in (_ONEIE, _SPERT) and not _are_words(value["tokens"]):
        return False  # a text of doccano, which adds tokens that nersery or Prodigy wrote to entities and relations
    labels = value["entity_mentions" if form is _ONEIE else "entities" if form is _SPERT else "ner"]
    return isinstance(labels, list) and (form is _GLINER or all(isinstance(label, dict) for label in labels))


def _are_words(tokens: Any) -> bool:
    """Whether a value is a list without objects, which would have a text and its characters each."""
    return isinstance(tokens, list) and not any(isinstance(token, dict) for token in tokens)


def _of_numbers(label: JsonObject) -> JsonObject:
    """An entity from the numbers of its words. It stays as it is if these are not consecutive."""
    numbers = label.get("index")
    if not isinstance(numbers, list) or {*map(type, numbers)} != {int}:
        return label
    if numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
        return label
    return {"start": numbers[0], "end": numbers[-1] + 1, "type": label.get("type")}


def _sentence(words: Any, ranges: Sequence[Any], before: int) -> JsonObject:
    """A sentence with ranges that include their last word. ``before`` is the number of words in front of it."""
    entities = []
    for label in ranges:
        if _is_range(label):
            label = {"start": label[0] - before, "end": label[1] + 1 - before, "type": label[2]}
        entities.append(label)
    return {"words": words, "entities": entities}


def recognises(head: FileHead) -> bool:
    """Whether the first object of a file has one of these forms."""
    value = first_value(head.file)
    return _form_of(value) is not None or (value is None and '"tokenized_text"' in "".join(head.lines))
