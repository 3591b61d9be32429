"""The arms of a recipe: the ways to train that are compared, each a method and what is done with what it makes."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nersery.core import registry
from nersery.core.errors import did_you_mean
from nersery.core.sentence import Sentence
from nersery.core.training_context import copies_for_share

GOLD = "gold"
"""The name of the baseline that every run trains: the tagger on gold sentences alone."""

RESERVED = (GOLD, "sample")
"""Folders that every run has, so that no arm can be called so."""

LONGEST_NAME = 200
"""In bytes of UTF-8; file systems allow 255."""


LABELS_RAW_TEXT = "annotate"
"""The kind of methods that start from raw text rather than from gold sentences."""

MOST_COPIES = 1_000_000
"""Of a sentence; more are a slip of the pen that no memory or life is long enough for."""

OWN_KEYS = ("name", "method", "on", "join", "vote", "copies", "select", "gold_copies", "gold_share", "finish")
"""What an entry says of the arm; the other keys are settings of the method."""


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
class Arm:
    """One way to train: gold sentences and what a method made of them, or of raw text.

    Args:
        name: What the report calls it.
        method: An augmentation method or an annotator; none for the baseline, and where other arms are joined.
        on: An arm above this one, what it kept is to this arm as gold: the method learns from it, starts from it,
            and the tagger is trained on it too. Empty: gold sentences alone.
        join: Arms above this one; what they kept is what this arm selects from, in place of a method's work. Raw text
            that several have labelled bears the labels of the last.
        vote: Of raw text that several have labelled, the entities that more than half of them have found count, not
            the last's; see `nersery.experiments.voting`.
        copies: New sentences to try for each sentence that the method starts from.
        select: Which of them to keep, one selector after another.
        gold_copies: How often each gold sentence stands in the training data; 0 trains on the others alone.
        gold_share: Repeat gold sentences until they are at least this share of the training data, in [0, 1).
        finish: Settings of the tagger for a second training on gold alone, see
            `nersery.taggers.components.second_stage`. Empty: none.
    """

    name: str
    method: MethodSettings | None = None
    on: str = ""
    join: list[str] = field(default_factory=list)
    vote: bool = False
    copies: int = 1
    select: list[MethodSettings] = field(default_factory=list)
    gold_copies: int = 1
    gold_share: float = 0.0
    finish: dict[str, Any] = field(default_factory=dict)

    @property
    def is_baseline(self) -> bool:
        """Whether the arm trains on gold sentences alone."""
        return self.method is None and not self.join

    @property
    def labels_raw_text(self) -> bool:
        """Whether its method starts from raw text."""
        return self.method is not None and self.method.kind == LABELS_RAW_TEXT

    def weigh(self, gold: Sequence[Sentence], kept: Sequence[Sentence]) -> list[Sentence]:
        """What its tagger is trained on: gold as often as the arm says, and what it kept."""
        share = copies_for_share(len(gold), len(kept), self.gold_share)
        return [*gold] * (max(self.gold_copies, share) if self.gold_copies else 0) + [*kept]

    def makes_the_same_as(self, other: Arm) -> bool:
        """Whether both generate the same sentences, so that one of them need not."""
        ours, theirs = ((arm.method, arm.on, arm.join, arm.vote, arm.copies) for arm in (self, other))
        return ours == theirs


def parse_arms(table: Mapping[str, Any], problems: list[str]) -> list[Arm]:
    """The arms of a recipe's table, the baseline first; what is wrong with them is added to the problems."""
    select = _selectors(table, "", problems)
    entries = _list(table, "augment", "write [[augment]], once for each entry", problems)
    arms = [Arm(GOLD), *(_arm(number, entry, select, problems) for number, entry in enumerate(entries, start=1))]
    problems += [*_clashes(arms), *_order_problems(arms)]
    return arms


def _clashes(arms: Iterable[Arm]) -> list[str]:
    """Arms that would share a folder, on some systems at least: upper and lower case may be the same there."""
    names: dict[str, list[str]] = {}
    for arm in arms:
        names.setdefault(unicodedata.normalize("NFC", arm.name).casefold(), []).append(arm.name)
    return [
        f"{len(same)} augment entries are called {' or '.join(dict.fromkeys(map(_quoted, same)))}; "
        "give each its own name, which case does not make"
        for key, same in names.items()
        if len(same) > 1 and key not in ("", *RESERVED)
    ]


