"""Self-training: candidates join the training data step by step, by the certainty of the tagger of the step before."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nersery.core.batched import batched
from nersery.core.errors import DataError, Issue, SettingsError, at
from nersery.core.progress import Progress
from nersery.core.random import item_rng, item_seed
from nersery.core.registry import create_nested, name_of
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.settings.ranges import Count, RateAboveZero, RateBelowOne
from nersery.core.settings.typed_settings import hidden, settings_of
from nersery.core.system.folders import replaced_folder
from nersery.core.training_context import BY_SETTING, NO_TRAINING, Training, copies_for_upsampling
from nersery.core.warnings import note
from nersery.select.base import Selector, not_a_candidate
from nersery.select.components.self_training_checkpoint import (
    CERTAINTY,
    Joined,
    TrainingStep,
    as_joined,
    read_checkpoint,
    tagger_folder,
    write_checkpoint,
)
from nersery.select.components.word_certainty import certainty
from nersery.taggers.base import (
    LOADING,
    NOTHING_TO_COMPARE,
    Tagger,
    can_compare,
    labels_hash,
    load_tagger,
    require_labels,
    strict_f1,
    training_record,
)
from nersery.taggers.training.gold_tagger import gold_tagger, warn_of_no_entity, warn_of_unknown_labels
from nersery.taggers.training.second_stage import fit_second_stage, foreign_settings, second_stage_issues

Strategy = Literal["uncertainty", "easy_first", "hard_first", "all"]
MIN_SCORE = 1e-6
CHUNK = 512
"""Candidates that are judged between two updates of the progress."""


@dataclass
class SelfTraining(Selector):
    """Adds sentences to gold step by step, and keeps those that joined before dev F1 stopped rising.

    At each step, a tagger is trained on gold and the sentences that have joined. It judges the other candidates, and
    some join next. A sentence scores 1 divided by the number of its step, or 0 if it never joined or joined after the
    step with the best dev F1. If no step beats gold alone, all score 0. Without dev, all that joined are kept. The
    score `self_training.certainty` is the certainty on joining.

    Args:
        threshold: Minimum score, in (0, 1]: the default keeps all that joined, 0.5 those of the first two steps.
        strategy: Which candidates join: `uncertainty` samples in proportion to exp(certainty), `easy_first` takes the
            most certain, `hard_first` the least certain, `all` all at once.
        per_step: Candidates that join at each step.
        steps: Maximum steps.
        patience: Stop after this many steps without a better dev F1.
        passes: Forward passes with dropout, as in `certainty`.
        examined: Judge only this many candidates at each step, drawn at random. None: all.
        relabel: For candidates that a tagger labelled: at each step, relabel all and draw a new set, larger by
            `per_step`. The best step's set is kept.
        with_entities: Only sentences with an entity join. Taggers are most certain of the others, often wrongly.
        upsampling: Repeat gold until it is this share of the training data, in [0, 1).
        second_stage: Settings of a second training on gold alone at each step. Empty: none.
        warm_start: Start each tagger from the weights of the previous one.
        tagger: Settings of the tagger to train, with its `method`. Empty: the run's, or the default.

    Reference:
        Liu et al. (2022), PromptDA, section 3.3 (uncertainty-guided self-training) and Figure 3 (the other strategies).

    Departures:
        - The paper only says "stop by dev F1". We stop `patience` steps after the best, which is kept.
        - Dropout is that of `certainty`.
    """

    threshold: RateAboveZero = MIN_SCORE
    strategy: Strategy = "uncertainty"
    per_step: Count = 200
    steps: Count = 10
    patience: Count = 1
    passes: Count = 10
    examined: int | None = None
    relabel: bool = False
    with_entities: bool = False
    upsampling: RateBelowOne = 0.0
    second_stage: dict[str, Any] = field(default_factory=dict)
    warm_start: bool = False
    tagger: dict[str, Any] = field(default_factory=dict)
    _gold: list[Sentence] = hidden(default_factory=list)
    _training: Training = hidden(default=NO_TRAINING)
    _finished_steps: list[TrainingStep] = hidden(default_factory=list)
    _fingerprint: dict[str, Any] = hidden(default_factory=dict)
    _candidate_ids: frozenset[str] = hidden(default=frozenset())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.examined is not None and self.examined < self.per_step:
            raise SettingsError(f"examined is {self.examined}, expected at least per_step ({self.per_step})")
        if self.tagger:
            self._check_second_stage(self._new_tagger())
        elif issues := foreign_settings(self.second_stage, "differ in a second training"):
            raise SettingsError("\n".join(at("second_stage", issues)))

    def check(self) -> None:
        if self.tagger:
            tagger = self._new_tagger()
            tagger.check()
            tagger.check_certainty()

    def check_tagger(self, tagger: Tagger) -> None:
        """Refuse a tagger without dropout or support for ``second_stage``; see `Selector.check_tagger`."""
        if not self.tagger:
            tagger.check_certainty()
            self._check_second_stage(tagger)

    def _check_second_stage(self, tagger: Tagger) -> None:
        if not self.second_stage:
            return
        if issues := second_stage_issues(name_of(tagger), settings_of(tagger), self.second_stage):
            raise SettingsError("\n".join(at("second_stage", issues)))

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Store gold, dev and the given taggers. The training itself is in `fit_candidates`."""
        if not self.tagger and training.new_tagger is None:
            self._check_second_stage(self._new_tagger())
        self._gold, self._training, self._finished_steps = list(gold), training, []

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Train step by step. With a folder, a call after a kill resumes at the first unfinished step.

        Raises:
            DataError: If there are no labelled gold sentences.
        """
        pool = Corpus(candidates)
        self._candidate_ids = frozenset(pool.by_id)
        self._gold = self._gold_outside(pool)
        require_labels(self._gold)
        if not self.relabel:
            warn_of_no_entity(name_of(self), pool)
            warn_of_unknown_labels(types_in(self._gold), pool, set())
        if not self._can_stop:
            why = NOTHING_TO_COMPARE if self._training.dev else "without dev sentences, the best step is unknown"
            note(f"{why}, so self_training runs all its steps ({self.steps}) and keeps every sentence that joins")
        folder = self._training.folder
        self._fingerprint = self._inputs(pool)
        self._finished_steps = read_checkpoint(folder, self._fingerprint)
        tagger = self._last_tagger(folder) if folder and self._finished_steps else None
        if tagger is None:
            tagger = self._first_tagger()
            self._save_step(TrainingStep(sentences=len(self._gold), dev_f1=self._dev_f1(tagger)), tagger)
        while not self._is_over() and (joining := self._draw(pool, tagger)):
            step = TrainingStep({s.id: Joined(s.scores[CERTAINTY], list(s.labels)) for s in joining})
            earlier = [] if self.relabel else [joined for s in self._finished_steps for joined in s.joined.items()]
            before = [as_joined(pool.by_id[id], joined) for id, joined in earlier]
            tagger, step.sentences = self._train(tagger, [*before, *joining])
            step.dev_f1 = self._dev_f1(tagger)
            self._save_step(step, tagger)
        self.history = {
            "steps": [self._step_record(number) for number in range(len(self._finished_steps))],
            "best": self._best(),
        }
        if self._can_stop and self._best() == 0 and len(self._finished_steps) > 1:
            self._note_no_gain([step.dev_f1 or 0.0 for step in self._finished_steps])

    def _note_no_gain(self, scores: Sequence[float]) -> None:
        """Print why nothing is kept, given dev F1 of gold alone and of each step."""
        advice = "" if any(scores) else ". Its tagger has learnt nothing: train it longer (tagger.steps)"
        note(f"no step beats gold alone (dev F1 {100 * scores[0]:.1f}), so self_training keeps nothing{advice}")

    def transform(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with the certainty (and, if relabelled, the labels) that they had when they joined."""
        kept = self._kept()
        return [as_joined(s, kept[s.id][1]) if s.id in kept else s for s in sentences]

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """1 divided by the step at which each joined, or 0. Raises an error if a sentence is not a candidate."""
        unknown = next((s.id for s in sentences if s.id not in self._candidate_ids), None)
        if unknown is not None:
            raise not_a_candidate(self, unknown)
        kept = self._kept()
        return [1 / kept[s.id][0] if s.id in kept else 0.0 for s in sentences]

    def reason(self, sentence: Sentence, score: float) -> str:
        """The reason for the rejection: it did not join, or too late for the threshold; see `Selector.reason`."""
        return "joined after the first steps" if score else "did not join up to the best step"

    def _gold_outside(self, pool: Corpus) -> list[Sentence]:
        """The gold sentences that are not candidates. A candidate is judged, so it cannot be gold.

        Raises:
            DataError: If none is left, or a gold sentence and a candidate have the same id but different words.
        """
        remaining = [sentence for sentence in self._gold if sentence.id not in pool.by_id]
        shared = len(self._gold) - len(remaining)
        if other := next((s for s in self._gold if s.id in pool.by_id and pool.by_id[s.id].words != s.words), None):
            raise DataError(
                Issue("a gold sentence and a candidate have this id, but other words", sentence=other.id),
                fix="files without ids get them from their names: rename one of the files, or give other ids",
            )
        overlap = f"{shared:,} of the {len(self._gold):,} gold sentences have the id of a candidate"
        if not remaining:
            raise DataError(
                "self_training has no gold sentence to start from" + (f": {overlap}" if shared else ""),
                fix="give labelled sentences as gold that are not candidates, with ids of their own",
            )
        if shared:
            note(f"{overlap}, so they are judged, not learnt from")
        return remaining

    # --- one step -------------------------------------------------------------------------------------------------

    def _draw(self, pool: Corpus, tagger: Tagger) -> list[Sentence]:
        """The candidates that join next, with their certainty, in the order of the pool."""
        # Random numbers depend on the sentence and the step, so that a resumed run or another order draws the same.
        number, seed = len(self._finished_steps), self._training.seed
        joined = {} if self.relabel else {id for step in self._finished_steps for id in step.joined}
        candidates = [sentence for sentence in pool if sentence.id not in joined]
        draws = {s.id: _uniform_draws(seed, "self_training", s.id, number) for s in candidates}
        count = self.per_step * (number if self.relabel else 1)
        if self.strategy == "all":
            count = len(candidates)
        elif self.examined is not None:
            examined = {*sorted(draws, key=draws.__getitem__)[: max(self.examined, count)]}
            candidates = [s for s in candidates if s.id in examined]
        judged = self._judged(candidates, tagger)
        urgency = {s.id: self._urgency(s.scores[CERTAINTY], draws[s.id][1]) for s in judged}
        joining = {*sorted(urgency, key=urgency.__getitem__, reverse=True)[:count]}
        return [s for s in judged if s.id in joining]

    def _judged(self, sentences: Sequence[Sentence], tagger: Tagger) -> list[Sentence]:
        """The sentences that may join, with their certainty."""
        judged = []
        with (self._training.progress or Progress("", quiet=True)).within("judge", len(sentences)) as progress:
            for chunk in batched(sentences, CHUNK):
                kept = tagger.predict(chunk) if self.relabel else chunk
                kept = [s for s in kept if s.entities] if self.with_entities else kept
                shares = tagger.certainty(kept, passes=self.passes, seed=self._training.seed)
                judged += [
                    s.with_scores(**{CERTAINTY: certainty(words)}) for s, words in zip(kept, shares, strict=True)
                ]
                progress.advance(len(chunk))
        return judged

    def _urgency(self, certainty: float, draw: float) -> tuple[float, float]:
        """The sort key of candidates, highest first. Ties are broken by ``draw``, in [0, 1)."""
        # Gumbel top-k: the highest certainty + noise are a draw without replacement, in proportion to e^certainty.
        if self.strategy == "uncertainty":
            return certainty - math.log(-math.log(draw or 1e-300)), 0.0
        return (-certainty if self.strategy == "hard_first" else certainty), draw

    def _train(self, previous: Tagger, others: Sequence[Sentence]) -> tuple[Tagger, int]:
        """Train a tagger on gold and the others. Return it with the number of its training sentences."""
        train = [*self._gold * copies_for_upsampling(len(self._gold), len(others), self.upsampling), *others]
        tagger = deepcopy(previous) if self.warm_start else self._new_tagger()  # the caller's own stays as it is
        training = self._training.within(f"training-{len(self._finished_steps)}")
        tagger.fit(train, training, warm=self.warm_start)
        if self.second_stage and others:
            tagger = fit_second_stage(tagger, self._gold, self.second_stage, training.within("second_stage"))
        return tagger, len(train)

    def _new_tagger(self) -> Tagger:
        if self.tagger or self._training.new_tagger is None:
            return create_nested("tagger", self.tagger)
        return self._training.new_tagger()

    def _last_tagger(self, folder: Path) -> Tagger:
        wanted = vars(self._new_tagger())
        settings = {key: wanted[key] for key in LOADING if key in wanted}
        return load_tagger(tagger_folder(folder, len(self._finished_steps)), **settings)

    def _first_tagger(self) -> Tagger:
        if not self.tagger:
            return gold_tagger(name_of(self), None, self._gold, self._training, BY_SETTING)
        return self._train(self._new_tagger(), [])[0]

    @property
    def _can_stop(self) -> bool:
        """Whether dev F1 can decide when to stop."""
        return can_compare(self._training.dev, types_in(self._gold))

    def _dev_f1(self, tagger: Tagger) -> float | None:
        dev = self._training.dev
        return strict_f1(dev, tagger.predict(dev)) if self._can_stop else None

    # --- what was done --------------------------------------------------------------------------------------------

    def _save_step(self, step: TrainingStep, tagger: Tagger) -> None:
        """Write a finished step, after the tagger that the next step needs."""
        self._finished_steps.append(step)
        folder, number = self._training.folder, len(self._finished_steps)
        if folder is None:
            return
        if number == 1:  # without a record, files left by a kill would be mistaken for somebody else's
            folder.mkdir(parents=True, exist_ok=True)
            write_checkpoint(folder, self._fingerprint, [])
        # Write the tagger, then the record that names it, then remove the old tagger: a kill leaves a complete pair.
        with replaced_folder(tagger_folder(folder, number)) as unfinished:
            tagger.save(unfinished)
        write_checkpoint(folder, self._fingerprint, self._finished_steps)
        shutil.rmtree(tagger_folder(folder, number - 1), ignore_errors=True)
        shutil.rmtree(folder / f"training-{number - 1}", ignore_errors=True)

    def _inputs(self, pool: Corpus) -> dict[str, Any]:
        from nersery.models.pretrained.computer import environment
        from nersery.models.pretrained.loading import pick_device

        record = training_record(self, self._gold, self._training.dev)
        del record["settings"]["threshold"]
        ids = f"{item_seed(*pool.by_id):x}"
        inputs = {"seed": self._training.seed, "candidates": labels_hash(pool), "ids": ids}
        return {**record, **inputs, "environment": environment(pick_device("auto"))}

    def _best(self) -> int:
        """The number of the step with the best tagger on dev, 0 for gold alone. Without dev, the last step."""
        scores = [step.dev_f1 for step in self._finished_steps if step.dev_f1 is not None]
        return scores.index(max(scores)) if scores else len(self._finished_steps) - 1

    def _is_over(self) -> bool:
        done = len(self._finished_steps) - 1
        return done >= self.steps or done - self._best() >= self.patience

    def _kept(self) -> Mapping[str, tuple[int, Joined]]:
        """The candidates in the training data of the best step, by id, with the step at which each first joined."""
        best = self._best()
        first: dict[str, int] = {}
        for number in range(1, best + 1):
            first = dict.fromkeys(self._finished_steps[number].joined, number) | first
        steps = [best] if self.relabel and best else range(1, best + 1)
        return {
            id: (first[id], joined) for number in steps for id, joined in self._finished_steps[number].joined.items()
        }

    def _step_record(self, number: int) -> dict[str, Any]:
        step = self._finished_steps[number]
        certainties = [joined.certainty for joined in step.joined.values()]
        mean = sum(certainties) / len(certainties) if certainties else None
        return {"joined": len(certainties), "certainty": mean, "sentences": step.sentences, "dev_f1": step.dev_f1}


def _uniform_draws(*keys: object) -> tuple[float, float]:
    """Two random numbers in [0, 1) of an item: one decides whether it is examined, the other whether it joins."""
    rng = item_rng(*keys)
    return rng.random(), rng.random()
