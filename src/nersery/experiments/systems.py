"""The systems that a recipe compares: a method, its selectors, and how the tagger is trained."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from nersery.core import registry
from nersery.core.errors import at, did_you_mean, shown
from nersery.core.sentence import Sentence
from nersery.core.settings import typed_settings
from nersery.core.text.text_forms import composed
from nersery.core.training_context import copies_for_upsampling
from nersery.experiments.recipe_file.data_files import DataSettings
from nersery.experiments.recipe_file.table_methods import LABELS_RAW_TEXT, kind_of
from nersery.report.system_names import BASELINE, GOLD
from nersery.taggers.training.second_stage import changed, second_stage_issues

TEACHERS = "teachers"
"""The folder of teachers that systems share."""

RESERVED = (GOLD, BASELINE, "sample", TEACHERS)
"""Folders of every run, and the name of the baseline in the report: no system may have these names."""

MAX_NAME_LENGTH = 200
"""Maximum length of a name in bytes of UTF-8; file systems allow 255."""

MAX_COPIES = 1_000_000
"""Maximum number of copies of a sentence; a larger number is a typing error."""

MADE_FROM = ("method", "base", "merge", "vote")
"""Keys of a system that its sentences depend on, apart from the number of copies."""


def folder_name(name: str) -> str:
    """The name unchanged; a `ValueError` if a folder cannot have it."""
    if not name:
        raise ValueError('expected one for a folder, e.g. "my-corpus"')
    if name != name.strip() or name.startswith(".") or "/" in name or "\\" in name:
        raise ValueError("expected one without slashes, outer spaces or a leading dot, because it names a folder")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise ValueError("expected one without line breaks or control characters, because it names a folder")
    if len(name.encode()) > MAX_NAME_LENGTH:
        raise ValueError(f"expected at most {MAX_NAME_LENGTH} bytes, because it names a folder")
    return name


def _system_name(name: str) -> str:
    if name.casefold() in RESERVED:
        raise ValueError(f"the names {', '.join(RESERVED)} are reserved; choose another name")
    return folder_name(name)


def _distinct(names: list[str]) -> list[str]:
    if not names:
        raise ValueError('expected names of systems above it, e.g. ["melm", "qa_prompting"]')
    if len({*names}) < len(names):
        raise ValueError("expected each name once")
    return names


@dataclass
class MethodSettings:
    """The name of a method, and its settings.

    Args:
        kind: The kind of plug-in, see `nersery.core.registry.KINDS`.
    """

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = "augment"

    def with_changes(self, own: Mapping[str, Any]) -> MethodSettings:
        """The same method with some settings replaced. Naming ``steps`` clears ``epochs``, and vice versa."""
        return replace(self, settings={**self.settings, **changed(self.settings, own)})

    def issues(self) -> list[str]:
        """The issues of the settings; see `nersery.core.registry.check`."""
        return registry.check(self.kind, self.method, self.settings)

    def issues_with(self, *changes: Mapping[str, Any]) -> list[str]:
        """The issues that changes add, each once."""
        known = self.issues()
        issues = dict.fromkeys(issue for change in changes for issue in self.with_changes(change).issues())
        return [issue for issue in issues if issue not in known]

    def create(self) -> Any:
        """Create the method; a `SettingsError` if that is impossible."""
        return registry.create(self.kind, self.method, self.settings)


@dataclass
class System:
    """One way to train: gold sentences, plus what a method made from them or from raw text.

    Args:
        name: Name in the report.
        method: Leave out in merged systems and those that only train another tagger.
        base: A system above this one, whose kept sentences count as gold: the method learns and starts from them, and
            the tagger trains on them.
        merge: Systems above this one. The selectors choose from their kept sentences; no method runs. If several
            labelled the same raw sentence, the last one's labels count.
        vote: In a merged system, keep the entities that more than half of its systems found in raw text.
        copies: New sentences to try for each sentence.
        select: Selectors, applied one after another.
        gold_copies: How often each gold sentence occurs in the training data; 0 trains only on the others.
        upsampling: Repeat gold sentences until they make up this share of the training data, in [0, 1).
        second_stage: Settings of the tagger for a second training on gold only. Empty: none.
        tagger_settings: Settings of the tagger that differ from the recipe's, e.g. ``{ model = "bundled-ner" }``.
    """

    name: Annotated[str, AfterValidator(_system_name)]
    method: MethodSettings | None = None
    base: str = ""
    merge: Annotated[list[str], AfterValidator(_distinct)] = field(default_factory=list)
    vote: Annotated[bool, Field(strict=True)] = False
    copies: Annotated[int, Field(strict=True, ge=1, le=MAX_COPIES)] = 1
    select: list[MethodSettings] = field(default_factory=list)
    gold_copies: Annotated[int, Field(strict=True, ge=0, le=MAX_COPIES)] = 1
    upsampling: Annotated[float, Field(ge=0, lt=1)] = 0.0
    second_stage: Any = field(default_factory=dict)
    tagger_settings: Any = field(default_factory=dict)

    @property
    def is_baseline(self) -> bool:
        """Whether this is the system that the others are compared with."""
        return self.name == GOLD

    @property
    def references(self) -> list[str]:
        """The names of the systems whose sentences it contains."""
        return [self.base] if self.base else self.merge

    @property
    def makes_sentences(self) -> bool:
        """Whether it adds sentences of its own, not only those of its base."""
        return self.method is not None or bool(self.merge)

    @property
    def note_if_empty(self) -> str:
        """The note for a training for which it has made no sentence; empty if none is due."""
        is_due = self.makes_sentences and self.gold_copies
        return f"no sentence was kept, so it trains on those of {self.base or BASELINE}" if is_due else ""

    @property
    def labels_raw_text(self) -> bool:
        """Whether its method starts from raw text."""
        return self.method is not None and self.method.kind == LABELS_RAW_TEXT

    @property
    def asks_questions(self) -> bool:
        """Whether its method labels raw text by questions. Such labels do not depend on the fold."""
        return self.method is not None and self.method.method == "qa_prompting"

    @property
    def asks_for_tagger(self) -> bool:
        """Whether its method or a selector names no tagger, but needs one: that of its base, or of gold only."""
        settings = [method.settings for method in (self.method, *self.select) if method is not None]
        return any("tagger" in values and not values["tagger"] for values in settings)

    def training_sentences(self, gold: Sequence[Sentence], kept: Sequence[Sentence]) -> list[Sentence]:
        """The training sentences of its tagger: gold, repeated as the system requires, and the kept sentences."""
        return [*gold] * self.repeats_of_gold(len(gold), len(kept)) + [*kept]

    def repeats_of_gold(self, gold: int, kept: int) -> int:
        """How often each gold sentence is in the training data, given the numbers of gold and of kept sentences."""
        share = copies_for_upsampling(gold, kept, self.upsampling)
        return max(self.gold_copies, share) if self.gold_copies else 0

    @property
    def _made_from(self) -> list[Any]:
        return [getattr(self, key) for key in MADE_FROM]

    def makes_the_same_as(self, other: System) -> bool:
        """Whether both generate the same sentences, so that they can share them."""
        return self._made_from == other._made_from and self.copies == other.copies

    def selects_the_same_as(self, other: System, selectors: int) -> bool:
        """Whether the first selectors of both keep the same sentences, so that one system can select for both."""
        selected, have_same_tagger = self.select[:selectors], self.tagger_settings == other.tagger_settings
        return have_same_tagger and selected == other.select[:selectors] and self.makes_the_same_as(other)

    def makes_more_copies_than(self, other: System) -> bool:
        """Whether it generates all sentences that the other one does, and more copies."""
        return self.method is not None and self._made_from == other._made_from and self.copies > other.copies

    def issues(self, tagger: MethodSettings, data: DataSettings | None) -> list[str]:
        """Settings that exclude each other or do not fit the recipe; None stands for data that were refused."""
        issues = []
        if self.second_stage != {}:
            issues += at("second_stage", second_stage_issues(tagger.method, tagger.settings, self.second_stage))
        if not isinstance(self.tagger_settings, Mapping):
            wrong = f"{shown(self.tagger_settings)}, expected settings of the tagger"
            issues.append(f'tagger_settings is {wrong}, e.g. {{ model = "bundled-ner" }}')
        elif self.tagger_settings:
            issues += at("tagger_settings", tagger.issues_with(self.tagger_settings))
        if self.upsampling and not self.gold_copies:
            issues.append("upsampling is above 0, but gold_copies is 0: change one of them")
        if self.copies != 1 and (self.labels_raw_text or self.merge):
            issues.append("copies is for methods that change gold sentences; leave it out")
        if self.labels_raw_text and data and not data.raw:
            issues.append("its method labels raw text: name a file of raw text as raw in [data]")
        return at(f"system {_quoted(self.name)}", issues)


OWN_KEYS = tuple(key.name for key in fields(System))
"""The keys of the system in its entry; other keys are settings of the method."""


def parse_systems(table: Mapping[str, Any]) -> tuple[list[System], list[str]]:
    """The systems of a recipe's table, the baseline first, and their issues."""
    select, issues = _selectors(table)
    entries, list_issues = _list_entries(table, "systems", "write [[systems]], once for each entry")
    parsed = [_system(number, entry, select) for number, entry in enumerate(entries, start=1)]
    systems = [System(GOLD), *(system for system, _ in parsed)]
    issues += [*list_issues, *(issue for _, system_issues in parsed for issue in system_issues)]
    return systems, [*issues, *_clashes(systems), *_order_issues(systems)]


