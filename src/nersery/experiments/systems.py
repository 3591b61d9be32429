"""The systems that a recipe compares: a method, its selectors, and how the tagger is trained on the result."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nersery.core import registry
from nersery.core.errors import did_you_mean
from nersery.core.sentence import Sentence
from nersery.core.training_context import copies_for_upsampling

GOLD = "gold"
"""The name of the baseline that every run trains: the tagger on gold sentences alone."""

RESERVED = (GOLD, "sample")
"""Folders that every run has, so that no system can be called so."""

LONGEST_NAME = 200
"""In bytes of UTF-8; file systems allow 255."""


LABELS_RAW_TEXT = "annotate"
"""The kind of methods that start from raw text rather than from gold sentences."""

MOST_COPIES = 1_000_000
"""Of a sentence. A larger number is a typing error."""

OWN_KEYS = ("name", "method", "base", "merge", "vote", "copies", "select", "gold_copies", "upsampling", "second_stage")
"""What an entry says of the system; the other keys are settings of the method."""


@dataclass
class MethodSettings:
    """A method by name with the settings of its own.

    Args:
        kind: The kind of plug-in, see `nersery.core.registry.KINDS`.
    """

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = "augment"


@dataclass
class System:
    """One way to train: gold sentences and what a method made from them, or from raw text.

    Args:
        name: What the report calls it.
        method: An augmenter or an annotator; none for the baseline and for merged systems.
        base: A system above this one. Its kept sentences count as gold: the method learns from them and starts from
            them, and the tagger trains on them. Empty: gold alone.
        merge: Systems above this one. The selectors choose from the sentences that these have kept; there is no method.
            If several labelled the same raw sentence, the labels of the last one count.
        vote: For raw sentences that several merged systems labelled, keep the entities that more than half of them
            found; see `nersery.experiments.voting`.
        copies: Attempts per sentence that the method starts from.
        select: Selectors that act one after another.
        gold_copies: Number of times that each gold sentence is in the training data; 0 trains on the others alone.
        upsampling: Repeat gold sentences until they are at least this share of the training data, in [0, 1).
        second_stage: Tagger settings for a second training, on gold alone. Empty: no second training.
    """

    name: str
    method: MethodSettings | None = None
    base: str = ""
    merge: list[str] = field(default_factory=list)
    vote: bool = False
    copies: int = 1
    select: list[MethodSettings] = field(default_factory=list)
    gold_copies: int = 1
    upsampling: float = 0.0
    second_stage: dict[str, Any] = field(default_factory=dict)

    @property
    def is_baseline(self) -> bool:
        """Whether the system trains on gold sentences alone."""
        return self.method is None and not self.merge

    @property
    def labels_raw_text(self) -> bool:
        """Whether its method starts from raw text."""
        return self.method is not None and self.method.kind == LABELS_RAW_TEXT

    def weigh(self, gold: Sequence[Sentence], kept: Sequence[Sentence]) -> list[Sentence]:
        """What its tagger is trained on: gold as often as the system says, and what it kept."""
        share = copies_for_upsampling(len(gold), len(kept), self.upsampling)
        return [*gold] * (max(self.gold_copies, share) if self.gold_copies else 0) + [*kept]

    def makes_the_same_as(self, other: System) -> bool:
        """Whether both generate the same sentences, so that one of them need not."""
        ours, theirs = (
            (system.method, system.base, system.merge, system.vote, system.copies) for system in (self, other)
        )
        return ours == theirs


def parse_systems(table: Mapping[str, Any], problems: list[str]) -> list[System]:
    """The systems of a recipe's table, the baseline first; what is wrong with them is added to the problems."""
    select = _selectors(table, "", problems)
    entries = _list(table, "systems", "write [[systems]], once for each entry", problems)
    systems = [
        System(GOLD),
        *(_system(number, entry, select, problems) for number, entry in enumerate(entries, start=1)),
    ]
    problems += [*_clashes(systems), *_order_problems(systems)]
    return systems


