"""Distinguishes unannotated texts from texts without entities, as far as their tool says which they are."""

from __future__ import annotations

from nersery.core.errors import Issue
from nersery.io.annotation_tools.argilla import is_record
from nersery.io.annotation_tools.json_forms import LABEL_KEYS
from nersery.io.columns_and_rows.objects import JsonObject

_OF_PRODIGY = ("_input_hash", "_task_hash")
WITHOUT_KEY = (
    "texts with neither labels nor a key for them: {}. They are read as sentences without entities: leave out texts "
    "that nobody has labelled"
)
OF_DOCCANO = (
    "texts of doccano without labels: {}. They are read as sentences without entities. Texts that nobody has annotated "
    'look the same in its export: to leave these out, check "Export only approved documents"'
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