def _order_problems(arms: Sequence[Arm]) -> list[str]:
    """What an arm goes on from or joins must stand above it, and no two methods may be the same in it."""
    problems = []
    above: dict[str, list[Arm]] = {}  # each arm by its name, behind all whose sentences it has too
    labellers: set[str] = set()
    for arm in arms[1:]:
        place = f"augment {_quoted(arm.name)}"
        named = [("on", arm.on)] if arm.on != "" else [("join", name) for name in arm.join]
        before: list[Arm] = []
        for key, name in named:
            there = above.get(name, []) if isinstance(name, str) else []
            if not there:
                hint = did_you_mean(str(name), above) if above else "this is the first one"
                problems.append(f"{place}: {key} is {name!r}, expected an arm above it; {hint}")
            before += [other for other in there if not any(other is one for one in before)]
        if arm.labels_raw_text or not labellers.isdisjoint(arm.join):
            labellers.add(arm.name)
        if arm.vote is True and arm.join and (voters := len(labellers.intersection(arm.join))) < 2:
            problems.append(f"{place}: vote is of two or more arms that have labelled raw text; join has {voters}")
        is_new = not any(_same_methods(above.get(name, [])) for _, name in named if isinstance(name, str))
        if is_new and (same := _same_methods([*before, arm])):
            one, other = (_quoted(found.name) for found in same)
            problems.append(
                f"{place}: {one} and {other} have the same method, {_method_of(same[0])}: expected "
                "different ones where arms come together, for both would give what they make of a sentence the same id"
            )
        above[arm.name] = [*before, arm]
    return problems


def _same_methods(arms: Sequence[Arm]) -> tuple[Arm, Arm] | None:
    """Two of the arms that have the same method."""
    seen: dict[str, Arm] = {}
    for arm in arms:
        if method := _method_of(arm):
            if method in seen:
                return seen[method], arm
            seen[method] = arm
    return None


def _method_of(arm: Arm) -> str:
    """The method that new sentences take their ids from; raw text keeps its own."""
    return arm.method.method if arm.method and not arm.labels_raw_text else ""


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
    """The selectors of the recipe, or of an arm."""
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


def _arm(number: int, entry: Any, select: list[MethodSettings], problems: list[str]) -> Arm:
    if not isinstance(entry, dict):
        problems.append(f"augment {number} is {entry!r:.60}; write [[augment]] and below it method = …")
        return Arm("")
    method = entry.get("method", "")
    name = entry.get("name", method if isinstance(method, str) else "")
    place = f"augment {number}" + (f' "{name}"' if name else "")
    made = _source(entry, place, problems)
    if "name" in entry or name:
        if fault := name_fault(name):
            problems.append(f"{place}: its name is {name!r}: {fault}")
        elif str(name).casefold() in RESERVED:
            problems.append(f"{place}: every run has folders {' and '.join(RESERVED)}; give it another name")
    if "select" in entry:
        select = _selectors(entry, place, problems)
    arm = Arm(str(name), made, entry.get("on", ""), entry.get("join", []), select=select, **_values(entry))
    problems += [f"{place}: {problem}" for problem in _arm_problems(arm)]
    return arm


def _source(entry: Mapping[str, Any], place: str, problems: list[str]) -> MethodSettings | None:
    """Where an arm's sentences come from, if not from other arms."""
    settings = {key: value for key, value in entry.items() if key == "method" or key not in OWN_KEYS}
    if "join" not in entry:
        annotates = entry.get("method") in registry.names(LABELS_RAW_TEXT)
        return method_settings(LABELS_RAW_TEXT if annotates else "augment", settings, place, "", problems)
    if entry["join"] == []:
        problems.append(
            f'{place}: join is empty, expected names of arms above it, e.g. join = ["melm", "qa_prompting"]'
        )
    if settings or "on" in entry:
        wrong = ", ".join([*settings, *(["on"] if "on" in entry else [])])
        problems.append(f"{place}: join takes what other arms kept, so it goes without {wrong}")
    return None


def _values(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("vote", "copies", "gold_copies", "gold_share", "finish") if key in entry}


def _arm_problems(arm: Arm) -> list[str]:
    """What is wrong with the values of an arm."""
    problems = []
    for key, least in (("copies", 1), ("gold_copies", 0)):
        value = getattr(arm, key)
        if type(value) is not int or value < least:
            problems.append(f"{key} is {value!r}, expected a whole number, {least} or more")
        elif value > MOST_COPIES:
            problems.append(f"{key} is {value}, expected at most {MOST_COPIES}")
    share = arm.gold_share
    if type(share) not in (int, float) or not 0 <= share < 1:
        problems.append(f"gold_share is {share!r}, expected a number in [0, 1)")
    elif share and not arm.gold_copies:
        problems.append("gold_share is above 0 and gold_copies is 0: expected one of them")
    if not isinstance(arm.join, list) or any(type(name) is not str for name in arm.join):
        problems.append(f'join is {arm.join!r:.60}, expected a list of names, e.g. join = ["melm", "qa_prompting"]')
        arm.join = []
    if len({*arm.join}) < len(arm.join):
        problems.append(f"join is {arm.join!r:.60}, expected each name once")
    if type(arm.vote) is not bool:
        problems.append(f"vote is {arm.vote!r:.60}, expected true or false")
    elif arm.vote and not arm.join:
        problems.append("vote is of arms that have labelled raw text: name them by join")
    if (arm.labels_raw_text or arm.join) and arm.copies != 1:
        problems.append("copies is for methods that make sentences of gold ones; leave it out")
    return problems
