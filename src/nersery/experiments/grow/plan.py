"""The plan of a grow job: which systems to try, with how many steps and how much raw text, and how long that takes."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nersery.core.counting import plural
from nersery.core.errors import MissingResourceError, printable
from nersery.core.random import item_seed
from nersery.core.sentence import Corpus
from nersery.core.text.definitions import question, undefined
from nersery.core.warnings import without_notes
from nersery.experiments.data.corpus_notes import note_of_kind
from nersery.experiments.data.folds import note_of_documents
from nersery.experiments.data.text_profile import note_of_encoder
from nersery.experiments.execution.run_time import RunTime
from nersery.experiments.grow.budget import CAUTION, Budget
from nersery.experiments.grow.candidates import STARTS, models_for, other_encoder, systems_for
from nersery.experiments.grow.expectation import better_encoders
from nersery.experiments.grow.grow_data import GrowData, copies_of
from nersery.experiments.grow.schedules import ENOUGH, MIN_STEPS, SCHEDULES, STAGE_STEPS, Schedule, schedule_text
from nersery.experiments.grow.zero_shot import are_names
from nersery.experiments.recipe import parse_recipe
from nersery.experiments.recipe_file.overrides import as_toml
from nersery.models.bundled_models.bundled import ENGLISH, MULTILINGUAL
from nersery.models.pretrained.loading import ModelSource
from nersery.report.system_names import GOLD

SEARCH_SHARE = 0.4
"""Maximum share of the time that is left after the timing, for gold only and the most promising system on a fold."""
FINAL_SHARE = 0.4
"""The same for the training on all sentences. The rest is for other systems and folds."""
START_SEARCH_SHARE, START_FINAL_SHARE = 0.35, 0.45
"""Like these, if the time allows no method, but gold only from a bundled tagger."""
GOLD_SEARCH_SHARE, GOLD_FINAL_SHARE = 0.2, 0.6
"""Like these, if the time allows no system but gold only."""
LABELLING_SHARE = 0.15
"""Maximum share of the time that is left, for labelling the raw text once."""
ASKING_SHARE = 0.5
"""Share of the time that is left. If labelling `MIN_RAW_SENTENCES` by questions takes more, none are timed or asked."""
MIN_RAW_SENTENCES = 300
SHOWN_TYPES = 8
"""Maximum number of types that a note names."""
MANY = 1000
"""Minimum number of sentences of which a fifth is enough to compare systems on."""
MANY_FOLDS = 5
FEW_FOLDS = 3


@dataclass(frozen=True)
class Plan:
    """What a grow job will do.

    Args:
        data: The data, with as much raw text as the time allows.
        table: The recipe of the search.
        final_schedule: Minimum schedule of the training on all sentences.
        raw_suits: Whether raw text is of the same kind as the labelled sentences; see `note_of_kind`.
    """

    data: GrowData
    table: dict[str, Any]
    times: RunTime
    final_schedule: Schedule
    notes: tuple[str, ...] = ()
    raw_suits: bool = True

    @property
    def table_in_folder(self) -> dict[str, Any]:
        """The recipe with the copies of the user's lists of names, which are in the job's folder."""
        files = {type_: f"data/{name}" for type_, name in copies_of(self.data.names).items()}
        systems = [{**entry, "files": files} if "files" in entry else entry for entry in self.table["systems"]]
        return {**self.table, "systems": systems}

    def seconds(self) -> dict[str, float]:
        """The estimated seconds of each system on one fold, without its base."""
        systems = self.times.recipe.systems
        return {system.name: CAUTION * self.times.total(system) for system in systems}


def make_plan(
    data: GrowData,
    named: str,
    budget: Budget,
    say: Callable[[str], None],
    speeds: dict[str, Any] | None = None,
    timed: Callable[[], None] = lambda: None,
) -> Plan:
    """Choose systems, steps and raw text for the time that is left. Timing a few steps takes part of it.

    What the time clearly does not allow is not timed, because loading a large encoder may use up a short budget.

    Args:
        named: An encoder that the user names.
        speeds: Timings of an earlier call; new ones are added.
        timed: Called after each timing.
    """
    say(f"{len(data.gold)} labelled sentences, {plural(len(data.raw), 'raw one')}; {data.text}{data.text.remedy}")
    say("plan: a few steps of each training are timed")
    models, notes = _available(models_for(data.text, named), named)
    unreadable = note_of_encoder(models[0], data.text, "name a model of its language (--model)") if not named else ""
    notes += filter(None, [note_of_documents(data.gold, _folds(data)), unreadable])
    start = "" if named in STARTS.values() else STARTS.get(models[0], "")
    all_names = bool(start) and are_names(start, data.gold)
    unlike = "" if all_names else note_of_kind(data.gold.sentences, data.raw)
    notes += filter(None, [unlike])
    known_speeds = {} if speeds is None else speeds
    draft = _PlanDraft(data, models, named, all_names, ENGLISH in models, known_speeds, timed, say)
    with without_notes():  # those on encoders that are timed and then not used
        plan = _plan_of(draft, budget)
        if not named and (stronger := _stronger(plan, draft, budget)):
            stronger_plan = _plan_of(replace(draft, models=[stronger]), budget)
            if SCHEDULES.index(stronger_plan.final_schedule) <= SCHEDULES.index(ENOUGH):
                plan = stronger_plan
                notes.append(
                    f"{models[0]} is not tried alone: the time is enough for {stronger}, which suits English better"
                )
    if draft.are_names:
        models = [entry.get("tagger_settings", {}).get("model") for entry in plan.table["systems"]]
        starts = " or ".join(start for start in STARTS.values() if start in models)
        notes.append(f"the mentions are mostly names: all taggers start from {starts}, except that of gold only")
    return replace(plan, notes=(*notes, *plan.notes), raw_suits=not unlike)


def _plan_of(draft: _PlanDraft, budget: Budget) -> Plan:
    """The plan with those encoders of a draft that the time allows."""
    asks, question_notes = _time_for_questions(draft.data, draft.times_with(SCHEDULES[0]), budget)
    draft = replace(draft, asks=asks)
    data, raw_notes = _with_affordable_raw_text(draft.data, draft.times_with(SCHEDULES[0]), budget)
    draft = replace(draft, data=data)
    search_schedule, final_schedule = draft.schedules(budget)
    notes = draft.note(search_schedule, final_schedule, budget)
    affordable, encoder_notes = _affordable(draft, draft.times_with(search_schedule), budget)
    draft = replace(draft, models=affordable)
    table = draft.table(search_schedule)
    notes += [*question_notes, *_undefined(data, table), *raw_notes, *encoder_notes]
    return Plan(data, table, draft.times_with(search_schedule), final_schedule, tuple(notes))


def _stronger(plan: Plan, draft: _PlanDraft, budget: Budget) -> str:
    """An encoder that is better than the first one and can surely be trained long enough; empty if there is none.

    Its time is assumed to be proportional to the number of parameters of its layers.
    """
    first, *others = draft.models
    if MULTILINGUAL not in others or not plan.data.text.is_english:
        return ""
    ratio = ModelSource(MULTILINGUAL).layer_size / (ModelSource(first).layer_size or 1)
    asks = any(entry.get("method") == "qa_prompting" for entry in plan.table["systems"])
    draft = replace(draft, data=plan.data, models=[first], asks=asks)
    shares = ((SEARCH_SHARE, False), (FINAL_SHARE, True))
    is_enough = all(ratio * draft.seconds(ENOUGH, is_final=final) <= share * budget.left for share, final in shares)
    return MULTILINGUAL if is_enough else ""


def _time_for_questions(data: GrowData, times: RunTime, budget: Budget) -> tuple[bool, list[str]]:
    """Whether there is time for questions, and a note if not. Each type takes about as long as a tagger's pass."""
    gold, *others = times.recipe.systems
    if not any(system.asks_questions for system in others):
        return True, []
    sentences = min(MIN_RAW_SENTENCES, len(data.raw))
    if times.scoring(gold, sentences * len(data.gold.types)) <= ASKING_SHARE * budget.left:
        return True, []
    return False, [f"no questions are asked: labelling {sentences} raw sentences with them would take most of the time"]


