"""A run: executes a recipe in a folder, for each seed and each system, including the baseline.

Every stage writes its file as a whole or not at all, so the same command resumes. The files are listed in
`nersery.experiments.run_folder`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from nersery import io
from nersery.annotate.base import AnnotateStage
from nersery.augment.base import AugmentStage
from nersery.core import registry
from nersery.core.errors import DataError
from nersery.core.files import is_missing, locked, remove_folder, write_json
from nersery.core.outcome import Step
from nersery.core.progress import Progress, print_line
from nersery.core.sentence import Corpus, Sentence
from nersery.core.training_context import Training
from nersery.evaluate.scores import all_scores
from nersery.experiments.clock import Clock
from nersery.experiments.fingerprint import (
    began_with,
    changed_versions,
    check_computer,
    check_folder,
    fingerprint_of,
    remove_abandoned,
    versions,
)
from nersery.experiments.grid import Settings, choose, combinations, described, grid_record
from nersery.experiments.inputs import read_inputs
from nersery.experiments.jobs import Cells, estimated_time, failure_text, threads_of_jobs
from nersery.experiments.prerequisites import check_prerequisites
from nersery.experiments.results import NOTHING_LEARNT, build_report
from nersery.experiments.run_folder import RunFolder
from nersery.experiments.sharing import take_first_copies, take_over_labels, with_more_copies
from nersery.experiments.systems import GOLD, System
from nersery.experiments.teachers import remove_training, teachers_folder, trained_once, trained_teacher
from nersery.experiments.voting import each_once, voted
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import JobOptions, StageJob, corpus_job
from nersery.report.model import Report
from nersery.report.rendering import write_report
from nersery.select.base import SelectStage
from nersery.taggers.base import Tagger, strict_f1
from nersery.taggers.components.second_stage import changed, fit_second_stage, require_known_types


@dataclass
class Run(RunFolder):
    """Runs a recipe in its folder.

    Args:
        recipe: Checked by `nersery.experiments.recipe.load`.
        folder: Created if missing; the folder of another run is refused.
        quiet: Show no progress.
        jobs: Processes that share the cells, see `nersery.experiments.jobs`.
        threads: Of each job; None takes those of this process, or for several jobs `threads_of_jobs`.
    """

    quiet: bool = False
    jobs: int = 1
    threads: int | None = None
    _done: int = field(default=0, init=False)
    _abandoned: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.threads is None:
            self.threads = threads_of_jobs([self.folder], self.jobs)

    def execute(self) -> Report:
        """Run all unfinished stages and write the report.

        Raises:
            DataError: When the files cannot be used; before anything runs.
            SettingsError: When the folder belongs to another run.
        """
        failures: list[Exception] = []
        with self.started() as fingerprint:
            if not self.quiet:
                self._note(estimated_time(self))
            cells = Cells([self], lambda _: True)
            for cell, error in cells.results(self.jobs):
                if error is not None:
                    failures.append(error)
                    self._note(f"note: {cell} failed: {failure_text(error)}")
                elif not failures and cells.is_over(0, cell.seed):
                    self.remove_taggers(cell.seed)
            if failures:
                raise failures[0]
            report = build_report(self, fingerprint["inputs"])
            write_report(report, self.folder)
        return report

    @contextmanager
    def started(self) -> Iterator[dict[str, Any]]:
        """Check everything and lock the folder; within it, `run_system` may be called. Gives the run's fingerprint."""
        fingerprint = self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            for note in remove_abandoned(self.folder, self._abandoned):
                self._note(f"note: {note}")
            Clock(self.folder).resume()
            now = versions(self.threads)
            first = began_with(self.folder) or now
            if other := changed_versions(first, now):
                self._note(f"note: this run continues with {other}")
            write_json(self.folder / "run.json", {**fingerprint, "versions": first})
            for seed in self.recipe.seeds if self.jobs > 1 else ():
                self.sampled(seed)  # here, because two jobs must not draw them at once
            yield fingerprint

    # --- before anything runs -----------------------------------------------------------------------------------

    def check(self) -> dict[str, Any]:
        """Check files, folder and models before anything runs.

        Returns:
            The fingerprint of the run.

        Raises:
            NerseryError: Of the kind that fits what is wrong.
        """
        self.read_corpora()
        self._abandoned = check_folder(self.folder, fingerprint := fingerprint_of(self.recipe))
        results = (
            self.path(seed, system, "result.json") for seed in self.recipe.seeds for system in self.recipe.systems
        )
        if not all(path.exists() for path in results):
            check_computer(self.folder, self.threads)
        types = {type_ for split in ("train", "dev") for type_ in self.corpora[split].types}
        check_prerequisites(self.recipe, types)
        return fingerprint

    def read_corpora(self) -> None:
        """Read all files and report suspicious data.

        Raises:
            DataError: When they cannot be used.
        """
        self.corpora, self.notes = read_inputs(self.recipe, self._note)
        for note in self.notes:
            self._note(f"note: {note}")

    # --- one system of one seed ------------------------------------------------------------------------------------

    def remove_taggers(self, seed: int) -> None:
        """Remove the taggers of a seed whose systems are all done, unless the recipe keeps them."""
        if not self.recipe.keep_taggers:
            for system in self.recipe.systems:
                remove_folder(self.path(seed, system, "tagger"))
            remove_folder(teachers_folder(self.folder, seed))

    def run_system(self, seed: int, system: System) -> None:
        """Train and score one system, unless that is done."""
        if not self.path(seed, system, "result.json").exists():
            with Clock(self.folder).running(system.name, seed):
                self._run_system(seed, system)
        self._done += 1

    def carry_out(self, seed: int, system: str, done: int) -> None:
        """As `run_system`, in a job: the process that has started it measures the time.

        Args:
            done: How many cells have begun before.
        """
        self._done = done
        self._run_system(seed, self.recipe.system(system))

    def _run_system(self, seed: int, system: System) -> None:
        gold = self.sampled(seed)[0]
        before, kept_itself = self._parts(seed, system, gold)
        kept, own = each_once(before, kept_itself), len(kept_itself)
        if not own and system.makes_sentences and system.gold_copies:
            self._note(
                f"note: {system.name}, seed {seed}: no sentence was kept, so this equals {system.base or 'gold only'}"
            )
        train = system.weigh(gold, kept)
        io.write([*(gold if system.gold_copies else ()), *kept], self.path(seed, system, "train.jsonl"))
        if any(sentence.entities for sentence in train):
            tagger, history = self.tagger(seed, system, train)
            predicted = self._predict(seed, system, tagger.predict)
        else:
            self._note(f"note: {system.name}, seed {seed}: {NOTHING_LEARNT}")
            history = {"untrained": True}
            predicted = self._predict(seed, system, lambda rows: [row.with_entities(()) for row in rows])
        result: dict[str, Any] = {
            "scores": all_scores(self.test(seed), predicted),
            "train_sentences": len(train),
            "kept_sentences": own,
            "training": {"seed": seed, **history},
            "versions": versions(),
        }
        write_json(self.path(seed, system, "result.json"), result)
        self._note(f"{self._label(seed, system, 'test')}: F1 {100 * result['scores']['micro']['f1']:.1f}")

    def _kept(self, seed: int, system: System, gold: Corpus) -> list[Sentence]:
        """All new sentences that a system adds to gold: those of its base, then its own.

        Raw text that both have labelled is there once, with the labels of the later one.
        """
        return each_once(*self._parts(seed, system, gold))

    def _parts(self, seed: int, system: System, gold: Corpus) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
        """The new sentences of the system's base, and the sentences that it generated and kept itself."""
        before = self._kept(seed, self.recipe.system(system.base), gold) if system.base else []
        if not system.makes_sentences:
            return before, []
        start = Corpus([*gold, *before])
        return before, self._select(seed, system, start, self._generate(seed, system, start))

    def _generate(self, seed: int, system: System, start: Corpus) -> Corpus:
        path = self.generated(seed, system)
        if is_missing(path) and not self._is_shared(path, seed, system):
            if system.method is None:
                merged = self._merged(seed, system)
                with self._progress(seed, system, "generate", len(merged)) as progress:
                    corpus_job(path, self._made_by(seed, system)).run(merged, list, progress=progress)
            else:
                self._run_stage(path, seed, system, *self._stage(seed, system, start), "generate", "learn")
        remove_training(path)
        return io.read(path)

    def _run_stage(
        self, path: Path, seed: int, system: System, stage: Stage[Any, Any], rows: Corpus, label: str, learn: str
    ) -> None:
        StageJob(
            stage,
            io.InMemory(rows),
            path,
            JobOptions(quiet=self.quiet),
            self._label(seed, system, label),
            self._made_by(seed, system),
            self._label(seed, system, learn),
        ).run()

    def _is_shared(self, path: Path, seed: int, system: System) -> bool:
        """Whether another seed or system has made the sentences; if so, its files are copied."""
        if take_over_labels(self, seed, system):
            return True
        if (larger := with_more_copies(self.recipe, system)) is None:
            return False
        gold = self.sampled(seed)[0]
        before = self._kept(seed, self.recipe.system(larger.base), gold) if larger.base else []
        self._generate(seed, larger, Corpus([*gold, *before]))
        return take_first_copies(self.generated(seed, larger), path, system.copies)

    def _stage(self, seed: int, system: System, start: Corpus) -> tuple[Stage[Any, Any], Corpus]:
        """The stage of a system's method, and the rows that it starts from."""
        assert system.method is not None
        name, settings, raw = system.method.method, system.method.settings, self.corpora["raw"]
        training = self._training(seed, system)
        if system.labels_raw_text:
            return AnnotateStage(name, settings, start, training, raw), raw
        taggers: dict[str, Any] = {"tagger": training.tagger, "new_tagger": training.new_tagger}
        return AugmentStage(name, settings, start, training.dev, system.copies, seed, taggers), start

    def _merged(self, seed: int, system: System) -> list[Sentence]:
        """The sentences that the merged systems kept, each once.

        They vote with what they have labelled themselves, not with what they go on from.
        """
        gold = self.sampled(seed)[0]
        parts = [self._parts(seed, self.recipe.system(name), gold) for name in system.merge]
        if not system.vote:
            return each_once(*(sentences for part in parts for sentences in part))
        return each_once(*(before for before, _ in parts), voted(sentence for _, own in parts for sentence in own))

    def _training(self, seed: int, system: System) -> Training:
        """What a method or selector needs to train a model."""
        tagger, dev = partial(self._tagger_before, seed, system), self.sampled(seed)[1]
        teacher = partial(trained_teacher, self.folder, self.path(seed, system), dev, seed)
        return Training(dev, seed, tagger=tagger, new_tagger=partial(self._new_tagger, system), teacher=teacher)

    def _select(self, seed: int, system: System, start: Corpus, candidates: Corpus) -> Corpus:
        held_out = [*self.corpora["dev"], *self.test(seed)]
        for number, settings in enumerate(system.select, start=1):
            path = self.path(seed, system, f"{number}-{settings.method}.jsonl")
            if is_missing(path):
                gold = [sentence for sentence in start if sentence.id not in candidates.by_id]  # others are judged
                history = partial(write_json, path.with_suffix(".history.json"))
                stage = SelectStage(
                    settings.method,
                    settings.settings,
                    gold,
                    held_out,
                    candidates,
                    self._training(seed, system),
                    history,
                )
                name = settings.method
                self._run_stage(path, seed, system, stage, candidates, name, f"{name}: learn")
            remove_training(path)
            candidates = io.read(path)
        return candidates

    def _new_tagger(self, system: System, **own: Any) -> Tagger:
        """An untrained tagger of a system, with some settings replaced."""
        chosen = self.recipe.tagger_of(system)
        tagger: Tagger = registry.create("tagger", chosen.method, {**chosen.settings, **changed(chosen.settings, own)})
        return tagger

    def _tagger_before(self, seed: int, system: System) -> Tagger:
        """The tagger of the system's base, or of the baseline, for methods that need one."""
        before, gold = self.recipe.system(system.base or GOLD), self.sampled(seed)[0]
        train = before.weigh(gold, self._kept(seed, before, gold))
        if not any(sentence.entities for sentence in train):
            raise DataError(
                f'"{system.name}" asks for the tagger of "{before.name}", which has none with seed {seed}: '
                f"{NOTHING_LEARNT}",
                fix="let that system train on gold too (gold_copies = 1), or loosen its method and selectors",
            )
        return self.tagger(seed, before, train)[0]

    def tagger(self, seed: int, system: System, train: Sequence[Sentence]) -> tuple[Tagger, dict[str, Any]]:
        """A system's tagger and the history of its training; trained if it does not exist."""

        def fit(training: Path) -> Tagger:
            return self._fitted(seed, system, train, self._chosen(seed, system, train), "train", training)

        tagger = trained_once(self.path(seed, system, "tagger"), fit, self.recipe.tagger_of(system).settings)
        return tagger, tagger.history

    def _fitted(
        self, seed: int, system: System, train: Sequence[Sentence], own: Settings, stage: str, folder: Path
    ) -> Tagger:
        """A trained tagger of a system, with some settings replaced, after the second stage if there is one."""
        gold, dev = self.sampled(seed)
        tagger = self._new_tagger(system, **own)
        goes_on = system.second_stage and any(sentence.id not in gold.by_id for sentence in train)
        if goes_on:
            require_known_types(gold, {entity.type for sentence in train for entity in sentence.entities})
        with self._progress(seed, system, stage) as progress:
            tagger.fit(train, dev, seed=seed, progress=progress, folder=folder)
            if goes_on:
                fit_second_stage(
                    tagger, gold.sentences, system.second_stage, Training(dev, seed, progress, folder / "second_stage")
                )
        return tagger

    def _chosen(self, seed: int, system: System, train: Sequence[Sentence]) -> Settings:
        """The system's settings from the grid, for all seeds: the best ones on dev with the first seed."""
        tried = combinations(self.recipe.grid, self.recipe.tagger_of(system).settings)
        dev = self.sampled(seed)[1]

        def f1(number: int, own: Settings) -> float:
            stage, folder = f"grid {number + 1}/{len(tried)}", self.path(seed, system, f"grid-{number}.training")
            tagger = self._fitted(seed, system, train, own, stage, folder)
            shutil.rmtree(folder, ignore_errors=True)
            found = strict_f1(dev, tagger.predict(dev))
            self._note(f"{self._label(seed, system, stage)} · {described(own)}: F1 on dev {100 * found:.1f}")
            return found

        return choose(grid_record(self.folder, system), tried, f1, seed) if self.recipe.grid else {}

    def _predict(self, seed: int, system: System, predict: Step[Sentence]) -> Corpus:
        path = self.path(seed, system, "predicted.jsonl")
        if is_missing(path):
            test = self.test(seed)
            with self._progress(seed, system, "predict", len(test)) as progress:
                corpus_job(path, self._made_by(seed, system)).run(test, predict, progress=progress)
        return io.read(path)

    # --- small things ------------------------------------------------------------------------------------------

    def _made_by(self, seed: int, system: System) -> dict[str, Any]:
        return {"seed": seed, "system": asdict(system)}

    def _label(self, seed: int, system: System, stage: str) -> str:
        total = len(self.recipe.seeds) * len(self.recipe.systems)
        return f"[{self._done + 1}/{total}] seed {seed} · {system.name} · {stage}"

    def _progress(self, seed: int, system: System, stage: str, total: int | None = None) -> Progress:
        return Progress(self._label(seed, system, stage), total, quiet=self.quiet)

    def _note(self, text: str) -> None:
        if not self.quiet:
            print_line(text, end="\n")
