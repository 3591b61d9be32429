"""Finds texts that nobody has labelled, and texts that several people have labelled, as far as their tool says so.

Prodigy and Label Studio's JSON-MIN export an object for each answer.
"""

from __future__ import annotations

from nersery.core.errors import Issue
from nersery.io.annotation_tools.argilla import is_record
from nersery.io.annotation_tools.json_forms import LABEL_KEYS, TEXTS
from nersery.io.base import digest_of
from nersery.io.columns_and_rows.objects import BrokenError, JsonObject
from nersery.io.temporary_tables.ids import SeenIds

_OF_PRODIGY = ("_input_hash", "_task_hash")
WITHOUT_KEY = (
    "texts with neither labels nor a key for them: {}. They are read as sentences without entities: leave out texts "
    "that nobody has labelled"
)
OF_DOCCANO = (
    "texts of doccano without labels: {}. They are read as sentences without entities. Texts that nobody has annotated "
    'look the same in its export: to leave these out, check "Export only approved documents"'
)
SEVERAL = (
    "texts with several answers in Prodigy: {}. Each answer is read as a text of its own: keep one answer for each "
    'text. To compare two people, save the answers of each "_session_id" to a file of their own, in the same order: '
    "nersery inspect agreement"
)
_FIX = (
    "keep one annotation of each task. To compare two people, save the annotations of each annotator to a file of "
    "their own: nersery inspect agreement"
)


def issue_of_unannotated(value: JsonObject, line: int) -> Issue | None:
    """An issue for a text that nobody has annotated according to its tool; None for other texts."""
    if value.get("annotation_id", "") is None:  # in Label Studio's JSON-MIN
        return Issue("nobody has annotated this task", line=line, kind="not annotated", fixes=("annotate it",))
    if value.get("answer") is None and any(key in value for key in _OF_PRODIGY):
        fix = 'answer them in Prodigy, or add "answer": "accept" to those whose labels are right'
        return Issue("nobody has answered this task of Prodigy", line=line, kind="not annotated", fixes=(fix,))
    return None


def note_if_unannotated(value: JsonObject) -> str:
    """A note on texts without labels, such as this one, that may be unannotated; empty without such a doubt."""
    if "Comments" in value or value.get("annotation_approver", "") is None:  # the latter in old versions
        return OF_DOCCANO
    has_key = any(isinstance(value.get(key), list | dict) for key in LABEL_KEYS)
    is_checked = is_record(value) or any(key in value for key in ("answer", "annotation_id", "data"))
    return "" if has_key or is_checked else WITHOUT_KEY


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
