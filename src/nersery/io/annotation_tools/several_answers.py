"""Finds texts that several people have labelled, in exports with an object for each answer: Prodigy and JSON-MIN."""

from __future__ import annotations

from nersery.core.errors import Issue
from nersery.io.annotation_tools.json_forms import TEXTS
from nersery.io.base import digest_of
from nersery.io.columns_and_rows.objects import BrokenError, JsonObject
from nersery.io.temporary_tables.ids import SeenIds

SEVERAL = (
    "texts with several answers in Prodigy: {}. Each answer is read as a text of its own: keep one answer for each "
    'text. To compare two people, save the answers of each "_session_id" to a file of their own, in the same order: '
    "nersery inspect agreement"
)
_FIX = (
    "keep one annotation of each task. To compare two people, save the annotations of each annotator to a file of "
    "their own: nersery inspect agreement"
)


class Answers:
    """The answers in one pass over a file."""

    def __init__(self) -> None:
        self._tasks, self._labels, self._several = SeenIds(), SeenIds(), SeenIds()

    def is_known(self, value: JsonObject, line: int) -> bool:
        """Whether an annotation in Label Studio's JSON-MIN has the labels of an earlier one of the same task.

        Raises:
            BrokenError: If the task has an earlier annotation with other labels.
        """
        if value.get("annotation_id") is None or "id" not in value:
            return False
        task = digest_of([value["id"], *map(value.get, TEXTS)])
        lists = [content for content in value.values() if isinstance(content, list)]
        labels = digest_of([task, *sorted(str(label) for content in lists for label in content)])
        earlier = self._tasks.add(task, line)
        if self._labels.add(labels, line) is not None:
            return True
        if earlier is not None:
            message = f"its labels differ from another annotation of the same task, in line {earlier[0]}"
            raise BrokenError(Issue(message, line=line, kind="annotations differ", fixes=(_FIX,)))
        return False

    def begins_several(self, value: JsonObject, line: int) -> bool:
        """Whether this is the second answer in Prodigy for the same text."""
        if "_input_hash" not in value:
            return False
        text = digest_of([value.get("text")])
        return self._tasks.add(text, line) is not None and self._several.add(text, line) is None