def folder_key(name: str) -> str:
    """A key that is equal for all names of one folder in a file system that ignores case."""
    return composed(name).casefold()


def _clashes(systems: Iterable[System]) -> list[str]:
    """Systems whose folders would be the same."""
    names: dict[str, list[str]] = {}
    for system in systems:
        names.setdefault(folder_key(system.name), []).append(system.name)
    return [
        f"{len(names_of_folder)} systems are called {' or '.join(dict.fromkeys(map(_quoted, names_of_folder)))}; "
        "give them names that differ in more than case"
        for key, names_of_folder in names.items()
        if len(names_of_folder) > 1 and key not in ("", *RESERVED)
    ]


def _order_issues(systems: Sequence[System]) -> list[str]:
    """The issues of bases and merged systems that are not above the system, and of methods that it contains twice."""
    issues: list[str] = []
    above: dict[str, list[System]] = {}  # by name: the systems whose sentences it contains, and itself
    labellers: set[str] = set()
    for system in systems[1:]:
        if system.labels_raw_text or not labellers.isdisjoint(system.merge):
            labellers.add(system.name)
        found = [*_unknown_references(system, above), *_vote_issues(system, labellers), *_method_clashes(system, above)]
        issues += at(f"system {_quoted(system.name)}", found)
        above[system.name] = [*_contained(system, above), system]
    return issues


