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
    sentences = _converted(value)
    if sentences is None:
        return [ENCODER.encode(value) if isinstance(value, str) else value]  # a text would be taken for a line
    return sentences


def _converted(value: Any) -> list[JsonObject] | None:
    """The sentences of an object of one of these forms, in the native format; None for a value of another form."""
    if not isinstance(value, dict):
        return None
    if (sentences := _of_dygie(value)) is not None:
        return sentences
    sentence = _of_one_sentence(value)
    return None if sentence is None else [_if_right(sentence, value)]


def _of_dygie(value: JsonObject) -> list[JsonObject] | None:
    """The sentences of an object of DyGIE, in which words are counted across all sentences; None for another form."""
    word_lists, range_lists = value.get("sentences"), value.get("ner")
    if not isinstance(word_lists, list) or not isinstance(range_lists, list) or len(word_lists) != len(range_lists):
        return None
    if not all(isinstance(part, list) for part in (*word_lists, *range_lists)):
        return None
    sentences, word_count, document = [], 0, value.get("doc_key")
    for words, ranges in zip(word_lists, range_lists, strict=True):
        sentence = _sentence(words, ranges, word_count)
        sentence |= {"document": document} if isinstance(document, str) else {}
        sentences.append(_if_right(sentence, {"sentences": [words], "ner": [ranges]}))
        word_count += len(words)
    return sentences


def _of_one_sentence(value: JsonObject) -> JsonObject | None:
    """The sentence of an object of GLiNER, W2NER, OneIE or SpERT; None for another form."""
    ner: Any = value.get("ner")
    words = value.get("tokens")
    if value.keys() & {"tags", "ner_tags"}:
        return None
    if "tokenized_text" in value and isinstance(ner, list):
        return _sentence(value["tokenized_text"], ner, 0)
    if not isinstance(value.get("sentence", ""), str) and _are_objects(ner):
        return {"words": value["sentence"], "entities": [*map(_of_numbers, ner)]}
    if not isinstance(words, list) or any(isinstance(word, dict) for word in words):
        return None  # such as a text of doccano, which adds tokens that nersery or Prodigy wrote
    if _are_objects(value.get("entity_mentions")):
        labels, type_ = value["entity_mentions"], "entity_type"
    elif "relations" in value and _are_objects(value.get("entities")):
        labels, type_ = value["entities"], "type"
    else:
        return None
    entities = [{"start": one.get("start"), "end": one.get("end"), "type": one.get(type_)} for one in labels]
    return {"words": words, "entities": entities}


def _are_objects(labels: Any) -> bool:
    return isinstance(labels, list) and all(isinstance(label, dict) for label in labels)


def _if_right(sentence: JsonObject, written: JsonObject) -> JsonObject:
    """The sentence, or the value in its file if words or entities are wrong, so that the error shows this value."""
    return sentence if is_native(sentence) else written


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
    return _converted(value) is not None or (value is None and '"tokenized_text"' in "".join(head.lines))
