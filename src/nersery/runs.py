"""A run: a recipe carried out in a folder, for each seed and each arm, with the baseline beside them.

Every stage leaves a file that appears whole or not at all, so the same command goes on where it stopped::

    run.json                            the recipe, hashes of the inputs, versions
    seed-0/sample/{train,dev}.jsonl     what was drawn, and ids.txt
    seed-0/gold/…                       the baseline: the tagger on gold sentences alone
    seed-0/ARM/generated.jsonl          what the method made; what it rejected lies beside it
    seed-0/ARM/1-agreement.jsonl        what each selector kept, with scores; rejects beside it
    seed-0/ARM/train.jsonl              gold and kept sentences: the corpus
    seed-0/ARM/tagger/                  trained on it
    seed-0/ARM/predicted.jsonl, result.json
    report.{json,md,html}
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nersery
from nersery import io, registry
from nersery.augment.base import Augmenter, tasks
from nersery.augment.base import step as augment_step
from nersery.data import Corpus, Sentence
from nersery.errors import DataError, Problem, SettingsError
from nersery.evaluate.report import write_report
from nersery.evaluate.scores import score
from nersery.loop import FileJob, content_hash, differences, files_in, write_atomic
from nersery.progress import Progress
from nersery.recipe import Arm, MethodSettings, Recipe
from nersery.results import build_report, versions
from nersery.sampling import sample
from nersery.select.base import Selector
from nersery.select.base import step as select_step
from nersery.tagger.base import Tagger, load_tagger

SPLITS = ("train", "dev", "test")


@dataclass
class Run:
    """A recipe in its folder.

    Args:
        recipe: Checked by `nersery.recipe.load`.
        folder: Made when it is not there; a folder of another run is refused.
        quiet: Show no progress.
    """

    recipe: Recipe
    folder: Path
    quiet: bool = False
    corpora: dict[str, Corpus] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    _done: int = field(default=0, init=False)

    def execute(self) -> dict[str, Any]:
        """Carry out what is not done yet, write the report and return it.

        Raises:
            DataError: When the files cannot be used; before anything runs.
            SettingsError: When the folder belongs to another run.
        """
        self.read_corpora()
        self._claim_folder()
        for seed in self.recipe.seeds:
            for arm in self.recipe.arms:
                if not self.path(seed, arm, "result.json").exists():
                    self._run_arm(seed, arm)
                self._done += 1
            if not self.recipe.keep_taggers:
                for arm in self.recipe.arms:
                    shutil.rmtree(self.path(seed, arm, "tagger"), ignore_errors=True)
        report = build_report(self)
        write_report(report, self.folder)
        return report

    def path(self, seed: int, arm: Arm, *names: str) -> Path:
        """Where an arm's files of a seed lie."""
        return self.folder.joinpath(f"seed-{seed}", arm.name, *names)

    # --- before anything runs -----------------------------------------------------------------------------------

    def read_corpora(self) -> None:
        """Read all files and check that they fit together; every problem of every file is reported at once."""
        data = self.recipe.data
        problems: list[Problem] = []
        fixes: list[str] = []
        options = {key: value for key, value in asdict(data).items() if key not in SPLITS}
        options["repair"] = tuple(options["repair"])
        for split in SPLITS:
            name = getattr(data, split)
            try:
                self.corpora[split] = self._read(split, name, options) if name else Corpus()
            except DataError as error:
                problems += error.problems
                fixes.append(error.fix)
        if not problems:
            problems += self._label_problems()
        if problems:
            raise DataError(problems, fix=" ".join(dict.fromkeys(filter(None, fixes))))
        self.notes += [*self._type_notes(), *self._overlap_notes()]
        for note in self.notes:
            self._say(f"note: {note}")

    def _read(self, split: str, name: str, options: dict[str, Any]) -> Corpus:
        source = io.open_corpus(self.recipe.path(name), io.ReadOptions(**options))
        corpus = Corpus(source)
        self._say(f"{split}: {name} ({source.description}), {len(corpus)} sentences")
        if source.repaired:
            counts = ", ".join(f"{repair} {count}" for repair, count in sorted(source.repaired.items()))
            self.notes.append(f"{split} was repaired as asked: {counts}")
        if source.rejects:
            self.notes.append(f"{split}: {len(source.rejects)} sentences were rejected by the repair drop-sentence")
        return corpus

    def _label_problems(self) -> list[Problem]:
        problems = [
            Problem(f"the {split} file has no sentence", file=getattr(self.recipe.data, split))
            for split in SPLITS
            if getattr(self.recipe.data, split) and not self.corpora[split]
        ]
        problems += [
            Problem(f"no sentence of the {split} file has an entity", file=getattr(self.recipe.data, split))
            for split in ("train", "test")
            if self.corpora[split] and not self.corpora[split].types
        ]
        train, test = set(self.corpora["train"].types), set(self.corpora["test"].types)
        if train and test and not train & test:
            problems.append(
                Problem(
                    f"test has the types {', '.join(sorted(test))}, train has {', '.join(sorted(train))}: none of them",
                    file=self.recipe.data.test,
                )
            )
        size = self.recipe.sample.size
        if size is not None and size > len(self.corpora["train"]):
            problems.append(Problem(f"sample.size is {size}, but train has {len(self.corpora['train'])} sentences"))
        return problems

    def _type_notes(self) -> list[str]:
        known = set(self.corpora["train"].types)
        notes = []
        for split in ("dev", "test"):
            counts = Counter(e.type for s in self.corpora[split] for e in s.entities if e.type not in known)
            if counts:
                listed = ", ".join(f"{type_} ({count} mentions)" for type_, count in sorted(counts.items()))
                notes.append(f"{split} has types that train lacks, so they count as missed: {listed}")
        return notes

    def _overlap_notes(self) -> list[str]:
        train = {sentence.words for sentence in self.corpora["train"]}
        notes = []
        for split in ("dev", "test"):
            shared = sum(sentence.words in train for sentence in self.corpora[split])
            if shared:
                notes.append(
                    f"{shared} of {len(self.corpora[split])} {split} sentences also stand in train, word for word"
                )
        return notes

    def identity(self) -> dict[str, Any]:
        """What the results depend on; a folder belongs to one identity."""
        recipe = self.recipe
        names = {split: name for split in SPLITS if (name := getattr(recipe.data, split))}
        methods = [
            recipe.tagger,
            *(m for arm in recipe.arms for m in (arm.augment, *arm.select) if m is not None),
        ]
        return {
            "nersery": nersery.__version__,
            "recipe": recipe.as_dict(),
            "inputs": {split: content_hash(recipe.path(name)) for split, name in names.items()},
            "files": {m.settings[key]: digest for m in methods for key, digest in files_in(m.settings).items()},
        }

    def _claim_folder(self) -> None:
        """Refuse a folder that holds something else; more seeds or arms than before are welcome."""
        record = self.folder / "run.json"
        identity = json.loads(json.dumps(self.identity()))
        if record.exists():
            there = json.loads(record.read_text("utf-8"))
            there.pop("versions", None)
            if difference := differences(there, _without_additions(identity, there)):
                raise SettingsError(
                    f"{self.folder} holds a run with other settings:\n{difference}\n"
                    "Choose another folder (--out), or repeat the settings to go on with this one"
                )
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise SettingsError(f"{self.folder} is not empty and holds no run. Choose another folder (--out)")
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {**identity, "versions": versions()}
        write_atomic(record, json.dumps(content, ensure_ascii=False, indent=2) + "\n")

    # --- one arm of one seed ------------------------------------------------------------------------------------

    def _run_arm(self, seed: int, arm: Arm) -> None:
        gold, dev = self.sampled(seed)
        kept = Corpus() if arm.augment is None else self._select(seed, arm, gold, self._generate(seed, arm, gold))
        if arm.augment is not None and not kept:
            self._say(f"note: {arm.name}, seed {seed}: nothing was kept, so this is gold only")
        train = [*gold.sentences * arm.gold_copies, *kept]
        self._write(Corpus([*gold, *kept]), self.path(seed, arm, "train.jsonl"))
        tagger, history = self.tagger(seed, arm, train, dev)
        scores = score(self.corpora["test"], self._predict(seed, arm, tagger))
        result = {
            "scores": scores.as_dict(),
            "train_sentences": len(train),
            "training": {"seed": seed, **history},
        }
        write_atomic(self.path(seed, arm, "result.json"), json.dumps(result, ensure_ascii=False, indent=1) + "\n")
        self._say(f"{self._label(seed, arm, 'test')}: F1 {100 * scores.micro.f1:.1f}")

    def sampled(self, seed: int) -> tuple[Corpus, Corpus]:
        """The gold and dev sentences of a seed, drawn once and written down."""
        folder = self.folder / f"seed-{seed}" / "sample"
        settings = self.recipe.sample
        drawn = {}
        for split, size, protocol in (
            ("train", settings.size, settings.protocol),
            ("dev", settings.dev_size, "random"),
        ):
            path = folder / f"{split}.jsonl"
            if not path.exists():
                corpus = self.corpora[split]
                if size is not None and size < len(corpus):
                    corpus = sample(corpus, size, protocol, seed)
                self._write(corpus, path)
                write_atomic(folder / f"{split}.ids.txt", "".join(f"{sentence.id}\n" for sentence in corpus))
            drawn[split] = io.read(path)
        return drawn["train"], drawn["dev"]

    def generation_arm(self, arm: Arm) -> Arm:
        """The first arm that generates the same sentences; its file serves both."""
        return next(other for other in self.recipe.arms if other.makes_the_same_as(arm))

    def _generate(self, seed: int, arm: Arm, gold: Corpus) -> Corpus:
        assert arm.augment is not None
        path = self.path(seed, self.generation_arm(arm), "generated.jsonl")
        if not path.exists():
            method: Augmenter = registry.create("augment", arm.augment.method, arm.augment.settings)
            method.fit(gold)
            with self._progress(seed, arm, "generate", len(gold) * arm.copies) as progress:
                self._job(path, seed, arm).run(tasks(gold, arm.copies), augment_step(method, seed), progress=progress)
        return io.read(path)

    def _select(self, seed: int, arm: Arm, gold: Corpus, candidates: Corpus) -> Corpus:
        for number, settings in enumerate(arm.select, start=1):
            path = self.path(seed, arm, f"{number}-{settings.method}.jsonl")
            if not path.exists():
                selector = self._selector(settings, seed, gold)
                selector.survey(candidates)
                with self._progress(seed, arm, settings.method, len(candidates)) as progress:
                    self._job(path, seed, arm).run(candidates, select_step(selector), progress=progress)
            candidates = io.read(path)
        return candidates

    def _selector(self, settings: MethodSettings, seed: int, gold: Corpus) -> Selector:
        selector: Selector = registry.create("select", settings.method, settings.settings)
        held_out = [*self.corpora["dev"], *self.corpora["test"]]
        baseline = self.recipe.arms[0]
        selector.fit(
            gold,
            held_out=held_out,
            tagger=lambda: self.tagger(seed, baseline, gold, self.sampled(seed)[1])[0],
        )
        return selector

    def tagger(
        self, seed: int, arm: Arm, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> tuple[Tagger, dict[str, Any]]:
        """An arm's tagger and the course of its training; trained when it is not there."""
        folder = self.path(seed, arm, "tagger")
        if not folder.exists():
            tagger: Tagger = registry.create("tagger", self.recipe.tagger.method, self.recipe.tagger.settings)
            with self._progress(seed, arm, "train") as progress:
                tagger.fit(train, dev, seed=seed, progress=progress)
            unfinished = folder.with_name("tagger.part")
            shutil.rmtree(unfinished, ignore_errors=True)
            tagger.save(unfinished)
            os.replace(unfinished, folder)
        tagger = load_tagger(folder)
        return tagger, tagger.history

    def _predict(self, seed: int, arm: Arm, tagger: Tagger) -> Corpus:
        path = self.path(seed, arm, "predicted.jsonl")
        if not path.exists():
            test = self.corpora["test"]
            with self._progress(seed, arm, "predict", len(test)) as progress:
                self._job(path, seed, arm).run(test, tagger.predict, progress=progress)
        return io.read(path)

    # --- small things ------------------------------------------------------------------------------------------

    def _job(self, path: Path, seed: int, arm: Arm) -> FileJob:
        writer = io.writer("jsonl")
        return FileJob(path, writer.encode, io.reject_line, {"seed": seed, "arm": asdict(arm)}, writer.header)

    def _write(self, corpus: Corpus, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        io.write(corpus, path)

    def _label(self, seed: int, arm: Arm, stage: str) -> str:
        total = len(self.recipe.seeds) * len(self.recipe.arms)
        return f"[{self._done + 1}/{total}] seed {seed} · {arm.name} · {stage}"

    def _progress(self, seed: int, arm: Arm, stage: str, total: int | None = None) -> Progress:
        return Progress(self._label(seed, arm, stage), total, quiet=self.quiet)

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)


def _without_additions(identity: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """The identity less what it merely adds to the one in the folder: seeds, arms, words about itself."""
    old, new = there["recipe"], dict(identity["recipe"])
    if set(old["seeds"]) <= set(new["seeds"]):
        new["seeds"] = old["seeds"]
    if all(arm in new["arms"] for arm in old["arms"]):
        new["arms"] = old["arms"]
    for key in ("description", "keep_taggers", "evaluate"):
        new[key] = old[key]
    for split in SPLITS:  # a file is the same by its content, wherever it lies
        new["data"] = {**new["data"], split: old["data"][split]}
    old_files = {name: digest for name, digest in identity["files"].items() if name in there["files"]}
    return {**identity, "recipe": new, "files": old_files}
