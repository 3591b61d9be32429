"""HTML with highlighted entities, which notebooks show in place of a `repr`.

The backgrounds are translucent and the text keeps its colour, so that both can be read on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING
from zlib import crc32

from nersery.core.text.spacing import joined_words

if TYPE_CHECKING:
    from nersery.core.entity import Entity

SHOWN = 10
"""The number of sentences that are shown of a corpus."""
_ROW = '<div dir="auto" title="{id}" lang="{language}" style="line-height: 1.9; text-align: start">{text}</div>'
_MARK = (
    '<mark style="color: inherit; background: oklch(65% 0.2 {hue} / 0.25); border-bottom: 2px solid oklch(65% 0.2 '
    '{hue}); border-radius: 3px; padding: 1px 4px">{words}&nbsp;<bdi style="font-size: 0.7em; opacity: 0.8">{type}'
    "</bdi></mark>"
)


def sentence_html(words: Sequence[str], entities: Iterable[Entity], id: str, language: str) -> str:
    """A sentence in a line of its own, whose direction is that of its script."""
    text = " ".join(_parts(words, entities))
    return _ROW.format(id=escape(id), language=escape(language), text=text)


def _parts(words: Sequence[str], entities: Iterable[Entity]) -> Iterator[str]:
    """The entities, and the words between them."""
    entity_at = {position: entity for entity in entities for position in entity.positions}
    for start, positions in groupby(range(len(words)), lambda at: entity_at[at].start if at in entity_at else -1):
        text = escape(joined_words([words[position] for position in positions]))
        type_ = entity_at[start].type if start >= 0 else ""
        yield _MARK.format(hue=_hue(type_), words=text, type=escape(type_)) if type_ else text


def _hue(type_: str) -> int:
    """The angle of a type's colour: always the same, and with this factor well apart for PER, LOC, ORG and MISC."""
    return crc32(type_.encode()) * 31 % 360


def corpus_html(description: str, rows: Sequence[str], left_out: int) -> str:
    """The first sentences of a corpus below its description."""
    more = [f"<div>… and {left_out:,} more</div>"] if left_out else []
    return "\n".join([f"<div><strong>{escape(description)}</strong></div>", *rows, *more])