def _undefined(data: GrowData, table: Mapping[str, Any]) -> list[str]:
    """A note on types that questions ask for by their bare names."""
    types: list[str] = next((entry["types"] for entry in table["systems"] if entry.get("method") == "qa_prompting"), [])
    unknown = undefined(types, data.definitions)
    if not unknown:
        return []
    listed = ", ".join(map(printable, unknown[:SHOWN_TYPES])) + (", …" if len(unknown) > SHOWN_TYPES else "")
    return [
        f'there is no definition of {listed}: questions use the bare name, "{printable(question(unknown[0], {}))}" '
        f"Define types with --define {shlex.quote(printable(unknown[0]))}='…'"
    ]


def _affordable(draft: _PlanDraft, times: RunTime, budget: Budget) -> tuple[list[str], list[str]]:
    """The encoders that might be tried, and notes on the others.

    Before any encoder but the first, gold only is tried on a fold. So is the most promising system, unless the encoder
    is a better one. The best of them is trained on all sentences later. The time of a larger encoder is assumed to be
    proportional to the number of parameters of its layers.
    """
    models, (gold, *others) = draft.models, times.recipe.systems
    better = better_encoders(draft.data.text, models[0])
    promising = next(system for system in others if system.makes_sentences)
    training = times.training(promising)
    before = times.making(promising) + training
    sizes = {model: ModelSource(model).layer_size for model in models}

    def is_affordable(model: str) -> bool:
        gold_training = times.training(gold) * max(1.0, sizes[model] / (sizes[models[0]] or 1))
        needed = 2 * gold_training if model in better else before + gold_training + max(training, gold_training)
        return CAUTION * (times.training(gold) + needed) <= budget.left

    kept = [model for model in models if model in (models[0], draft.named) or is_affordable(model)]
    notes = [f"{model} is not tried: the time allows no other encoder" for model in models if model not in kept]
    return kept, notes