def _contained(system: System, above: Mapping[str, Sequence[System]]) -> list[System]:
    """The systems whose sentences a system contains, each once."""
    contained = [one for name in system.references for one in above.get(name, [])]
    return list({id(one): one for one in contained}.values())


def _unknown_references(system: System, above: Mapping[str, Any]) -> list[str]:
    key, hint = "base" if system.base else "merge", "" if above else "this is the first one"
    return [
        f"{key} is {name!r}, expected a system above it; {hint or did_you_mean(name, above)}"
        for name in system.references
        if name not in above
    ]


def _vote_issues(system: System, labellers: set[str]) -> list[str]:
    voters = len(labellers.intersection(system.merge))
    if not system.vote or not system.merge or voters > 1:
        return []
    return [f"vote needs two or more systems that labelled raw text; merge has {voters}"]


def _method_clashes(system: System, above: Mapping[str, Sequence[System]]) -> list[str]:
    """A method that a system would contain twice, unless this was reported for a system that it refers to."""
    same = _same_methods([*_contained(system, above), system])
    if not same or any(_same_methods(above.get(name, [])) for name in system.references):
        return []
    first, second = (_quoted(one.name) for one in same)
    needed = "a system and its base need different methods"
    if system.merge:
        needed = "expected different methods in systems that are merged"
    clash = f"{first} and {second} have the same method, {_method_of(same[0])}"
    return [f"{clash}: {needed}, because their sentences would have the same ids"]