def _clashes(systems: Iterable[System]) -> list[str]:
    """Systems that would share a folder, on some systems at least: upper and lower case may be the same there."""
    names: dict[str, list[str]] = {}
    for system in systems:
        names.setdefault(unicodedata.normalize("NFC", system.name).casefold(), []).append(system.name)
    return [
        f"{len(same)} systems are called {' or '.join(dict.fromkeys(map(_quoted, same)))}; "
        "give each its own name, which case does not make"
        for key, same in names.items()
        if len(same) > 1 and key not in ("", *RESERVED)
    ]


def _order_problems(systems: Sequence[System]) -> list[str]:
    """What a system goes on from or joins must stand above it, and no two methods may be the same in it."""
    problems = []
    above: dict[str, list[System]] = {}  # each system by its name, behind all whose sentences it has too
    labellers: set[str] = set()
    for system in systems[1:]:
        place = f"system {_quoted(system.name)}"
        named = [("base", system.base)] if system.base != "" else [("merge", name) for name in system.merge]
        before: list[System] = []
        for key, name in named:
            there = above.get(name, []) if isinstance(name, str) else []
            if not there:
                hint = did_you_mean(str(name), above) if above else "this is the first one"
                problems.append(f"{place}: {key} is {name!r}, expected a system above it; {hint}")
            before += [other for other in there if not any(other is one for one in before)]
        if system.labels_raw_text or not labellers.isdisjoint(system.merge):
            labellers.add(system.name)
        if system.vote is True and system.merge and (voters := len(labellers.intersection(system.merge))) < 2:
            problems.append(f"{place}: vote is of two or more systems that have labelled raw text; merge has {voters}")
        is_new = not any(_same_methods(above.get(name, [])) for _, name in named if isinstance(name, str))
        if is_new and (same := _same_methods([*before, system])):
            one, other = (_quoted(found.name) for found in same)
            problems.append(
                f"{place}: {one} and {other} have the same method, {_method_of(same[0])}: expected "
                "different methods in systems that are merged, because their sentences would have the same ids"
            )
        above[system.name] = [*before, system]
    return problems


def _same_methods(systems: Sequence[System]) -> tuple[System, System] | None:
    """Two of the systems that have the same method."""
    seen: dict[str, System] = {}
    for system in systems:
        if method := _method_of(system):
            if method in seen:
                return seen[method], system
            seen[method] = system
    return None


def _method_of(system: System) -> str:
    """The method that new sentences take their ids from; raw text keeps its own."""
    return system.method.method if system.method and not system.labels_raw_text else ""


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def name_fault(name: Any) -> str:
    """Why a name cannot be a folder's too; empty when it can."""
    if not isinstance(name, str) or not name:
        return "expected a string"
    if name != name.strip() or name.startswith(".") or "/" in name or "\\" in name:
        return "expected one without slashes, outer spaces or a dot in front, for it is also a folder's"
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        return "expected one without line breaks or control characters, for it is also a folder's"
    if len(name.encode()) > LONGEST_NAME:
        return f"expected at most {LONGEST_NAME} bytes, for it is also a folder's"
    return ""


def _list(table: Mapping[str, Any], key: str, expected: str, problems: list[str]) -> list[Any]:
    entries = table.get(key, [])
    if isinstance(entries, list):
        return entries
    problems.append(f"{key} is {entries!r:.60}, not a list: {expected}")
    return []


def method_settings(
    kind: str, entry: Mapping[str, Any], place: str, default: str, problems: list[str]
) -> MethodSettings:
    """A method of a kind and its settings, checked; what is wrong is added to the problems."""
    settings = {key: value for key, value in entry.items() if key != "method"}
    name = entry.get("method", default)
    if not isinstance(name, str) or not name:
        found = f"is {name!r}" if name else "is missing"
        problems.append(f"{place}: method {found}; known: {', '.join(registry.names(kind))}")
        return MethodSettings("", kind=kind)
    wrong = [f"{place}: {problem}" for problem in registry.check(kind, name, settings)]
    problems += wrong
    return MethodSettings(name, settings if wrong else {**registry.defaults(kind, name), **settings}, kind)


