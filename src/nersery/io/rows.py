"""Lines of data sets whose tags have another name than in most."""

from __future__ import annotations

from typing import Any

OTHER_TAGS = ("ner", "labels", "ner_labels")
"""What tags are called in the examples of transformers and in some data sets."""
_OURS = {"entities", "tags", "ner_tags"}


def with_usual_names(value: Any) -> Any:
    """A line with words and a list of tags under such a name, as ``tokens`` and ``ner_tags``; others as they are.

    >>> with_usual_names({"words": ["Oslo"], "ner": ["B-LOC"]})
    {'tokens': ['Oslo'], 'ner_tags': ['B-LOC']}
    """
    words = value.get("tokens", value.get("words")) if isinstance(value, dict) else None
    if not isinstance(words, list) or value.keys() & _OURS:
        return value
    tag_keys = [key for key in OTHER_TAGS if _are_tags(value.get(key), len(words))]
    names = {"words": "tokens", tag_keys[0]: "ner_tags"} if len(tag_keys) == 1 else {}
    return {names.get(key, key): content for key, content in value.items()}


def _are_tags(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(isinstance(tag, str) for tag in value)
