"""The search: systems are tried on the same folds, and after each fold the half with less expected gain is dropped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nersery.core.counting import in_minutes, plural
from nersery.core.errors import DataError, MissingResourceError, OutOfTimeError, SettingsError, is_lack_of_memory
from nersery.core.progress import time_limit
from nersery.experiments.execution.run_time import RunTime
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.candidates import STARTS
from nersery.experiments.grow.schedules import ENOUGH, MIN_FOR_SECOND_FOLD, SCHEDULES, Schedule, with_schedule
from nersery.experiments.grow.trials import SystemTrial, Trials
from nersery.experiments.grow.zero_shot import HOPELESS, sentences_to_ask, zero_shot_f1
from nersery.experiments.system_run import SystemRun
from nersery.experiments.systems import System
from nersery.report.system_names import GOLD, label_of

MIN_SHARE_OF_SEARCH = 0.5
"""Minimum length of the training on all sentences, as a share of that of a training of the search."""
MIN_SECONDS = 60.0
"""Seconds that gold only gets on the first fold, even beyond the time: a job that leaves no tagger is in vain."""


@dataclass
class Search(Trials):
    """Tries the systems of a run; see `Trials` for its other arguments.

    Args:
        save: Called after each system, to save what was tried.
        named: The encoder that the user named, if any.
        final_schedule: Minimum schedule of the training on all sentences; None takes that of the search.
    """

    run_time: RunTime
    budget: Budget
    say: Callable[[str], None]
    save: Callable[[], None]
    named: str = ""
    final_schedule: Schedule | None = None

    def restore(self) -> None:
        """Try systems again whose files somebody has removed from a fold, as a run does."""
        for tried in self.tried.values():
            system = self.run.recipe.system(tried.name)
            for fold in tried.folds:
                if not SystemRun(self.run, fold, system).is_done:
                    self.say(
                        f"fold {fold + 1} of {self.fold_count} · {label_of(tried.name)}: again, its files are missing"
                    )
                    self.run.run_system(fold, system)

    def execute(self) -> None:
        """Try the systems that the time allows."""
        planned = self.final_schedule
        gold, *others = encoders = [system for system in self.run.recipe.systems if not system.makes_sentences]
        self.attempt(gold, 0)
        for system in others:
            self.attempt(system, 0, needed_later=self._seconds_before(system))
        scored = [self.tried[system.name] for system in encoders if self.tried[system.name].folds]
        if not scored:
            return
        leader = next((t for t in scored if t.leads), None) or max(scored, key=lambda t: self.gain(t, 1))
        leader.leads = True
        encoder = self.run.recipe.system(leader.name)
        self._try_methods(encoder, planned)
        for system in others:
            self.attempt(system, 0, needed_later=self._seconds_of_surer_gains(encoder, planned))
        schedule = self.final_schedule
        for fold in range(1, self.fold_count):
            self._halve(fold)
            rivals = self.still_tried(fold)
            if not rivals:
                return
            systems = [self.run.recipe.system(rival.name) for rival in rivals]
            self.final_schedule = schedule
            least_seconds = self._least_seconds(systems, fold)
            while fold == 1 and not self._fits(gold, fold, least_seconds) and self._shorten_final():
                least_seconds = self._least_seconds(systems, fold)
            if not self.attempt(gold, fold, needed_later=least_seconds):  # gold only alone would show nothing
                return
            for system in systems:
                self.attempt(system, fold)

    def _least_seconds(self, systems: Sequence[System], fold: int) -> float:
        """Estimated seconds of the fastest system on a fold and on all sentences."""
        return min(self._fold_cost(system, fold) + self._final_cost(system) for system in systems)

    def _shorten_final(self, shortest: Schedule = MIN_FOR_SECOND_FOLD) -> bool:
        """Plan a shorter training on all sentences, if possible: promising systems and second folds matter more."""
        if self.final_schedule is None or math.prod(self.final_schedule) <= math.prod(shortest):
            return False
        self.final_schedule = SCHEDULES[SCHEDULES.index(self.final_schedule) + 1]
        return True

    def _seconds_before(self, encoder: System) -> float:
        """Estimated seconds of what is tried before an encoder if there is no time for both.

        That is nothing before a better encoder, one method before the encoder that the user named, which may be
        better, and all methods of the first encoder before another one, which seldom is.
        """
        if self.encoder(encoder) in self.better:
            return 0.0
        methods = self._methods(self.run.recipe.baseline)
        if encoder.tagger_settings.get("model") == self.named:
            methods = methods[:1]
        once = [system for system in methods if not self._is_round(system)]
        return sum(self._fold_cost(system, 0) for system in once) + max(map(self._final_cost, once), default=0.0)

    def _methods(self, encoder: System) -> list[System]:
        """The systems that make sentences and whose tagger has the given encoder, or else starts from a tagger on it.

        For rounds of relabelling, the first tagger counts.
        """
        systems = [system for system in self.run.recipe.systems if system.makes_sentences]
        roots = [(system, self.run.recipe.chain(system)[0]) for system in systems]
        same = [system for system, root in roots if root.tagger_settings == encoder.tagger_settings]
        return same or [system for system, root in roots if self.encoder(root) == self.encoder(encoder)]

    def _try_methods(self, encoder: System, planned: Schedule | None) -> None:
        """Try the methods with a tagger of the given encoder on the first fold.

        Args:
            planned: The schedule on all sentences, before another encoder made it shorter.
        """
        methods = self._methods(encoder)
        on_raw = [system for system in methods if system.labels_raw_text]
        for system in on_raw:
            if not self._is_round(system):
                self.attempt(system, 0)
        self._relabel(on_raw)  # before methods on gold alone, which gain less in the same time
        needed_later = self._seconds_of_surer_gains(encoder, planned)
        for system in methods:
            if not system.labels_raw_text:
                self.attempt(system, 0, needed_later=needed_later)

    def _seconds_of_surer_gains(self, encoder: System, planned: Schedule | None) -> float:
        """Estimated seconds of the work that gains more than methods on gold alone and other encoders: a second fold,
        or the planned training on all sentences. Nothing does while gold only is alone.
        """
        if len(self.scored) == 1:
            return 0.0
        return max(self._seconds_of_second_fold(), self._final_cost(encoder, planned))

    def _seconds_of_second_fold(self) -> float:
        """Estimated seconds that the best system with labelled raw text needs on a second fold and on all sentences.

        The first fold is small and misleading, so systems that usually gain less are not tried instead.
        """
        systems = [system for system in self.run.recipe.systems if system.labels_raw_text and system.name in self.tried]
        tried_systems = [system for system in systems if self.tried[system.name].folds]
        if not tried_systems or self.fold_count < 2:
            return 0.0
        best, gold = max(tried_systems, key=lambda s: self.gain(self.tried[s.name], 1)), self.run.recipe.baseline
        if self.gain(self.tried[best.name], 1) < 0:
            return 0.0
        final_seconds = min(self._final_cost(best), self._final_cost(best, MIN_FOR_SECOND_FOLD))
        seconds = self._fold_cost(gold, 1) + self._fold_cost(best, 1) + final_seconds
        return seconds if self.budget.expected(self.budget.closing + seconds) <= self.budget.left else 0.0

    def _is_round(self, system: System) -> bool:
        """Whether it relabels what another system labelled."""
        return bool(system.base) and self.run.recipe.system(system.base).makes_sentences

    def _relabel(self, methods: Sequence[System]) -> None:
        """Label the raw text again with the tagger of the best system, while that helps."""
        started = [self.tried[s.name] for s in methods if not self._is_round(s) and self.tried[s.name].folds]
        leader = max(started, key=lambda tried: self.gain(tried, 1), default=None)
        if leader and self.gain(leader, 1) >= 0:
            while leader:
                leader = self._better_round(methods, leader)

    def _better_round(self, methods: Sequence[System], leader: SystemTrial) -> SystemTrial | None:
        """The first system that labels the raw text with the leader's tagger and is expected to gain more."""
        for system in methods:
            if self._is_round(system) and system.base == leader.name and self.attempt(system, 0):
                tried = self.tried[system.name]
                if self.gain(tried, 1) > self.gain(leader, 1):
                    return tried
        return None

    def _halve(self, folds: int) -> None:
        """Drop the weaker half after a number of folds, unless an earlier call has done so."""
        if any(tried.dropped == folds for tried in self.tried.values()):
            return
        still_tried = sorted(self.still_tried(folds), key=lambda tried: self.gain(tried, folds), reverse=True)
        for tried in still_tried[max(1, (len(still_tried) + 1) // 2) :]:
            gap = 100 * (self.gain(still_tried[0], folds) - self.gain(tried, folds))
            tried.dropped = folds
            scored_on = plural(len(tried.folds), "fold")
            self._give_up(tried, f"dropped after {scored_on}: its expected F1 is {gap:.1f} below the best")

    def _fold_cost(self, system: System, fold: int) -> float:
        """Estimated seconds to make, train and score a system and its bases on a fold, without what is done already."""
        return self._cost(self.run_time, system, fold)

    def _final_cost(self, system: System, schedule: Schedule | None = None) -> float:
        """The same on all sentences, by the planned schedule or another one, after the system was tried on a fold.

        Gold only is included if its tagger is needed: for labels, or for a comparison on a test file.
        """
        recipe, times = self.run.recipe, self.run_time
        if schedule := schedule or self.final_schedule:
            times = replace(times, recipe=with_schedule(times.recipe, schedule))
        asks = any(part.asks_for_tagger and not part.base for part in recipe.chain(system))
        is_needed = system is not recipe.baseline and (asks or self.run.corpora["test"])
        trained = [*([recipe.baseline] if is_needed else []), system]
        return sum(self._cost(times, part, self.fold_count) for part in trained)

    def _cost(self, times: RunTime, system: System, seed: int) -> float:
        """Estimated seconds of a system and its bases for a seed; the last seed trains on all sentences.

        When a system was tried on a fold, it and its bases have asked their questions for all folds at once.
        """
        run, folds, seconds = self.run, self.fold_count, 0.0
        is_on_all = seed == folds
        train, test = run.corpora["train"], run.corpora["test"]
        for part in run.recipe.chain(system):
            if not run.path(seed, part, "tagger").exists():
                seconds += times.training(part)
            if not run.path(seed, part, "result.json").exists():
                seconds += times.scoring(part, len(test) if is_on_all else math.ceil(len(train) / folds))
            seeds = range(folds + 1) if part.asks_questions else [seed]
            is_made = any(run.generated(other, part).exists() for other in seeds)
            if not is_made and not (part.asks_questions and is_on_all):
                seconds += times.making(part)
        return seconds

    def longest_schedule(self, system: System) -> Schedule:
        """The longest schedule by which a system can be trained on all sentences in the time that is left.

        It may be shorter than that of the search if the machine has become slower: down to `MIN_SHARE_OF_SEARCH`, a
        tagger that has seen all sentences is better than that of a fold. If even this takes too long, the schedule
        of the search is returned.
        """
        searched = Schedule.of(self.run.recipe)
        free = self.budget.left - self.budget.expected(self.budget.closing)
        possible = [s for s in SCHEDULES if math.prod(s) >= MIN_SHARE_OF_SEARCH * math.prod(searched)]
        return next((s for s in possible if self.budget.expected(self._final_cost(system, s)) <= free), searched)

    def attempt(self, system: System, fold: int, needed_later: float = 0.0) -> bool:
        """Train and score a system on a fold if the time allows. Returns whether that was done.

        Args:
            needed_later: Estimated seconds that other work needs.
        """
        tried = self.tried.setdefault(system.name, SystemTrial(system.name))
        if fold in tried.folds:
            return True
        is_needed = system.name == GOLD and fold == 0
        if fold == 0 and (system.labels_raw_text or self.encoder(system) in self.better):
            self._make_room(system, needed_later)
        estimate, reserve = self._fold_cost(system, fold), self._reserve(system, needed_later)
        minutes, left = (in_minutes(max(0.0, s)) for s in (self.budget.expected(estimate), self.budget.left))
        if not is_needed and not self._fits(system, fold, needed_later):
            if not tried.folds:
                free = _free_text(self.budget.left - reserve, is_later=bool(needed_later))
                outcome = f"not tried: it needs about {minutes}"
                if tried.fate:  # it was reported before
                    tried.fate = outcome
                else:
                    self._give_up(tried, outcome, f"; {free}")
            return False
        self.say(f"fold {fold + 1} of {self.fold_count} · {label_of(tried.name)}: about {minutes}; {left} are left")
        reserved = self.budget.expected(self.budget.closing) if is_needed else reserve / 2
        most_seconds = max(self.budget.left - reserved, MIN_SECONDS if is_needed else 0.0)
        seconds = self._run_within(most_seconds, system, fold, estimate)
        if seconds is None:
            return False
        tried.fate, tried.folds = "", [*tried.folds, fold]
        tried.estimate, tried.seconds = tried.estimate + estimate, tried.seconds + seconds
        self.save()
        self.say(f"  F1 {100 * self.f1(tried):.1f} on held-out sentences, after {in_minutes(seconds)}")
        return True

    def _run_within(self, most_seconds: float, system: System, fold: int, estimate: float) -> float | None:
        """Train and score a system on a fold, correct later estimates, and return its seconds; None if given up."""
        tried, parts, began = self.tried[system.name], self.run.recipe.chain(system), time.monotonic()
        is_new = not any(self.run.path(fold, part, "result.json").parent.exists() for part in parts)
        try:
            with time_limit(most_seconds):
                if self._answers_badly(system):
                    return None
                began = time.monotonic()  # the time of the questions is not part of the training
                for part in parts:
                    self.run.run_system(fold, part)
        except OutOfTimeError:
            self.budget.learn(estimate, max(estimate, time.monotonic() - began))
            self._give_up(tried, "stopped: it took longer than the time allows")
            return None
        except (DataError, SettingsError, MissingResourceError) as error:
            if system.name == GOLD:
                raise
            self._give_up(tried, f"failed: {error.text}")
            return None
        except (MemoryError, RuntimeError, OSError) as error:
            if system.name == GOLD or not is_lack_of_memory(error):
                raise
            self._give_up(tried, "failed: there is not enough memory")
            return None
        seconds = time.monotonic() - began
        if is_new:  # the rest of an interrupted training says nothing about the whole
            self.budget.learn(estimate, seconds)
        return seconds

    def _give_up(self, tried: SystemTrial, outcome: str, hint: str = "") -> None:
        """Record and report why a system is given up."""
        tried.fate = outcome
        self.say(f"{label_of(tried.name)}: {outcome}{hint}")

    def _make_room(self, system: System, needed_later: float) -> None:
        """Plan a shorter training on all sentences if a promising system then fits on the first fold."""
        planned = self.final_schedule
        shortest = ENOUGH if self.encoder(system) in self.better else MIN_FOR_SECOND_FOLD
        while not self._fits(system, 0, needed_later):
            if not self._shorten_final(shortest):
                self.final_schedule = planned
                return

    def _answers_badly(self, system: System) -> bool:
        """Whether a system asks questions, and their answers on labelled sentences are too bad to train on."""
        tried, gold = self.tried[system.name], self.tried[GOLD]
        if system.method is None or not system.asks_questions or tried.folds or not gold.folds:
            return False
        if tried.answers is None:
            labelled = sentences_to_ask(self.run.corpora["train"])
            tried.answers = zero_shot_f1(system.method, labelled) if labelled else 1.0
            self.save()
        least_f1 = HOPELESS * self.f1(gold, 1)
        if tried.answers > least_f1:
            return False
        f1 = f"{100 * tried.answers:.1f}"
        outcome = f"not tried: the answers have F1 {f1} on labelled sentences, too low to learn from"
        self._give_up(tried, outcome, ". Better definitions may help (--define, with another --out)")
        return True

    def _fits(self, system: System, fold: int, needed_later: float) -> bool:
        return (
            self.budget.expected(self._fold_cost(system, fold)) + self._reserve(system, needed_later)
            <= self.budget.left
        )

    def _reserve(self, system: System, needed_later: float) -> float:
        """Seconds that are kept for what comes after a system on a fold."""
        if self._is_last_resort(system, needed_later):
            return self.budget.expected(self.budget.closing)
        best = self.best()
        final_seconds = self._final_cost(self.run.recipe.system(best.name)) if best else 0.0
        return self.budget.expected(self.budget.closing + max(final_seconds, self._final_cost(system), needed_later))

    def _is_last_resort(self, system: System, needed_later: float) -> bool:
        """Whether only gold only was scored, and a system trains a bundled tagger with the same encoder on gold only.
        This gains so much that the tagger of a fold is usually better than that of gold only on all sentences.
        """
        if len(self.scored) != 1 or needed_later or system.makes_sentences:
            return False
        start = STARTS.get(self.encoder(self.run.recipe.baseline), "")
        return start != "" and system.tagger_settings.get("model") == start


def _free_text(seconds: float, *, is_later: bool) -> str:
    """The time that is left for a system, in words."""
    left = in_minutes(seconds) if seconds > 0 else "no time"
    final_training = "the training on all sentences"
    return f"other planned systems and {final_training} leave {left}" if is_later else f"{final_training} leaves {left}"
