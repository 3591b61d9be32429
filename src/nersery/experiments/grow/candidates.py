"""The systems that may help with the given data, as entries of a recipe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nersery.experiments.data.text_profile import TextProfile
from nersery.models.bundled_models.bundled import ENCODERS, ENGLISH, MULTILINGUAL

ANSWERS_IN_MANY_LANGUAGES = MULTILINGUAL
STARTS = {encoder: tagger for tagger, encoder in ENCODERS.items()}
"""The bundled tagger on each bundled encoder, from which other taggers for names start."""
STAGE_HEAD_RATE = 1e-3
"""Learning rate of the head in a second training on gold: half of that in the first training."""
ROUNDS = ("relabelled", "relabelled twice", "relabelled three times")
OTHER, BACK = "other encoder", "other encoder and back"
"""Two rounds: another encoder's tagger learns the labels, then the first encoder's tagger learns the new labels."""
ENOUGH_FOR_CONTEXT = 300
"""Minimum number of sentences for which new context around known names can help; see docs/results.md."""
MAX_NAME_LENGTH = 60
"""Maximum number of characters of an encoder's name in names of systems, which are names of folders."""

Entry = dict[str, Any]


def models_for(text: TextProfile, named: str = "") -> list[str]:
    """The encoders to try: first that of gold only, then the one that the user names, then others."""
    # For lower-case text, too: on MultiCoNER en, gold only gains four points with it.
    suited = [ENGLISH, MULTILINGUAL] if text.is_english else [MULTILINGUAL]
    return list(dict.fromkeys([suited[0], *filter(None, [named]), *suited[1:]]))


def other_encoder(text: TextProfile, models: Sequence[str], *, has_english: bool) -> str:
    """The bundled encoder whose tagger takes turns with that of the first encoder; empty if none suits the text."""
    if models[0] == ENGLISH:
        return MULTILINGUAL if MULTILINGUAL in models else ""
    suits = models[0] == MULTILINGUAL and has_english and text.is_english and not text.cased
    return ENGLISH if suits else ""


def systems_for(
    text: TextProfile,
    types: Sequence[str],
    models: Sequence[str],
    *,
    gold: int,
    raw: int,
    stage_steps: int,
    definitions: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    are_names: bool = False,
    other: str = "",
) -> list[Entry]:
    """All systems that might be tried, the most promising first, as entries of ``[[systems]]``.

    Args:
        types: The types that questions ask about; empty asks none.
        are_names: Whether the mentions are mostly names, so that taggers with a bundled encoder, except that of gold
            only, start from the bundled tagger.
        definitions: The user's own definitions of some types.
        names: The user's files with names of some types.
        other: The bundled encoder that relabels raw text in turns with the first one; empty for none.
    """
    entries: list[Entry] = []
    annotators = {
        "names": _listed_names(text, names or {}),
        "questions": _questions(text, types, models, definitions or {}),
    }
    for model, suffix in zip(models, _suffixes(models), strict=True):
        is_first = model == models[0]
        start = STARTS.get(model, model) if are_names else model
        tagger: Entry = {} if is_first and start == model else {"tagger_settings": {"model": start}}
        if tagger:
            entries.append({"name": f"gold{suffix or f', {start}'}", **tagger})
        if raw:
            second_stage = {"steps": stage_steps, "head_learning_rate": STAGE_HEAD_RATE}
            turn = other if is_first else ""
            turns: Entry = {"tagger_settings": {"model": STARTS[turn] if are_names else turn}} if turn else {}
            base = "" if is_first else f"gold{suffix}"
            entries += _with_raw_text(annotators, suffix, tagger, base, second_stage, turns)
        entries += _from_gold(text, suffix, tagger, gold)
    return entries


def _suffixes(models: Sequence[str]) -> list[str]:
    """The end of the names of systems with each encoder: empty for the first, else the encoder's name or part of it."""
    suffixes = [""]
    for model in models[1:]:
        base_name = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
        short = re.sub(r"[^\w.+-]+", "-", base_name)[:MAX_NAME_LENGTH].strip(".-")
        name = f", {short or 'encoder'}"
        suffixes.append(f"{name} {len(suffixes) + 1}" if name in suffixes else name)
    return suffixes


def _questions(text: TextProfile, types: Sequence[str], models: Sequence[str], definitions: Mapping[str, str]) -> Entry:
    """The entry that labels raw text by questions; empty if no model can answer them, or nothing is asked."""
    if not types:
        return {}
    entry: Entry = {"method": "qa_prompting", "types": list(types)}  # named, so that labels do not depend on the fold
    if definitions:
        entry["definitions"] = dict(definitions)
    if text.is_english and not (text.cased and models[0] == MULTILINGUAL):
        return entry
    return {**entry, "model": ANSWERS_IN_MANY_LANGUAGES} if ANSWERS_IN_MANY_LANGUAGES in models else {}


def _listed_names(text: TextProfile, names: Mapping[str, str]) -> Entry:
    """The entry that labels raw text by lists of names; empty if there are none."""
    if not names:
        return {}
    case: Entry = {} if text.cased else {"ignore_case": True}
    return {"method": "gazetteer_labels", "files": dict(names), **case}


def _with_raw_text(
    annotators: Mapping[str, Entry], suffix: str, tagger: Entry, base: str, second_stage: Entry, other: Entry
) -> list[Entry]:
    stage = {"second_stage": second_stage}
    base_entry = {"base": base} if base else {}
    firsts = [{"name": f"{name}{suffix}", **entry, **tagger, **stage} for name, entry in annotators.items() if entry]
    firsts.append({"name": f"self-training{suffix}", **base_entry, "method": "tagger_labels", **tagger, **stage})
    return [entry for first in firsts for entry in _rounds(first, tagger, stage, suffix, other)]


def _rounds(first: Entry, tagger: Entry, second_stage: Entry, suffix: str, other: Entry) -> list[Entry]:
    """A system, and others that label the raw text again with its tagger.

    The last round has no second stage: its labels are good enough without one.

    Args:
        other: The tagger on another encoder, which makes other errors; empty if there is none.
    """
    name, entries = first["name"].removesuffix(suffix), [first]

    def add(label: str, base: Entry, **settings: Any) -> Entry:
        entry = {"name": f"{name}, {label}{suffix}", "base": base["name"], "method": "tagger_labels", **settings}
        entries.append(entry)
        return entry

    if other:
        add(BACK, add(OTHER, first, **other, **second_stage), **tagger, **second_stage)
    latest = first
    for number, label in enumerate(ROUNDS):
        latest = add(label, latest, **tagger, **(second_stage if number + 1 < len(ROUNDS) else {}))
    return entries


def _from_gold(text: TextProfile, suffix: str, tagger: Entry, gold: int) -> list[Entry]:
    mention_replacement: Entry = {"name": f"mention replacement{suffix}", "method": "mention_replacement", "copies": 2}
    entries = [{**mention_replacement, "rate": 0.5, "select": ["duplicates"], **tagger}]
    if not text.is_english:
        return entries
    select = ["duplicates", "agreement"]
    melm: Entry = {"name": f"melm + agreement{suffix}", "method": "melm", "epochs": 8, "patience": 2, "copies": 3}
    aclm: Entry = {"name": f"aclm + agreement{suffix}", "method": "aclm", "epochs": 6, "candidates": 2, "copies": 3}
    chosen = [melm, aclm] if gold >= ENOUGH_FOR_CONTEXT else [melm]
    return [{**entry, "model": "bundled", "select": select, **tagger} for entry in chosen] + entries