def _available(models: list[str], named: str) -> tuple[list[str], list[str]]:
    """The models that are installed, and notes on the others.

    Raises:
        MissingResourceError: If the named model is missing, or no model is installed.
    """
    available, notes = [], []
    for model in models:
        try:
            ModelSource(model).tokenizer()
            available.append(model)
        except MissingResourceError as error:
            if model == named or (model == models[-1] and not available):
                raise
            notes.append(f"{model} is not tried: {error.text}")
    return available, notes


def _folds(data: GrowData) -> int:
    return MANY_FOLDS if len(data.gold) >= MANY else FEW_FOLDS


def _with_affordable_raw_text(data: GrowData, times: RunTime, budget: Budget) -> tuple[GrowData, list[str]]:
    """The data with as much raw text as can be labelled."""
    if not data.raw:
        return data, []
    systems = [system for system in times.recipe.systems if system.labels_raw_text]
    slowest = next((system for system in systems if system.asks_questions), systems[0])
    seconds_each = CAUTION * times.making(slowest) / len(data.raw)
    limit = max(MIN_RAW_SENTENCES, int(LABELLING_SHARE * budget.left / seconds_each))
    if limit >= len(data.raw):
        return data, []
    drawn = sorted(data.raw, key=lambda sentence: item_seed(0, "raw", sentence.id))[:limit]
    chosen_ids = {sentence.id for sentence in drawn}
    note = f"{limit:,} of {len(data.raw):,} raw sentences were drawn at random: the time allows no more"
    return replace(data, raw=Corpus(s for s in data.raw if s.id in chosen_ids)), [note]