def _same_methods(systems: Iterable[System]) -> tuple[System, System] | None:
    systems_by_method: dict[str, System] = {}
    for system in systems:
        if method := _method_of(system):
            if method in systems_by_method:
                return systems_by_method[method], system
            systems_by_method[method] = system
    return None


def _method_of(system: System) -> str:
    """The method in the ids of new sentences; raw text keeps its ids."""
    return system.method.method if system.method and not system.labels_raw_text else ""


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _list_entries(table: Mapping[str, Any], key: str, expected: str) -> tuple[list[Any], list[str]]:
    """The entries under a key, and an issue if they are not a list."""
    entries = table.get(key, [])
    if isinstance(entries, list):
        return entries, []
    return [], [f"{key} is {shown(entries)}, not a list: {expected}"]


def method_settings(kind: str, entry: Mapping[str, Any], default: str = "") -> tuple[MethodSettings, list[str]]:
    """A method, with its defaults if its settings are valid, and its issues."""
    settings = {key: value for key, value in entry.items() if key != "method"}
    name = entry.get("method", default)
    if not isinstance(name, str) or not name:
        problem = f"is {name!r}" if name else "is missing"
        return MethodSettings("", kind=kind), [f"method {problem}; known: {', '.join(registry.names(kind))}"]
    issues = registry.check(kind, name, settings)
    return MethodSettings(name, settings if issues else {**registry.defaults(kind, name), **settings}, kind), issues


def _selectors(table: Mapping[str, Any]) -> tuple[list[MethodSettings], list[str]]:
    entries, issues = _list_entries(table, "select", 'expected e.g. select = ["duplicates"]')
    selectors = []
    for entry in entries:
        if isinstance(entry, str | dict):
            method, entry_issues = method_settings("select", {"method": entry} if isinstance(entry, str) else entry)
            selectors.append(method)
        else:
            entry_issues = [f'{shown(entry)} is not a selector; expected "agreement" or {{ method = "agreement", … }}']
        issues += at("select", entry_issues)
    return selectors, issues


def _system(number: int, entry: Any, select: list[MethodSettings]) -> tuple[System, list[str]]:
    """A system, with defaults in place of values that were refused, and its issues."""
    if not isinstance(entry, dict):
        return System(""), [f"system {number} is {shown(entry)}; write [[systems]] and below it method = …"]
    name = entry.get("name", entry.get("method", ""))
    valid_name = name if isinstance(name, str) else ""
    own_entry = {key: entry[key] for key in OWN_KEYS if key in entry and key not in ("name", "method", "select")}
    if "name" in entry or valid_name:
        own_entry["name"] = name
    method, method_issues = _entry_method(entry)
    values, value_issues = typed_settings.validated_given(System, "", own_entry)
    select, select_issues = _selectors(entry) if "select" in entry else (select, [])
    system = System(**{"name": valid_name, "method": method, "select": select, **values})
    issues = [*method_issues, *value_issues, *select_issues]
    if system.vote and "merge" not in entry:
        issues.append("vote is for systems that labelled raw text: name them in merge")
    return system, at(f"system {number}" + (f' "{valid_name}"' if valid_name else ""), issues)


def _entry_method(entry: Mapping[str, Any]) -> tuple[MethodSettings | None, list[str]]:
    """The method of a system, if it does not merge other systems, and its issues."""
    settings = {key: value for key, value in entry.items() if key == "method" or key not in OWN_KEYS}
    if "merge" in entry:
        extra_keys = [*settings, *(["base"] if "base" in entry else [])]
        issue = f"merge takes the sentences that other systems kept: leave out {', '.join(extra_keys)}"
        return None, [issue] if extra_keys else []
    if not settings and "tagger_settings" in entry:
        return None, []
    return method_settings(kind_of(entry), settings)
