"""Endings that an apostrophe or colon joins to a name: Turkish *Ankara'da*, Finnish *EU:n*."""

from __future__ import annotations

import re

from nersery.core.text.languages import primary
from nersery.core.text.text_forms import lower_case

APOSTROPHES = "'’‘´"
"""Apostrophes, and two characters that are typed in their place: *d‘Or*."""
FOLLOWING = {"a": "aı", "ı": "aı", "o": "au", "u": "au", "e": "ei", "i": "ei", "ö": "eü", "ü": "eü"}
"""For each vowel of Turkish, the low and the high vowel that may follow it in the next syllable."""
VOICELESS = "çfhkpsşt"
_TURKIC = re.compile(
    rf"(?<=\w\w)[{APOSTROPHES}](?:[ny]?[aeəıiuü]|"
    r"(?:n?[ıiuü]n|n?[dt][aeə]|y?l[aeə]|l[ıiuü]|s[ıiuü]z|y?[dt][ıiuü]|y?m[ıiuü]ş)\w*)$",
    re.IGNORECASE,
)
"""A Turkic ending with its apostrophe; *Kur'an* has none."""
_BEHIND_COLON = re.compile(r"(?<=\w\w):[^\W\d_]+$")
_INFLECTIONS = {**dict.fromkeys(("tr", "az", "crh"), _TURKIC), **dict.fromkeys(("fi", "sv"), _BEHIND_COLON)}
_WITHOUT_BUFFER = re.compile(r"[ny]?((?P<genitive>[ıiuü]n)|(?P<y>[aeıiuü]$|l[ae](?!r)|[dt][ıiuü](?!r)|m[ıiuü]ş)|[dt])")


def inflection(name: str, language: str) -> str:
    """The ending of a name, with its apostrophe or colon; empty if there is none.

    >>> [inflection(name, "tr") for name in ("Ankara'da", "ANKARA’NIN", "L'Oréal'in", "L'Oréal", "O'Brien", "Kur'an")]
    ["'da", '’NIN', "'in", '', '', '']
    >>> inflection("EU:n", "fi"), inflection("Sana'a", "en"), inflection("Ankara'da", "")
    (':n', '', '')
    """
    pattern = _INFLECTIONS.get(primary(language))
    match = pattern.search(name) if pattern else None
    return match[0] if match and (match[0].islower() or name.isupper()) else ""  # not *Dell'Inferno*


def inflected(name: str, ending: str, language: str) -> str:
    """A name with the ending of another name; in Turkish, the ending is adapted to the sounds of the name.

    >>> [inflected("Berlin", ending, "tr") for ending in ("'da", "’nın", "'ya", "'yla", "'daki", "'nda", "'lı")]
    ["Berlin'de", 'Berlin’in', "Berlin'e", "Berlin'le", "Berlin'deki", "Berlin'de", "Berlin'li"]
    >>> [inflected(name, "'e", "tr") for name in ("Ankara", "Paris", "ABD", "Köln", "2000")]
    ["Ankara'ya", "Paris'e", "ABD'ye", "Köln'e", "2000'e"]
    >>> inflected("PARİS", "'DA", "tr"), inflected("Maroş", "'un", "tr"), inflected("Nokia", ":n", "fi")
    ("PARİS'TE", "Maroş'un", 'Nokia:n')
    """
    sounds = _lower(name) + "e" * (len(name) > 1 and name.isupper() and not FOLLOWING.keys() & {*_lower(name[1:])})
    vowels = [sound for sound in sounds if sound in FOLLOWING]
    if not ending or primary(language) != "tr" or not vowels or not sounds[-1].isalpha():
        return name + ending
    letters = _lower(ending[1:])
    match = _WITHOUT_BUFFER.match(letters)
    buffer = ""
    if match:
        letters = letters[match.start(1) :]
        if sounds[-1] in FOLLOWING:
            buffer = "n" if match["genitive"] else "y" if match["y"] else ""
    written, vowel = "", vowels[-1]
    for letter in letters:
        if letter in FOLLOWING and not (letter == "i" and written.endswith("k")):  # the *ki* of *daki* never changes
            letter = vowel = FOLLOWING[vowel][letter not in "ae"]
        elif letter in "dt" and not (written or buffer):
            letter = "t" if sounds[-1] in VOICELESS else "d"
        written += letter
    written = buffer + written
    return name + ending[0] + (written.replace("i", "İ").upper() if ending.isupper() else written)


def _lower(text: str) -> str:
    return lower_case(text, "tr")