@dataclass(frozen=True)
class _PlanDraft:
    """A plan before its schedules are chosen.

    It needs at least the time for gold only and the most promising system on a fold, and for the best on all sentences.
    The most promising system has the encoder that the user named, if any. Gold only is tried with this encoder before.

    Args:
        are_names: Whether the labelled mentions are mostly names, as far as a bundled tagger knows.
        has_english: Whether the encoder for English suits the text and is installed.
    """

    data: GrowData
    models: list[str]
    named: str
    are_names: bool
    has_english: bool
    speeds: dict[str, Any]
    timed: Callable[[], None] = lambda: None
    say: Callable[[str], None] = lambda _: None
    asks: bool = True

    def table(self, schedule: Schedule) -> dict[str, Any]:
        """The table of the recipe with a schedule."""
        data, models, folds = self.data, self.models, _folds(self.data)
        return {
            "name": "grow",
            "description": "Systems that were tried on folds of the labelled sentences",
            "seeds": list(range(folds)),
            "data": {"train": "data/train.jsonl", **({"raw": "data/raw.jsonl"} if data.raw else {})},
            "sample": {"folds": folds},
            "tagger": {"model": models[0], **schedule.settings},
            "systems": systems_for(
                data.text,
                data.gold.types if self.asks else (),
                models,
                gold=len(data.gold),
                raw=len(data.raw),
                stage_steps=min(STAGE_STEPS, schedule.steps),
                definitions=data.definitions,
                names=data.names,
                are_names=self.are_names,
                other=other_encoder(data.text, models, has_english=self.has_english),
            ),
        }

    def times_with(self, schedule: Schedule) -> RunTime:
        """The run time of the recipe with a schedule."""
        recipe, issues = parse_recipe(self.table(schedule))
        assert recipe is not None, issues
        gold, raw = self.data.gold.sentences, self.data.raw.sentences
        return RunTime(recipe, gold, raw, speeds=self.speeds, timed=self.timed, say=self.say)

    def seconds(self, schedule: Schedule, *, is_final: bool, best: str = "") -> float:
        """The estimated seconds with a schedule, of the search or of the training on all sentences.

        Args:
            best: The name of the system that may be tried beside gold only; empty for the most promising one.
        """
        times = self.times_with(schedule)
        gold, *others = times.recipe.systems
        with_named = [system for system in others if system.tagger_settings.get("model", self.models[0]) == self.named]
        promising = next(system for system in with_named or others if system.makes_sentences)
        chosen = times.recipe.system(best) if best else promising
        trained = [gold] if chosen is gold else [gold, chosen]
        if is_final and not (self.data.test or chosen.asks_for_tagger):
            trained = [chosen]
        elif not is_final and chosen is promising:
            trained += [system for system in with_named if not system.makes_sentences]
        scored = len(self.data.test) if is_final else len(self.data.gold) // _folds(self.data)
        making = 0.0 if is_final else times.making(chosen)
        return CAUTION * (making + sum(times.training(system) + times.scoring(system, scored) for system in trained))

    def schedules(self, budget: Budget) -> tuple[Schedule, Schedule]:
        """The longest schedules that the time allows, of the search and of the training on all sentences."""
        shares = [("", SEARCH_SHARE, FINAL_SHARE), (GOLD, GOLD_SEARCH_SHARE, GOLD_FINAL_SHARE)]
        if self.are_names and (start := self._from_tagger):
            shares.insert(1, (start, START_SEARCH_SHARE, START_FINAL_SHARE))
        for best, search, final in shares:
            longest = self._first(SCHEDULES, final * budget.left, is_final=True, best=best)
            shorter = SCHEDULES[SCHEDULES.index(longest) :] if longest else ()
            search_schedule = self._first(shorter, search * budget.left, is_final=False, best=best)
            if search_schedule and longest and (best == GOLD or search_schedule[0] >= MIN_STEPS):
                return search_schedule, longest
        return SCHEDULES[-1], SCHEDULES[-1]

    @property
    def _from_tagger(self) -> str:
        """The name of the system that trains a bundled tagger with the first encoder on gold only; empty for none."""
        start = {"model": STARTS.get(self.models[0])}
        entries = self.table(SCHEDULES[0])["systems"]
        return next((entry["name"] for entry in entries if entry.get("tagger_settings") == start), "")

    def _first(self, schedules: Sequence[Schedule], seconds: float, *, is_final: bool, best: str) -> Schedule | None:
        fitting = (one for one in schedules if self.seconds(one, is_final=is_final, best=best) <= seconds)
        return next(fitting, None)

    def note(self, search: Schedule, final: Schedule, budget: Budget) -> list[str]:
        """A note on what short schedules mean; empty if the schedule of the search is the longest."""
        if search == SCHEDULES[0]:
            return []
        text = f"{schedule_text(search, final)}: the time allows no more"
        if final.is_poor:
            needed = [
                self.seconds(ENOUGH, is_final=False) / SEARCH_SHARE,
                self.seconds(ENOUGH, is_final=True) / FINAL_SHARE,
            ]
            minutes = math.ceil((budget.used + max(needed)) / 60)
            text += (
                f". That is too little for a good tagger. At the speed that was just measured, {minutes} minutes are "
                f"enough: start again with --minutes {minutes} and another --out, because a resumed job keeps its steps"
            )
        return [text]


def recipe_text(table: Mapping[str, Any]) -> str:
    """A recipe's table as TOML."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict) and key != "systems"}
    lines = [f"{key} = {as_toml(value)}" for key, value in plain.items()]
    for key, section in table.items():
        if isinstance(section, dict):
            lines += ["", f"[{key}]", *(f"{name} = {as_toml(value)}" for name, value in section.items())]
    for entry in table["systems"]:
        lines += ["", "[[systems]]", *(f"{name} = {as_toml(value)}" for name, value in entry.items())]
    return "\n".join(lines) + "\n"
