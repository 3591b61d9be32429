"""Mojibake: text in UTF-8 that was read in another encoding and saved again, so that é became Ã©."""

from __future__ import annotations

import re

WINDOWS = "windows-1252"
MIN_GARBLED = 3
"""The minimum number of garbled places, to distinguish them from chance."""
MIN_SHARE = 0.5
"""The minimum share of garbled places among those with characters beyond ASCII."""
_PLACE = re.compile(r"[^\x00-\x7f]+")
_CONTROL = re.compile(r"[\x80-\x9f]")
"""Characters of Latin-1 for bytes that are punctuation in Windows-1252."""
_OF_WINDOWS = {bytes([byte]).decode(WINDOWS, "ignore"): byte for byte in range(0x80, 0xA0)}
"""Bytes that are control characters in Latin-1, by their characters in Windows-1252."""


def restored(text: str) -> str:
    """The original of a garbled text; empty if it is not garbled.

    >>> restored("Ã©"), restored("é")
    ('é', '')
    """
    try:
        return bytes([_OF_WINDOWS.get(character, min(ord(character), 0xFF)) for character in text]).decode()
    except UnicodeDecodeError:
        return ""


def note_of_mojibake(text: str) -> str:
    """A note on a text that is mostly garbled; empty for other texts.

    >>> note_of_mojibake("JosÃ© MÃ¼ller, RenÃ©")[-61:]
    'If so, restore them: iconv -f utf-8 -t windows-1252 old > new'
    """
    places = _PLACE.findall(text)
    garbled = [place for place in places if restored(place)]
    if len(garbled) < max(MIN_GARBLED, MIN_SHARE * len(places)):
        return ""
    encoding = "latin1" if _CONTROL.search(text) else WINDOWS
    return (
        f'characters seem to have been read in another encoding and saved again: "{garbled[0]}" was perhaps '
        f'"{restored(garbled[0])}". If so, restore them: iconv -f utf-8 -t {encoding} old > new'
    )
