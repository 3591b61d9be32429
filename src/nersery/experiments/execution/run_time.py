"""Estimate how long the systems of a recipe will run, from a few timed steps."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from typing import Any

from nersery.core import registry
from nersery.core.progress import Progress
from nersery.core.sentence import Corpus, Sentence
from nersery.core.training_context import Training
from nersery.experiments.recipe import Recipe
from nersery.experiments.systems import MethodSettings, System
from nersery.models.llm.endpoint_method import EndpointMethod
from nersery.models.pretrained.computer import using_threads
from nersery.models.pretrained.loading import ModelSource, import_libraries
from nersery.report.system_names import GOLD
from nersery.taggers.base import Tagger

BATCH = 16
"""Sentences in a training step if the settings name no number."""
STEP_OVERHEAD = 0.25
"""Share of the time of a step of `BATCH` sentences that does not depend on their number: with both bundled encoders, 4,
8 and 16 sentences take 0.44, 0.65 and 1 times as long."""
TIMED_ALIKE = ("steps", "batch_size", "learning_rate", "head_learning_rate")
"""Settings for which no new timing is needed: estimates are scaled by the first two, and rates take no time."""
TIMED_STEPS = 6
TIMED_SENTENCES = 24
MAX_TIMING_SECONDS = 20.0
"""Seconds of training steps, or of labelling, after which timing ends: timing a large model completely may use up a
short budget. At least two steps are always taken.
"""
FORWARD_SHARE = 1 / 3
"""Share of the forward pass in the time of a training step: the backward pass takes twice as long."""
LANGUAGE_MODEL_STEP = 2.0
"""Time of a step of a masked language model, in steps of the tagger: the model also predicts subwords."""
SECONDS_TO_MAKE = 4e-4
"""Seconds to make a sentence by a rule, to write it, and to read it for training."""
EVALUATIONS = 10
"""Number of evaluations on dev in each training."""


class TimedEnoughError(Exception):
    """The steps so far have taken longer than `MAX_TIMING_SECONDS`."""


class Stopwatch(Progress):
    """Records the time of each step, and stops a slow training by `TimedEnoughError`."""

    def __init__(self) -> None:
        super().__init__("timing", quiet=True)
        self.times: list[float] = []

    def advance(self, items: int = 1, *, resumed: bool = False, note: str = "") -> None:
        self.times.append(time.monotonic())
        super().advance(items, resumed=resumed, note=note)
        if self.times[-1] - self.times[0] > MAX_TIMING_SECONDS:
            raise TimedEnoughError


@dataclass(frozen=True)
class Speed:
    """The seconds that a tagger takes.

    Args:
        start: Seconds to load a model and to save it.
        step: Seconds of a training step of `BATCH` sentences.
        sentence: Seconds to label a sentence.
    """

    start: float
    step: float
    sentence: float

    def step_of(self, batch: int) -> float:
        """Seconds of a training step with this number of sentences."""
        return self.step * _relative(batch)


def _relative(batch: int) -> float:
    return STEP_OVERHEAD + (1 - STEP_OVERHEAD) * batch / BATCH


def tagger_speed(settings: MethodSettings, gold: Sequence[Sentence]) -> Speed:
    """Time a few training steps of a tagger. A method without the setting ``steps`` trains as usual."""
    tagger: Tagger = settings.with_changes({"steps": TIMED_STEPS} if "steps" in settings.settings else {}).create()
    import_libraries()  # happens once per process, so it is not part of the start
    watch, began = Stopwatch(), time.monotonic()
    labelled = _spread([sentence for sentence in gold if sentence.entities])
    batch = batch_size(settings.settings)
    timed_sentences = [*islice(cycle(labelled), TIMED_STEPS * batch)]  # so that no step has fewer sentences
    is_slow = False
    try:
        tagger.fit(timed_sentences, Training(progress=watch))
    except TimedEnoughError:
        is_slow = True
    step_seconds = [later - earlier for earlier, later in zip(watch.times, watch.times[1:], strict=False)]
    step = statistics.median(step_seconds) if step_seconds else time.monotonic() - began
    start = max(0.0, time.monotonic() - began - step * len(watch.times))  # time that the steps do not explain
    if is_slow:
        return Speed(start, step / _relative(batch), FORWARD_SHARE * step / batch)
    tagger.predict(labelled)  # the first pass is slower
    began = time.monotonic()
    tagger.predict(labelled)
    return Speed(start, step / _relative(batch), (time.monotonic() - began) / len(labelled))


def _spread(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Sentences from all parts of a corpus, because the first ones may be shorter than the rest."""
    return list(sentences[:: max(1, len(sentences) // TIMED_SENTENCES)][:TIMED_SENTENCES])


def annotator_speed(settings: MethodSettings, gold: Sequence[Sentence], raw: Sequence[Sentence]) -> float:
    """Seconds per sentence of an annotator with its own model; 0 if the model is on a server."""
    annotator = settings.create()
    if isinstance(annotator, EndpointMethod):
        return 0.0  # a check sends no sentence to a server, and costs nothing
    annotator.fit(list(gold))
    timed_sentences = _spread(raw)
    for part in (timed_sentences[: TIMED_SENTENCES // 4], timed_sentences):  # the first pass is slower
        began = time.monotonic()
        annotator.annotate(part)
        seconds = (time.monotonic() - began) / max(1, len(part))
        if seconds * len(timed_sentences) > MAX_TIMING_SECONDS:
            break
    return seconds


@dataclass
class RunTime:
    """Estimates the seconds of each stage of a recipe.

    Args:
        gold: Labelled sentences to train on.
        raw: Raw sentences.
        dev_count: Number of sentences that each training is evaluated on `EVALUATIONS` times.
        speeds: Timings by settings, as JSON values.
        timed: Called after each timing.
        say: Called with a description before each timing, which may take half a minute.
    """

    recipe: Recipe
    gold: Sequence[Sentence]
    raw: Sequence[Sentence] = ()
    dev_count: int = 0
    speeds: dict[str, Any] = field(default_factory=dict)
    timed: Callable[[], None] = lambda: None
    say: Callable[[str], None] = lambda _: None

    def speed(self, system: System) -> Speed:
        """The speed of a system's tagger, timed once."""
        return self._speed(self.recipe.tagger_of(system))

    def _speed(self, tagger: MethodSettings) -> Speed:
        return Speed(**self._once(tagger, lambda: asdict(tagger_speed(tagger, self.gold))))

    def _once(self, settings: MethodSettings, measure: Callable[[], Any]) -> Any:
        """The measurement of a method with these settings, taken now if there is none yet."""
        model = settings.settings.get("model")  # models of one architecture share a folder
        location = {"model": ModelSource(model).location} if isinstance(model, str) else {}
        ignored = dict.fromkeys(TIMED_ALIKE)
        key = json.dumps([settings.method, {**settings.settings, **location, **ignored}], sort_keys=True, default=str)
        if key not in self.speeds:
            self.say(f"timing {settings.method}" + (f" with {model}" if model else ""))
            self.speeds[key] = measure()
            self.timed()
        return self.speeds[key]

    def training(self, system: System) -> float:
        """Seconds to train a system's tagger and to evaluate it on dev."""
        speed, tagger = self.speed(system), self.recipe.tagger_of(system)
        gold, added = len(self.gold), self.added(system)
        seconds = _seconds(speed, tagger, gold * system.repeats_of_gold(gold, added) + added)
        if system.second_stage:
            seconds += _seconds(speed, tagger.with_changes(system.second_stage), len(self.gold))
        return speed.start + seconds + EVALUATIONS * self.dev_count * speed.sentence

    def scoring(self, system: System, sentences: int) -> float:
        """Seconds to label a number of sentences with a system's trained tagger."""
        return sentences * self.speed(system).sentence

    def contains_raw_text(self, system: System) -> bool:
        """Whether a system's training data contain raw text."""
        others = map(self.recipe.system, system.references)
        return system.labels_raw_text or any(map(self.contains_raw_text, others))

    def added(self, system: System) -> int:
        """Maximum number of training sentences besides gold. Raw text counts once, however often it is labelled."""
        return (len(self.raw) if self.contains_raw_text(system) else 0) + self._made(system)

    def _made(self, system: System) -> int:
        """Maximum number of training sentences from a system and its references that are neither gold nor raw text."""
        own = self.candidates(system) if system.method and not system.labels_raw_text else 0
        return own + sum(map(self._made, map(self.recipe.system, system.references)))

    def candidates(self, system: System) -> int:
        """Maximum number of sentences that a system selects from."""
        if system.labels_raw_text:
            return len(self.raw)
        if system.method is None:
            return self.added(system)
        of_base = self.added(self.recipe.system(system.base)) if system.base else 0
        return (len(self.gold) + of_base) * system.copies

    def making(self, system: System) -> float:
        """Maximum number of seconds to make and select a system's sentences."""
        if not system.makes_sentences:
            return 0.0
        tagger, candidates = self.recipe.system(system.base or GOLD), self.candidates(system)
        seconds = sum(self._selecting(selector, candidates, tagger) for selector in system.select)
        if system.method is None:
            return seconds
        if system.labels_raw_text:
            return seconds + self._labelling(system.method, self.speed(tagger))
        seconds += candidates * SECONDS_TO_MAKE
        if epochs := system.method.settings.get("epochs"):
            speed, steps = self.speed(tagger), int(epochs) * math.ceil(len(self.gold) / BATCH)
            seconds += LANGUAGE_MODEL_STEP * (steps * speed.step + candidates * speed.sentence) + 2 * speed.start
        return seconds

    def _labelling(self, method: MethodSettings, speed: Speed) -> float:
        """Seconds to label the raw text, and to train the teacher that does it, if there is one.

        Args:
            speed: Speed of the tagger that labels if the method names neither a model nor a teacher.
        """
        if "model" in method.settings:
            return len(self.raw) * float(self._once(method, lambda: annotator_speed(method, self.gold, self.raw)))
        seconds = 0.0
        if settings := dict(method.settings.get("teacher", {})):
            name = settings.pop("method", registry.DEFAULTS["tagger"])
            teacher = MethodSettings(name, registry.defaults("tagger", name), "tagger").with_changes(settings)
            speed = self._speed(teacher)
            seconds = speed.start + _seconds(speed, teacher, len(self.gold))
        return seconds + speed.start + len(self.raw) * speed.sentence

    def _selecting(self, selector: MethodSettings, candidates: int, system: System) -> float:
        """Maximum number of seconds of a selector: self-training may stop before its last step.

        Args:
            system: The system whose tagger judges the candidates.
        """
        speed = self.speed(system)
        pass_seconds = speed.start + candidates * speed.sentence
        if selector.method != "self_training":
            return pass_seconds
        settings = {**registry.defaults("select", selector.method), **selector.settings}
        training_seconds = _seconds(speed, self.recipe.tagger_of(system), len(self.gold))
        return float(settings["steps"] * (training_seconds + settings["passes"] * pass_seconds))

    def total(self, system: System) -> float:
        """Seconds of `making` and `training` for a system, without its base."""
        return self.making(system) + self.training(system)


def estimates(
    recipe: Recipe,
    corpora: Mapping[str, Corpus],
    threads: int | None = None,
    speeds: dict[str, Any] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, float]:
    """Time a few steps, and estimate the seconds of each system for a seed, without its base.

    Args:
        corpora: Corpora by split, as a run reads them.
        threads: Threads of the process that runs the systems; None takes those of this process.
        speeds: Timings of other recipes; those of this one are added.
        say: See `RunTime`.
    """
    train = sorted(corpora["train"], key=lambda sentence: not sentence.entities)  # nothing is timed without entities
    size, dev_size = (  # applies to each language with its own file
        count and count * len(recipe.data.files(split))
        for split, count in (("train", recipe.sample.size), ("dev", recipe.sample.dev_size))
    )
    folds = recipe.sample.folds
    gold = train[: size or (len(train) * (folds - 1) // folds if folds else len(train))]
    dev_count = dev_size or len(corpora["dev"])
    times = RunTime(recipe, gold, corpora["raw"].sentences, dev_count, {} if speeds is None else speeds, say=say)
    scored_count = len(train) - len(gold) if folds else len(corpora["test"])
    with using_threads(threads):
        return {s.name: times.total(s) + times.scoring(s, scored_count) for s in recipe.systems}


def _seconds(speed: Speed, tagger: MethodSettings, sentences: int) -> float:
    return steps_of(tagger, sentences) * speed.step_of(batch_size(tagger.settings))


def steps_of(tagger: MethodSettings, sentences: int) -> int:
    """The number of training steps of a tagger."""
    settings = tagger.settings
    steps_per_epoch = math.ceil(sentences / batch_size(settings))
    if settings.get("steps"):
        return int(settings["steps"])
    if settings.get("epochs"):
        return int(settings["epochs"]) * steps_per_epoch
    cls: type[Tagger] = registry.get("tagger", tagger.method)
    return max(cls.MIN_STEPS, cls.MIN_EPOCHS * steps_per_epoch)


def batch_size(settings: Mapping[str, Any]) -> int:
    """The number of sentences in a training step, from a tagger's settings."""
    return int(settings.get("batch_size") or BATCH)