def _selectors(table: Mapping[str, Any], place: str, problems: list[str]) -> list[MethodSettings]:
    """The selectors of the recipe, or of a system."""
    prefix = f"{place}: select" if place else "select"
    chosen = []
    for entry in _list(table, "select", 'expected e.g. select = ["duplicates"]', problems):
        if isinstance(entry, str | dict):
            settings = {"method": entry} if isinstance(entry, str) else entry
            chosen.append(method_settings("select", settings, prefix, "", problems))
        else:
            expected = 'expected "agreement" or { method = "agreement", … }'
            problems.append(f"{prefix}: {entry!r:.60} is no selector; {expected}")
    return chosen


def _system(number: int, entry: Any, select: list[MethodSettings], problems: list[str]) -> System:
    if not isinstance(entry, dict):
        problems.append(f"system {number} is {entry!r:.60}; write [[systems]] and below it method = …")
        return System("")
    method = entry.get("method", "")
    name = entry.get("name", method if isinstance(method, str) else "")
    place = f"system {number}" + (f' "{name}"' if name else "")
    made = _source(entry, place, problems)
    if "name" in entry or name:
        if fault := name_fault(name):
            problems.append(f"{place}: its name is {name!r}: {fault}")
        elif str(name).casefold() in RESERVED:
            problems.append(f"{place}: every run has folders {' and '.join(RESERVED)}; give it another name")
    if "select" in entry:
        select = _selectors(entry, place, problems)
    system = System(str(name), made, entry.get("base", ""), entry.get("merge", []), select=select, **_values(entry))
    problems += [f"{place}: {problem}" for problem in _system_problems(system)]
    return system


def _source(entry: Mapping[str, Any], place: str, problems: list[str]) -> MethodSettings | None:
    """Where a system's sentences come from, if not from other systems."""
    settings = {key: value for key, value in entry.items() if key == "method" or key not in OWN_KEYS}
    if "merge" not in entry:
        annotates = entry.get("method") in registry.names(LABELS_RAW_TEXT)
        return method_settings(LABELS_RAW_TEXT if annotates else "augment", settings, place, "", problems)
    if entry["merge"] == []:
        problems.append(
            f'{place}: merge is empty, expected names of systems above it, e.g. merge = ["melm", "qa_prompting"]'
        )
    if settings or "base" in entry:
        wrong = ", ".join([*settings, *(["base"] if "base" in entry else [])])
        problems.append(f"{place}: merge takes what other systems kept, so it goes without {wrong}")
    return None


def _values(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("vote", "copies", "gold_copies", "upsampling", "second_stage") if key in entry}


def _system_problems(system: System) -> list[str]:
    """What is wrong with the values of a system."""
    problems = []
    for key, least in (("copies", 1), ("gold_copies", 0)):
        value = getattr(system, key)
        if type(value) is not int or value < least:
            problems.append(f"{key} is {value!r}, expected a whole number, {least} or more")
        elif value > MOST_COPIES:
            problems.append(f"{key} is {value}, expected at most {MOST_COPIES}")
    share = system.upsampling
    if type(share) not in (int, float) or not 0 <= share < 1:
        problems.append(f"upsampling is {share!r}, expected a number in [0, 1)")
    elif share and not system.gold_copies:
        problems.append("upsampling is above 0 and gold_copies is 0: expected one of them")
    if not isinstance(system.merge, list) or any(type(name) is not str for name in system.merge):
        problems.append(
            f'merge is {system.merge!r:.60}, expected a list of names, e.g. merge = ["melm", "qa_prompting"]'
        )
        system.merge = []
    if len({*system.merge}) < len(system.merge):
        problems.append(f"merge is {system.merge!r:.60}, expected each name once")
    if type(system.vote) is not bool:
        problems.append(f"vote is {system.vote!r:.60}, expected true or false")
    elif system.vote and not system.merge:
        problems.append("vote is of systems that have labelled raw text: name them by merge")
    if (system.labels_raw_text or system.merge) and system.copies != 1:
        problems.append("copies is for methods that make sentences of gold ones; leave it out")
    return problems
