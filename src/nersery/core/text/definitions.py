"""What entity types mean, in words: defaults for common tag sets, and the user's own texts."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from nersery.core.errors import SettingsError, shown
from nersery.core.sentence_validation import LETTERS, TYPE_RULE, is_type_name

NO_ENTITY = "other"
"""The definition of a word that belongs to no entity."""
QUESTION_MARKS = ("?", "؟", "？", ";")
"""The characters that end a question; Greek uses a semicolon."""


def description(type: str, own: Mapping[str, str]) -> str:
    """A short name of what a type means; the user's ``own`` descriptions override the defaults.

    >>> description("CW", {}), description("Chemical_Entity", {}), description("GENE", {"GENE": "gene or protein"})
    ('creative work', 'chemical entity', 'gene or protein')
    """
    return _text_of(type, own, "description")


def definition(type: str, own: Mapping[str, str]) -> str:
    """The definition of a type; the user's ``own`` definitions override the defaults.

    >>> definition("PER", {}), definition("SuperConductor", {})
    ('named person or family', 'super conductor')
    """
    return _text_of(type, own, "definition")


def question(type: str, own: Mapping[str, str]) -> str:
    """A question for the mentions of a type; an ``own`` definition that ends in a question mark is used as is.

    >>> question("PER", {}), question("GENE", {"GENE": "gene of a plant"})
    ('Who is the named person or family mentioned in texts?', 'Which gene of a plant is mentioned in texts?')
    """
    text = (_text_of(type, own, "question") or definition(type, own)).strip()
    return text if text.endswith(QUESTION_MARKS) else f"Which {text} is mentioned in texts?"


def check_texts(texts: Mapping[str, str], setting: str) -> None:
    """Raise `SettingsError` if descriptions or definitions of types are empty."""
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise SettingsError(f'{setting} is {shown(texts)}, expected a text for each type, e.g. {{"PER": "person"}}')
    if empty := [name for name, text in texts.items() if not text.split()]:
        raise SettingsError(f"{setting} has no text for {', '.join(empty)}: expected a few words for each")


def check_types(types: Iterable[str], setting: str, beside: Collection[str] = ()) -> None:
    """Raise `SettingsError` if a name cannot be the type of an entity, or is a tag.

    *S-Layer* and *E-MAIL* are types, but they are tags if *Layer* or *MAIL* is also a type.

    Args:
        beside: The types that a corpus already has.
    """
    names: list[Any] = [*dict.fromkeys(types)] if isinstance(types, Iterable) and not isinstance(types, str) else [None]
    if not all(isinstance(name, str) for name in names):
        raise SettingsError(f'{setting} is {shown(types)}, expected a list of types, e.g. ["PER", "LOC"]')
    for name in names:
        if not is_type_name(name):
            raise SettingsError(f"{setting} has the type {name!r}: {TYPE_RULE}")
    behind_letters = Counter(map(_after_letter, names))
    for name in names:
        if name == "O":
            raise SettingsError(f'{setting} has the type "O", which is the tag of words outside entities: leave it out')
        type_ = _after_letter(name)
        if type_ and (is_known(type_) or type_ in names or type_ in beside or behind_letters[type_] > 1):
            other = shlex.quote(f"{name}={name[0]}{type_}")
            raise SettingsError(
                f'{setting} has the type "{name}", which is a tag; did you mean "{type_}"? If it is a type, rename it: '
                f"nersery dataset convert OLD NEW --type {other}"
            )


def _after_letter(name: str) -> str:
    """The part after the letter of a tag; empty if the name cannot be a tag, such as *B-cell* with its small *c*."""
    return name[2:] if name[0] in LETTERS and name[1:2] == "-" and not name[2:3].islower() else ""


def is_known(type: str) -> bool:
    """Whether a type has a default text; for other types, the name is shown."""
    return _key(type) in _defaults()


def undefined(types: Iterable[str], own: Mapping[str, str]) -> list[str]:
    """The types with neither an ``own`` definition nor a default."""
    return [type for type in types if type not in own and not is_known(type)]


def known() -> dict[str, str]:
    """The description and definition of each type that has a default, sorted by name."""
    table = _table()
    return {
        name: f"{table[name]['description']}: {table[name]['definition']}" for name in sorted(table, key=str.casefold)
    }


def _text_of(type: str, own: Mapping[str, str], field: str) -> str:
    if type in own:
        return own[type]
    texts = _defaults().get(_key(type))
    return texts.get(field, "") if texts else _readable(type)


@cache
def _defaults() -> dict[str, dict[str, str]]:
    return {_key(name): texts for name, texts in _table().items()}


def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("nersery.core.text").joinpath("definitions.toml").read_text("utf-8"))


def _key(type: str) -> str:
    """The normalized name of a type: tag sets spell the same type as ``Work_of_Art`` or ``WORK-OF-ART``."""
    return re.sub(r"[\s_/-]+", "-", type).upper()


def _readable(type: str) -> str:
    """A type's name as words."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type)
    return re.sub(r"[\s_:/<>-]+", " ", apart).strip().lower() or "entity"
