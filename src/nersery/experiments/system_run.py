"""One system of a run with one seed: its sentences are made and selected, its tagger is trained and scored.

Every stage writes its file completely or not at all, so repeating the command resumes the run. The files are listed in
`nersery.experiments.run_state.run_folder`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from nersery import io
from nersery.annotate.base import AnnotateStage
from nersery.augment.base import AugmentStage
from nersery.core.errors import DataError
from nersery.core.majority import last_of_each_id, merged_by_vote
from nersery.core.outcome import BatchFunction
from nersery.core.progress import Progress
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.system.files import is_missing, remove_folder, unfinished_path, write_json
from nersery.core.training_context import Training
from nersery.evaluate.scores import all_scores
from nersery.experiments.grid import Settings, choose, combinations, described, grid_record
from nersery.experiments.run_state import sharing
from nersery.experiments.run_state.clock import Clock
from nersery.experiments.run_state.made_files import damaged, read_made, read_result
from nersery.experiments.run_state.run_folder import NOTHING_LEARNT, RunFolder
from nersery.experiments.run_state.trained_taggers import trained_once, trained_teacher
from nersery.experiments.run_state.versions import versions
from nersery.experiments.systems import System
from nersery.io.jsonl import rejects_of
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import StageJob, corpus_job
from nersery.pipeline.stage_options import JobOptions
from nersery.report.system_names import GOLD, label_of
from nersery.select.base import SelectStage
from nersery.taggers.base import Tagger, strict_f1, training_folder
from nersery.taggers.training.second_stage import fit_second_stage, require_known_types


@dataclass(frozen=True)
class SystemRun:
    """A system of a run with a seed. What it needs from other systems is made on demand."""

    run: RunFolder
    seed: int
    system: System

    @property
    def gold(self) -> Corpus:
        """The gold sentences of the seed."""
        return self.run.sampled(self.seed)[0]

    @property
    def dev(self) -> Corpus:
        """The sentences of dev."""
        return self.run.sampled(self.seed)[1]

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What identifies the jobs of this system, so that no job resumes another one."""
        return {"seed": self.seed, "system": asdict(self.system)}

    def path(self, *names: str) -> Path:
        """The path of one of the system's files."""
        return self.run.path(self.seed, self.system, *names)

    def other(self, name: str) -> SystemRun:
        """Another system with the same seed."""
        return replace(self, system=self.run.recipe.system(name))

    @property
    def is_done(self) -> bool:
        """Whether the system was scored and its files exist. Files that somebody has removed are made again.

        Raises:
            NerseryError: If the size of a file has changed since the system was scored.
        """
        result = self.path("result.json")
        if not all(path.exists() for path in (result, *self._files)):
            return False
        recorded, current = read_result(result).get("bytes", {}), self._sizes()
        for name in recorded.keys() & current.keys():
            if recorded[name] != current[name]:
                raise damaged(self.path(name.removesuffix(".rejects.jsonl")))
        return True

    @property
    def _files(self) -> list[Path]:
        """The system's files of sentences. The generated ones may be in the folder of another system."""
        names, system = ["train.jsonl", "predicted.jsonl"], self.system
        if not system.makes_sentences:
            return [self.path(name) for name in names]
        names += [sharing.selected_name(system, number) for number in range(1, len(system.select) + 1)]
        return [*map(self.path, names), self.run.generated(self.seed, system)]

    def _sizes(self) -> dict[str, int]:
        """The sizes in bytes of the files of sentences in the system's own folder, and of their rejects."""
        own_files = [path for path in self._files if path.parent == self.path()]
        with_rejects = [path for file in own_files for path in (file, rejects_of(file)) if path.exists()]
        return {path.name: path.stat().st_size for path in with_rejects}

    def execute(self) -> None:
        """Train and score the system, unless that is done, and measure the time."""
        if not self.is_done:
            with Clock(self.run.folder).running(self.system.name, self.seed):
                self.train_and_score()
        self.run.done += 1

    def train_and_score(self) -> None:
        """Make the missing files of the system. Its scores are written last."""
        system = self.system
        of_base, own_sentences = self.base_and_own()
        kept, own_count = last_of_each_id(of_base, own_sentences), len(own_sentences)
        if not own_count and system.note_if_empty:
            self._note(system.note_if_empty)
        train = system.training_sentences(self.gold, kept)
        io.write([*(self.gold if system.gold_copies else ()), *kept], self.path("train.jsonl"))
        if any(sentence.entities for sentence in train):
            tagger = self.trained(train)
            history = tagger.history
            predicted = self._predict(tagger.predict)
        else:
            self._note(NOTHING_LEARNT)
            history = {"untrained": True}
            predicted = self._predict(lambda rows: [row.with_entities(()) for row in rows])
        result: dict[str, Any] = {
            "scores": all_scores(self.run.test(self.seed), predicted),
            "train_sentences": len(train),
            "kept_sentences": own_count,
            "training": {"seed": self.seed, **history},
            "versions": versions(),
            "bytes": self._sizes(),
        }
        write_json(self.path("result.json"), result)
        self.run.say(f"{self._label('test')}: F1 {100 * result['scores']['micro']['f1']:.1f}")

    # --- its sentences ----------------------------------------------------------------------------------------------

    def kept(self) -> list[Sentence]:
        """All new sentences that the system adds to gold: those of its base, then its own.

        Raw text that both have labelled occurs once, with the labels of the later one.
        """
        return last_of_each_id(*self.base_and_own())

    def base_and_own(self) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
        """The new sentences of the system's base, and the sentences that it generated and kept itself."""
        return self.kept_by_base, self._select(self.generate()) if self.system.makes_sentences else []

    @cached_property
    def kept_by_base(self) -> list[Sentence]:
        """The new sentences of the system's base."""
        return self.other(self.system.base).kept() if self.system.base else []

    @cached_property
    def start(self) -> Corpus:
        """The sentences that the system's method and selectors start from: gold, and the new ones of its base."""
        return Corpus([*self.gold, *self.kept_by_base])

    def generate(self) -> Corpus:
        """The sentences that the system generated, before selection. They are generated now if they do not exist."""
        path, start, method = self.run.generated(self.seed, self.system), self.start, self.system.method
        if _must_make(path) and not self._take_over_shared(path):
            if method is None:
                self._write(path, self._merged(), list, "generate")  # a function that changes nothing
            else:
                self._run_stage(path, *self._stage(start), "generate", "learn")
        remove_folder(training_folder(path))  # a kill may have left it after the end of the job
        rows = len(self.run.corpora["raw"]) if self.system.labels_raw_text else len(start) * self.system.copies
        return read_made(path, None if method is None else rows)

    def _run_stage(self, path: Path, stage: Stage[Any, Any], rows: Corpus, label: str, learn: str) -> None:
        options = JobOptions(quiet=self.run.quiet)
        label, learn = self._label(label), self._label(learn)
        StageJob(stage, io.InMemory(rows), path, label, learn, self.fingerprint, options).run()

    def _take_over_shared(self, path: Path) -> bool:
        """Take the sentences of another seed or system that makes the same ones. Returns whether there were any."""
        if sharing.take_over_labels(self.run, self.seed, self.system):
            return True
        if (larger := sharing.with_more_copies(self.run.recipe, self.system)) is None:
            return False
        self.other(larger.name).generate()
        assert larger.method is not None
        larger_path = self.run.generated(self.seed, larger)
        return sharing.take_first_copies(larger_path, path, larger.method.method, self.system.copies)

    def _stage(self, start: Corpus) -> tuple[Stage[Any, Any], Corpus]:
        """The stage of the system's method, and the rows that it starts from."""
        system = self.system
        assert system.method is not None
        name, settings, raw = system.method.method, system.method.settings, self.run.corpora["raw"]
        training = self._training()
        if system.labels_raw_text:
            return AnnotateStage(name, settings, gold=start, training=training, raw=raw), raw
        return AugmentStage(name, settings, gold=start, training=training, copies=system.copies), start

    def _merged(self) -> list[Sentence]:
        """The sentences that the merged systems kept, each once.

        They vote with the labels that they made themselves, not with those of their bases.
        """
        merged = [self.other(name).base_and_own() for name in self.system.merge]
        if not self.system.vote:
            return last_of_each_id(*(sentences for pair in merged for sentences in pair))
        return last_of_each_id(
            *(of_base for of_base, _ in merged), merged_by_vote(sentence for _, kept in merged for sentence in kept)
        )

    def _select(self, candidates: Corpus) -> Corpus:
        training = replace(self._training(), held_out=[*self.run.corpora["dev"], *self.run.test(self.seed)])
        for number, settings in enumerate(self.system.select, start=1):
            name = settings.method
            path = self.path(sharing.selected_name(self.system, number))
            if _must_make(path) and not sharing.take_over_selection(self.run, self.seed, self.system, number):
                gold = [s for s in self.start if s.id not in candidates.by_id]  # candidates do not count as gold
                stage = SelectStage(
                    name,
                    settings.settings,
                    gold=gold,
                    training=training,
                    candidates=candidates,
                    report_history=partial(write_json, sharing.history_of(path)),
                )
                self._run_stage(path, stage, candidates, name, f"{name}: learn")
            remove_folder(training_folder(path))
            candidates = read_made(path, len(candidates))
        return candidates

    # --- its taggers ------------------------------------------------------------------------------------------------

    def _training(self) -> Training:
        """What a method or selector needs to train a model."""
        teacher = partial(trained_teacher, self.run.folder, self.path())
        return Training(self.dev, self.seed, tagger=self._base_tagger, new_tagger=self._new_tagger, teacher=teacher)

    def _new_tagger(self, **changes: Any) -> Tagger:
        return self.run.recipe.tagger_of(self.system).with_changes(changes).create()

    def _base_tagger(self) -> Tagger:
        """The tagger of the system's base, or of the baseline, for methods that need one."""
        other = self.other(self.system.base or GOLD)
        train = other.system.training_sentences(self.gold, other.kept())
        if not any(sentence.entities for sentence in train):
            raise DataError(
                f'"{self.system.name}" needs the tagger of "{other.system.name}", which trained none with seed '
                f"{self.seed}: {NOTHING_LEARNT}",
                fix="let that system train on gold too (gold_copies = 1), or loosen its method and selectors",
            )
        return other.trained(train)

    def trained(self, train: Sequence[Sentence]) -> Tagger:
        """The system's tagger, trained now if it does not exist."""

        def fit(training: Path) -> Tagger:
            return self._fit_tagger(train, self._grid_settings(train), "train", training)

        return trained_once(self.path("tagger"), fit, self.run.recipe.tagger_of(self.system).settings)

    def _fit_tagger(self, train: Sequence[Sentence], changes: Settings, stage: str, folder: Path) -> Tagger:
        """A trained tagger, with some settings replaced, after the second stage if there is one."""
        gold, second = self.gold, self.system.second_stage
        tagger = self._new_tagger(**changes)
        has_second_stage = second and any(sentence.id not in gold.by_id for sentence in train)
        if has_second_stage:
            require_known_types(gold, types_in(train))
        with self._progress(stage) as progress:
            training = Training(self.dev, self.seed, progress, folder)
            tagger.fit(train, training)
            if has_second_stage:
                training = replace(training, folder=folder / "second_stage")
                tagger = fit_second_stage(tagger, gold.sentences, second, training)
        return tagger

    def _grid_settings(self, train: Sequence[Sentence]) -> Settings:
        """The system's settings from the grid. All seeds use those that are best on dev with the first seed."""
        trials = combinations(self.run.recipe.grid, self.run.recipe.tagger_of(self.system).settings)

        def f1(number: int, changes: Settings) -> float:
            stage, folder = f"grid {number + 1}/{len(trials)}", self.path(f"grid-{number}.training")
            tagger = self._fit_tagger(train, changes, stage, folder)
            shutil.rmtree(folder, ignore_errors=True)
            score = strict_f1(self.dev, tagger.predict(self.dev))
            self.run.say(f"{self._label(stage)} · {described(changes)}: F1 on dev {100 * score:.1f}")
            return score

        return choose(grid_record(self.run.folder, self.system), trials, f1, self.seed) if self.run.recipe.grid else {}

    def _predict(self, predict: BatchFunction[Sentence]) -> Corpus:
        path, test = self.path("predicted.jsonl"), self.run.test(self.seed)
        if _must_make(path):
            self._write(path, test, predict, "predict")
        return read_made(path, len(test))

    def _write(self, path: Path, rows: Sequence[Sentence], function: BatchFunction[Sentence], label: str) -> None:
        with self._progress(label, len(rows)) as progress:
            corpus_job(path, self.fingerprint).run(rows, function, progress=progress)

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _label(self, stage: str) -> str:
        recipe = self.run.recipe
        total = len(recipe.seeds) * len(recipe.systems)
        return f"[{self.run.done + 1}/{total}] seed {self.seed} · {label_of(self.system.name)} · {stage}"

    def _progress(self, stage: str, total: int | None = None) -> Progress:
        return Progress(self._label(stage), total, quiet=self.run.quiet)

    def _note(self, text: str) -> None:
        self.run.say(f"note: {self.system.name}, seed {self.seed}: {text}")


def _must_make(path: Path) -> bool:
    """Whether the file of a stage is missing. Rejects that are left over from it are removed."""
    if not is_missing(path):
        return False
    if not unfinished_path(path).exists():
        rejects_of(path).unlink(missing_ok=True)
    return True
