"""Finds scientific terms and figures, which have no capitals, by the form of their words.

Diseases, chemicals, genes, species, dates and amounts are marked in texts of corpora that do not label them. The rules
in ``terms.toml`` miss some of them and are sometimes wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from examples import Kinds, Mention, Text

from nersery.augment.words.thesaurus import FUNCTION_WORDS

LISTS = {
    section: {name: tuple(words.split()) for name, words in table.items()}
    for section, table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
SCIENCES = ("disease", "chemical", "gene", "organism", "material", "discipline", "genre")
COVERS = ("disease", "chemical", "organism", "discipline", "genre", "figure")
"""Branches for which nearly every name in general text is found. No rule finds genes and materials there."""
BIOMEDICAL = (*COVERS, "gene")

_DISEASES, _CHEMICALS = LISTS["diseases"], LISTS["chemicals"]
CATIONS = _CHEMICALS["cations"]
MONTHS = LISTS["figures"]["months"]


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(words)})"


DISEASE = re.compile(rf"[a-z]{{3,}}{_any(_DISEASES['endings'])}$")
MODIFIER = re.compile(rf"[a-z]{{2,}}{_any(_DISEASES['modifier_endings'])}$")
CHEMICAL = re.compile(rf"[a-z]{{2,}}{_any(_CHEMICALS['endings'])}$")
FORMULA = re.compile(rf"(?=.*\d)(?=.*[A-Z].*[A-Z])(?!.*\d\d$)(?:{_any(_CHEMICALS['elements'])}\d{{0,2}}){{2,6}}$")
PROTEIN = re.compile(rf"[a-z]{{3,}}{_any(LISTS['proteins']['endings'])}$")
GENE = re.compile(r"(?:[A-Z]{2,5}[a-z]?\d{1,3}[A-Z]?|p\d{2}|CD\d{1,2}|IL\d{1,2})$")
ACRONYM = re.compile(r"[A-Z][A-Za-z]{0,2}[A-Z]{1,4}\d?$")

_MONTH, _DAY = _any(MONTHS), _any(LISTS["figures"]["days"])
_MONTH_ALONE = _any(month for month in MONTHS if month not in ("march", "may"))
_NUMBER = rf"(?:\d[\d,]*(?:\.\d+)?|{_any(LISTS['figures']['numbers'])})"
_MANY = rf"(?:(?:about|nearly|over) )?{_NUMBER}(?: (?:hundred|thousand|million|billion|dozen))*"
_UNIT = rf"(?:{_any(LISTS['figures']['units'])}|square (?:miles|kilometers|kilometres|feet))"
_YEAR, _DECADE, _RANK = r"(?:1[5-9]|20)\d\d", r"(?:1[5-9]|20)\d0s", r"(?:th|st|nd|rd)"
FIGURES = tuple(
    (kind, re.compile(rf"(?<!\S)(?:{pattern})(?!\S)"))
    for kind, pattern in (
        ("date", rf"(?:{_DAY} )?(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}})?(?: ,)? {_YEAR}"),
        ("date", rf"\d{{1,2}} {_MONTH}|{_MONTH} \d{{1,2}}"),
        ("percent", rf"{_MANY} (?:percent|%|per cent)"),
        ("money", rf"(?:[$€£¥]|us \$) {_MANY}|{_MANY} (?:dollars|euros|pounds sterling|cents|rupees|yen)"),
        ("quantity", rf"{_MANY} {_UNIT}"),
        ("time", rf"{_MANY} (?:hours?|minutes?|seconds?)|\d{{1,2}}(?: : \d\d)? (?:am|pm|a\.m\.|p\.m\.)"),
        ("date", rf"{_MANY} (?:years?|months?|weeks?|days?|decades?|centuries)(?: ago)?"),
        ("date", rf"(?:the )?{_DECADE}|(?:the )?\d{{1,2}}{_RANK} century"),
        ("date", rf"(?:early |late )?{_YEAR}|{_MONTH_ALONE}|{_DAY}|today|yesterday|tomorrow"),
        ("ordinal", rf"\d{{1,3}}{_RANK}|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"),
        ("cardinal", _MANY),
    )
)
"""Kinds of figures with their patterns. A pattern comes before others that may match the same words."""


class Terms:
    """Finds terms in texts."""

    def __init__(self, kinds: Kinds) -> None:
        self.lexicon: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        for kind in SCIENCES:
            for name in kinds.kinds[kind].names:
                for variant in _variants(" ".join(name).lower()):
                    self.lexicon[variant[0]].setdefault(variant, kind)

    def add(self, text: Text, covers: Sequence[str]) -> Text:
        """The text with its terms marked, too, except within names; ``covers`` are added to its branches.

        The text's own branches are asked for twice as often as these.
        """
        taken = {word for mention in text.mentions for word in range(mention.start, mention.end)}
        mentions = list(text.mentions)
        for mention in self._found(text.words, "gene" in covers):
            words = range(mention.start, mention.end)
            if not taken.intersection(words):
                mentions.append(mention)
                taken.update(words)
        return replace(text, mentions=tuple(mentions), covers=(*text.covers, *text.covers, *covers))

    def _found(self, words: Sequence[str], is_biomedical: bool) -> Iterator[Mention]:
        """The terms of a sentence, longer and more certain terms first."""
        lower = [word.lower() for word in words]
        terms = [*self._listed(lower), *_diseases(words, lower), *_built(words, lower, is_biomedical)]
        terms.sort(key=lambda term: (term.start - term.end, term.start))
        yield from terms
        for _, end, kind in terms:
            is_in_brackets = words[end : end + 1] == ("(",) and words[end + 2 : end + 3] == (")",)
            if is_in_brackets and ACRONYM.match(words[end + 1]):
                yield Mention(end + 1, end + 2, kind)
        yield from _figures(lower)

    def _listed(self, lower: Sequence[str]) -> Iterator[Mention]:
        for start, word in enumerate(lower):
            names = [name for name in self.lexicon.get(word, ()) if tuple(lower[start : start + len(name)]) == name]
            if names:
                name = max(names, key=len)
                yield Mention(start, start + len(name), self.lexicon[word][name])


def _variants(name: str) -> list[tuple[str, ...]]:
    """The variants of a name in words: hyphens and possessive endings joined to words, or separate."""
    apart = name.replace("'s", " 's")
    return [tuple(text.split()) for text in (name, apart, apart.replace("-", " - "))]


def _diseases(words: Sequence[str], lower: Sequence[str]) -> Iterator[Mention]:
    for end, word in enumerate(lower):
        is_head = word in _DISEASES["heads"]
        if not is_head and (word in _DISEASES["others"] or not DISEASE.match(word)):
            continue
        start = end
        while start and _modifies(words, lower, start - 1):
            start -= 1
        if start < end or not is_head or word.startswith(_DISEASES["alone"]):
            yield Mention(start, end + 1, "disease")


def _modifies(words: Sequence[str], lower: Sequence[str], place: int) -> bool:
    """Whether a word before a disease is part of its name. The first word of a sentence never is."""
    word = lower[place]
    if place == 0 or word in _DISEASES["plain"] or word in FUNCTION_WORDS:
        return False
    is_eponym = words[place][:1].isupper() and (words[place][1:].islower() or word.endswith("'s"))
    return is_eponym or word in _DISEASES["modifiers"] or word in ("'s", "-") or MODIFIER.match(word) is not None


def _built(words: Sequence[str], lower: Sequence[str], is_biomedical: bool) -> Iterator[Mention]:
    """Chemicals and proteins by their endings, formulas and symbols."""
    for place, (word, small) in enumerate(zip(words, lower, strict=True)):
        if CHEMICAL.match(small):
            start = place
            while start and (lower[start - 1] in CATIONS or lower[start - 1].endswith(("yl", "ium"))):
                start -= 1
            yield Mention(start, place + 1, "chemical")
        elif FORMULA.match(word):
            yield Mention(place, place + 1, "chemical")
        elif is_biomedical and (PROTEIN.match(small) or GENE.match(word)):
            yield Mention(place, place + 1, "gene")


def _figures(lower: Sequence[str]) -> Iterator[Mention]:
    """Dates and amounts."""
    line = " ".join(lower)
    for kind, pattern in FIGURES:
        for match in pattern.finditer(line):
            start = line.count(" ", 0, match.start())
            yield Mention(start, start + match.group().count(" ") + 1, kind)
