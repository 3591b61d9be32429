"""A grow job in its folder: plan, search, training on all sentences, results. A kill or Ctrl-C loses little.

The folder::

    grow.json              what the job depends on, its plan, and what was tried; grow.json.bak is a copy
    spent.txt              the seconds that it has worked, noted regularly
    data/                  the labelled, raw and test sentences that it uses
    search.toml, run/      the recipe with all systems, and the run that they are tried in
    tagger/                the best tagger
    corpus.{jsonl,conll}   gold sentences and those that were made for the tagger, with their origin
    recipe.toml            repeats the best system and gold only
    report.{json,md,html}
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.errors import SettingsError, checked_text, shown
from nersery.core.progress import print_line
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Range
from nersery.core.system.files import (
    as_path,
    content_hash,
    refuse_unwritable,
    refuse_within,
    remove_folder,
    write_atomic,
)
from nersery.core.system.job_records import (
    differences,
    has_record,
    other_settings_message,
    read_job_record,
    refuse_occupied,
    removed_folder_error,
    write_job_record,
)
from nersery.core.system.locks import locked
from nersery.core.text.definitions import check_texts
from nersery.core.text.word_lists import check_file
from nersery.core.version import __version__
from nersery.core.warnings import without_advice
from nersery.core.wording import either
from nersery.experiments.data.text_profile import profile
from nersery.experiments.execution.run_time import RunTime
from nersery.experiments.grow.budget import CAUTION, Budget, noted_seconds
from nersery.experiments.grow.expectation import better_encoders
from nersery.experiments.grow.final_training import FinalTraining
from nersery.experiments.grow.grow_data import GrowData, read_data, refuse_damaged, save_data
from nersery.experiments.grow.grow_result import GrowResult, remove_other_taggers, save_result
from nersery.experiments.grow.plan import Plan, make_plan, recipe_text
from nersery.experiments.grow.schedules import Schedule, with_last
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.trials import SystemTrial
from nersery.experiments.recipe import Recipe, load
from nersery.experiments.runner import Run
from nersery.io.input_files.text_file import TextFile
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.pipeline.stage_options import text_paths
from nersery.report.system_names import GOLD

SPENT_FILE = "spent.txt"
MAX_RAW_SENTENCES = 20_000
"""Maximum number of raw sentences that are used; the time for more is better spent on other work."""
MUCH_FASTER = 0.6
"""If gold only takes at most this share of its estimate on the first fold, other work has slowed down the timing."""


@torch_defaults()
def grow(
    train: str | Path | Sequence[str | Path],
    *,
    raw: str | Path | None = None,
    test: str | Path | None = None,
    output: str | Path = "runs/grow",
    minutes: float = 30,
    model: str = "",
    definitions: Mapping[str, str] | None = None,
    names: Mapping[str, str | Path] | None = None,
    language: str = "",
    quiet: bool = False,
) -> GrowResult:
    """Find the best tagger for labelled sentences, and raw text if there is any, within a time budget.

    Systems are compared by cross-validation on ``train``; the best one is then trained on all of it.

    Args:
        train: A file of labelled sentences, or several: the first ones, and those labelled since.
        raw: A file of raw text in the same language.
        test: A file of labelled sentences to score the result on; no choice depends on it.
        output: The folder of the results; the same call resumes after a kill.
        minutes: The time for everything, over all calls.
        model: An encoder or a tagger to try in addition to the bundled encoders.
        definitions: What types mean, for questions. Other types use those of `nersery list types`, or their name.
        names: For some types, files with one name per line, to look for in ``raw``.
        language: Of the text; detected if empty.
        quiet: Show no progress.

    Raises:
        DataError: If the files cannot be used.
        SettingsError: If the folder belongs to another job.
    """
    files = tuple(_input(path, "train") for path in (train if isinstance(train, list | tuple) else [train]))
    raw_file = None if raw in (None, "") else _input(raw, "raw")
    test_file = None if test in (None, "") else _input(test, "test")
    model = "" if model is None else checked_text(text_paths(model), "model")
    check_texts({} if definitions is None else definitions, "definitions")
    files_of = {} if names is None else names
    if not isinstance(files_of, Mapping) or not all(
        isinstance(type_, str) and isinstance(path, str | Path) for type_, path in files_of.items()
    ):
        raise SettingsError(f'names is {shown(names)}, expected a file for each type, e.g. {{"DRUG": "drugs.txt"}}')
    lists = {type_: str(as_path(path, "names")) for type_, path in files_of.items()}
    folder, options = as_path(output, "output"), io.ReadOptions(language=language)
    return GrowJob(
        files, folder, raw_file, test_file, model, options, minutes, quiet, definitions=definitions or {}, names=lists
    ).execute()


def _input(path: Any, name: str) -> str:
    if isinstance(path, Sentence) or (hasattr(path, "__iter__") and not isinstance(path, str | bytes)):
        raise SettingsError(
            f"{name} is {shown(path)}, expected the name of a file or folder, which a resumed job reads again. "
            f'Write it first: nersery.write(corpus, "{name}.jsonl")'
        )
    return io.input_path(path if isinstance(path, str) else as_path(path, name))


@dataclass
class GrowJob:
    """A grow job in its folder; see `grow`.

    Args:
        folder: Created if missing; the folder of another job is refused.
        options: How the files are read; its language is that of the text, empty to detect it.
        keep_taggers: Keep the tagger of each system and fold, to compare them.
    """

    train: tuple[str, ...]
    folder: Path
    raw: str | None = None
    test: str | None = None
    model: str = ""
    options: io.ReadOptions = field(default_factory=io.ReadOptions)
    minutes: float = 30
    quiet: bool = False
    keep_taggers: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    _speeds: dict[str, Any] = field(default_factory=dict, init=False)
    _record: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not self.train:
            raise SettingsError("there is no train file, expected one or more")
        for path in self.names.values():
            check_file(path)
        self.names = {type_: str(Path(path).absolute()) for type_, path in self.names.items()}
        for path in self._files().values():
            if path == "-" or Path(path).is_fifo():
                raise SettingsError(f"{path} is a pipe, expected a file: a resumed job reads it again")
            if not Path(path).exists():
                next(TextFile(path).lines())  # raises the reader's error
            refuse_within(self.folder, path)
        if self.model and self.model not in BUNDLED and Path(self.model).is_dir():
            self.model = str(Path(self.model).resolve())  # the job's own folder has a `tagger`, too
        if isinstance(self.minutes, bool) or self.minutes not in Range(0, without=(0,)):
            raise SettingsError(f"minutes is {shown(self.minutes)}, expected {Range(0, without=(0,))}")

    def fingerprint(self) -> dict[str, Any]:
        """What the result depends on besides the time."""
        hashes = {name: content_hash(path) for name, path in self._files().items()}
        given = {"definitions": dict(self.definitions), "names": dict(self.names)}
        more_settings = {name: values for name, values in given.items() if values}
        reading = asdict(self.options)
        return {"nersery": __version__, "files": hashes, "model": self.model, **more_settings, "reading": reading}

    def _files(self) -> dict[str, str]:
        more_train = {f"train {number}": name for number, name in enumerate(self.train[1:], start=2)}
        names = {f"names of {type_}": path for type_, path in self.names.items()}
        files = {"train": self.train[0], **more_train, "raw": self.raw, "test": self.test, **names}
        return {name: path for name, path in files.items() if path}

    def _differences(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
        """The differences from an earlier job, with names of files in place of their hashes."""
        old_files, paths = old.get("files", {}), self._files()
        titles = {name: f"{name} ({path})" for name, path in paths.items() if name in old_files}
        before = {titles.get(name, name): digest for name, digest in old_files.items()}
        now = {titles.get(name, name): new["files"][name] if name in old_files else paths[name] for name in paths}
        return differences({**old, "files": before}, {**new, "files": now})

    def plan(self) -> Plan:
        """Make the plan, with estimates, and write nothing."""
        return make_plan(self._data, self.model, Budget(60 * self.minutes), self._say)

    def execute(self) -> GrowResult:
        """Run the job, or resume it.

        Raises:
            DataError: If the files cannot be used.
            SettingsError: If the folder belongs to another job.
            KeyboardInterrupt: After the best tagger so far was saved in its place.
        """
        refuse_unwritable(self.folder)
        if not self.folder.is_dir():
            refuse_occupied(self.folder, "grow job", "grow.json")
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder), without_advice():  # first: another call may be about to write its record
            self._record = record = self._earlier_record()
            spent = max(record["spent"], noted_seconds(self.folder / SPENT_FILE)) if "spent" in record else 0.0
            budget = Budget(60 * self.minutes, spent, factor=record.get("factor", CAUTION))
            self._speeds = record.get("speeds", {})
            with budget.noted(self.folder / SPENT_FILE):
                if "recipe" not in record:
                    self._begin(budget)
                while (result := self._work(budget)) is None:  # at most once; see `_was_slow`
                    self._begin_again(budget)
                return result

    @cached_property  # a second plan must not read files that were edited or removed since the fingerprint
    def _data(self) -> GrowData:
        return read_data(self.train, self.raw, self.test, self.options, MAX_RAW_SENTENCES, self.definitions, self.names)

    def _earlier_record(self) -> dict[str, Any]:
        """The record of an earlier call, or a new one; a `SettingsError` if the folder belongs to another job."""
        path, fingerprint = self.folder / "grow.json", json.loads(json.dumps(self.fingerprint()))
        if not has_record(path):
            refuse_occupied(self.folder, "grow job", path.name)
            return {"fingerprint": fingerprint}
        record = read_job_record(path, "fingerprint")
        old = record["fingerprint"]
        if "recipe" not in record and old != fingerprint:  # nothing has begun
            return {"fingerprint": fingerprint, "spent": record.get("spent", 0.0)}
        if difference := self._differences(old, fingerprint):
            free = self._free_folder()
            fix = "Choose another folder, e.g. " + either(f"--out {shlex.quote(str(free))}", f'output="{free}"')
            raise SettingsError(other_settings_message(self.folder, "a job", difference, fix))
        refuse_damaged(self.folder / "data", record.get("data", {}))
        refuse_damaged(self.folder, record.get("plan", {}))
        return record

    def _free_folder(self) -> Path:
        folder = self.folder if self.folder.name.strip(".") else self.folder.resolve()  # . has no name
        names = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
        return next(path for path in names if not path.exists())

    def _begin(self, budget: Budget) -> None:
        self._save(budget)
        remove_folder(self.folder / "run")  # of a plan that was given up
        plan = make_plan(self._data, self.model, budget, self._say, self._speeds, partial(self._save, budget))
        saved = save_data(plan.data, self.folder / "data")
        write_atomic(self.folder / "search.toml", recipe_text(plan.table_in_folder))
        notes = [*plan.data.notes, *plan.notes]
        hashes = {"data": saved, "plan": {"search.toml": content_hash(self.folder / "search.toml")}}
        begun = {"recipe": "search.toml", **hashes, "notes": notes, "tried": {}, "raw_suits": plan.raw_suits}
        self._record |= {**begun, "last": [*plan.final_schedule]}
        self._save(budget)

    def _begin_again(self, budget: Budget) -> None:
        """Plan again with the speeds that gold only has shown. The training of gold only is lost."""
        gold, self._record["planned again"] = self._record.pop("tried")[GOLD], True
        for part in ("recipe", "data", "plan"):  # without the recipe, a kill leaves other data than these hashes
            self._record.pop(part, None)
        share = gold["seconds"] / gold["estimate"]
        for key, timed in self._speeds.items():
            parts = timed if isinstance(timed, dict) else {}
            self._speeds[key] = {name: share * seconds for name, seconds in parts.items()} or share * timed
        budget.factor = CAUTION
        self._say("the machine is faster than when the steps were timed: planned again")
        self._begin(budget)

    def _save(self, budget: Budget) -> None:
        if "recipe" in self._record and not (self.folder / "search.toml").exists():
            raise removed_folder_error(self.folder)  # otherwise it would exist again, with only the record
        timings = {"speeds": self._speeds, "spent": budget.used, "factor": budget.factor}
        write_job_record(self.folder / "grow.json", {**self._record, **timings})

    def _work(self, budget: Budget) -> GrowResult | None:
        """Search, train on all sentences and save the results; None if the job has to be planned again."""
        recipe, record = self._recipe(), self._record
        for note in record["notes"]:
            self._say(f"note: {note}")
        run = Run(recipe, self.folder / "run", quiet=True)
        tried = {name: SystemTrial(**values) for name, values in record["tried"].items()}

        def save() -> None:
            record["tried"] = {name: asdict(t) for name, t in tried.items()}
            self._save(budget)

        with run.started():
            gold = run.corpora["train"].sentences
            raw = run.corpora["raw"].sentences
            run_time = RunTime(recipe, gold, raw, speeds=self._speeds, timed=save, say=self._say)
            better = better_encoders(profile(gold, self.options.language), recipe.tagger.settings["model"])
            planned, searched = Schedule(*record["last"]), Schedule.of(recipe)
            known = {"better": better, "raw_suits": record.get("raw_suits", True), "is_short": searched.is_short}
            search = Search(run, run_time, budget, self._say, save, self.model, planned, tried=tried, **known)
            final = FinalTraining(search, record, planned, self._say)
            search.restore()
            notes: list[str] = list(record["notes"])
            try:
                if self._was_slow(search):
                    return None
                search.execute()
                seed = final.execute()
            except KeyboardInterrupt:
                if best := search.best():
                    self._say("interrupted: saving the best tagger so far")
                    seed = final.adopt(best.name)
                    save_result(search, self.folder, seed, [*notes, "interrupted: not all systems were tried"])
                raise
            finally:
                save()
            if seed is not None:
                notes = with_last(notes, recipe, planned, Schedule(*record["final"]["schedule"]))
            result = save_result(search, self.folder, seed, notes)
            if seed is not None and not self.keep_taggers:
                remove_other_taggers(search, keep=(seed, recipe.system(result.best)))
            return result

    def _was_slow(self, search: Search) -> bool:
        """Whether gold only shows on the first fold that trainings are short because the machine was busy."""
        if not Schedule(*self._record["last"]).is_short or search.tried or "planned again" in self._record:
            return False
        search.attempt(search.run.recipe.baseline, 0)
        gold = search.tried[GOLD]
        return bool(gold.folds) and gold.seconds <= MUCH_FASTER * gold.estimate

    def _recipe(self) -> Recipe:
        """The recipe of the search, with one more seed that trains on all sentences and is scored on test."""
        recipe = load(str(self.folder / "search.toml"))
        test = "data/test.jsonl" if self.test else None
        seeds = [*recipe.seeds, len(recipe.seeds)]
        return replace(recipe, seeds=seeds, data=replace(recipe.data, test=test))

    def _say(self, text: str) -> None:
        if not self.quiet:
            print_line(text, end="\n")
