"""Formats that nersery does not read: how their files begin, and how their labels can be read all the same.

Only files that no format recognises are compared with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nersery.core.errors import DataError, Issue
from nersery.io.formats import Beginning

_BY_CHARACTERS = 'write each text as {"text": …, "label": [[start, end, type], …]} on a line of its own'


@dataclass(frozen=True, slots=True)
class Foreign:
    """A format that cannot be read.

    Args:
        name: As messages have it.
        begins: Occurs in the first lines of its files.
        advice: How to get labels out of it.
    """

    name: str
    begins: re.Pattern[str]
    advice: str


FOREIGN = (
    Foreign(
        "UIMA CAS",
        re.compile(r"<xmi:XMI|<cas:|\"%(?:TYPES|FEATURE_STRUCTURES)\""),
        "export the document from INCEpTION as WebAnno TSV v3.3",
    ),
    Foreign(
        "BioC",
        re.compile(r"BioC\.dtd|<collection>|\"infons\"\s*:"),
        "convert it to PubTator or brat, e.g. with the Python package bconv",
    ),
    Foreign(
        "training data of Rasa",
        re.compile(r"^(?:version:.*\n)?nlu:\s*$|^## (?:intent|synonym|lookup|regex):", re.MULTILINE),
        "make JSON of it: rasa data convert nlu --format json",
    ),
    Foreign("XML", re.compile(r"^\ufeff?\s*<(?:\?xml|!DOCTYPE|DOC|doc|corpus|TEI)\b"), _BY_CHARACTERS),
    Foreign(
        "text with tags behind its words, as WikiNER",
        re.compile(r"^(?:[^\s|]+(?:\|[^\s|]+)*\|(?:O|[BI]-[^\s|]+)(?: |$)){3}", re.MULTILINE),
        r"make columns of it: sed 's/$/\n/' old.txt | tr ' |' '\n\t' > new.conll",
    ),
    Foreign(
        "text with labels as marks in it",
        re.compile(r"<START(?::\w+)?> .+? <END>|<(?P<tag>[A-Z][A-Z_]{2,})(?: [^<>]*)?>[^<>]+</(?P=tag)>"),
        _BY_CHARACTERS,
    ),
)


class ForeignFormatError(DataError):
    """A file of a format that cannot be read."""


def refuse_foreign(start: Beginning) -> None:
    """Raise `ForeignFormatError` if a file begins like one of these formats, which would be read as text if at all."""
    beginning = "".join(start.lines)
    for known in FOREIGN:
        if found := known.begins.search(beginning):
            message = f"this seems to be {known.name}, which cannot be read: {found[0].strip()!r:.60}"
            raise ForeignFormatError(
                Issue(message, start.file.name), fix=f"{known.advice}; or read each line as text: --format text"
            )
