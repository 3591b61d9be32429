"""Collects the results of a finished run from its folder into a `nersery.report.model.Report`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.outcome import Tally
from nersery.core.sentence import Corpus, Sentence
from nersery.core.version import __version__
from nersery.evaluate.diversity import diversity
from nersery.evaluate.error_analysis import spread
from nersery.evaluate.novelty import novelty
from nersery.experiments.analysis import Predictions, analyse, group_scores, measures, predictions
from nersery.experiments.grid import grid_record
from nersery.experiments.recipe import Recipe
from nersery.experiments.run_state.clock import Clock
from nersery.experiments.run_state.made_files import read_record, read_result
from nersery.experiments.run_state.run_folder import NOTHING_LEARNT, RunFolder
from nersery.experiments.run_state.sharing import history_of, selected_name
from nersery.experiments.run_state.trained_taggers import TEACHER_FILE
from nersery.experiments.run_state.versions import began_with, changed_versions
from nersery.experiments.systems import System
from nersery.io.jsonl import rejects_of
from nersery.models.pretrained.sizes import parameters_of_method
from nersery.report.model import DiversityReport, FileLink, Report, SampleReport, SplitReport, SystemReport
from nersery.report.parts import GridReport, Measure, SelfTrainingReport, TeacherReport, TrainingReport
from nersery.report.system_names import GOLD

SHOWN_EXAMPLES = 20
SHOWN_REJECTS = 12


def build_report(run: RunFolder, inputs: Mapping[str, Any]) -> Report:
    """Build the report of a finished run. Equal runs give equal reports, except for run times.

    Args:
        inputs: The `split_hashes` of each split when the data files were read.
    """
    recipe, recorded_versions = run.recipe, began_with(run.folder)
    baseline = predictions(run, recipe.baseline)
    systems = [_system(run, system, baseline) for system in recipe.systems]
    return Report(
        name=recipe.name,
        description=recipe.description,
        nersery=__version__,
        versions=recorded_versions,
        command=_command(run),
        recipe=recipe.as_dict(),
        seeds=recipe.seeds,
        notes=[
            *run.notes,
            *_empty_notes(recipe, systems),
            *_removed_notes(run),
            *_version_notes(run, recorded_versions),
            *_grid_notes(run),
        ],
        data={split: _split(run, split, hashes) for split, hashes in inputs.items()},
        sample=SampleReport.model_validate(recipe.sample),
        systems=systems,
        run_time=Clock(run.folder).report(recipe),
        files=list(_files(run)),
    )


def _files(run: RunFolder) -> Iterator[FileLink]:
    """The files of the run that readers may want to open, by system."""
    for label, name in (("recipe, hashes of the data, versions", "run.json"), ("the report as Markdown", "report.md")):
        yield FileLink(label=label, path=name)
    for system in run.recipe.systems:
        for seed in run.recipe.seeds:
            generated = run.generated(seed, system)
            paths = {
                "training corpus": run.path(seed, system, "train.jsonl"),
                "predictions on test": run.path(seed, system, "predicted.jsonl"),
                "scores": run.path(seed, system, "result.json"),
                "generated sentences": generated,
                "rejected sentences": rejects_of(generated),
            }
            for label, path in paths.items():
                if path.exists():
                    relative = path.relative_to(run.folder).as_posix()
                    yield FileLink(system=system.name, label=f"{label}, seed {seed}", path=relative)


def _command(run: RunFolder) -> str:
    """The command line of this run; bytes that are not UTF-8 are replaced."""
    settings = (word for override in run.recipe.overrides for word in ("--set", override))
    models = ["--models", run.recipe.models] if run.recipe.models else []
    folder = run.folder.parent if run.is_part else run.folder
    command = shlex.join(["nersery", "run", run.recipe.source, "--out", str(folder), *models, *settings])
    return command.encode("utf-8", "replace").decode()


def _empty_notes(recipe: Recipe, systems: Sequence[SystemReport]) -> list[str]:
    """Notes on systems without sentences of their own to train on. Their scores do not measure their method."""
    notes = []
    for settings, system in list(zip(recipe.systems, systems, strict=True))[1:]:
        seeds = [str(seed) for seed, kept in zip(recipe.seeds, system.kept_sentences, strict=True) if not kept]
        if seeds and settings.note_if_empty:
            notes.append(f"{system.name}: {settings.note_if_empty} (seed {', '.join(seeds)})")
        if untrained := [str(training.seed) for training in system.training if training.untrained]:
            notes.append(f"{system.name}: {NOTHING_LEARNT} (seed {', '.join(untrained)})")
    return notes


def _removed_notes(run: RunFolder) -> list[str]:
    """Notes on files of rejects that were removed after their system was scored."""
    paths = (
        run.path(seed, system, name)
        for system in run.recipe.systems
        for seed in run.recipe.seeds
        for name in _result(run, seed, system).get("bytes", {})
    )
    removed = (path for path in paths if path.name.endswith(".rejects.jsonl") and not path.exists())
    return [
        f"{path.relative_to(run.folder)} was removed, so its sentences do not count as rejected" for path in removed
    ]


def _version_notes(run: RunFolder, first: Mapping[str, str]) -> list[str]:
    """Notes on results that were made by other versions than those with which the run began."""
    systems: dict[str, list[str]] = {}
    for system in run.recipe.systems:
        for seed in run.recipe.seeds:
            if difference := changed_versions(first, _result(run, seed, system).get("versions", first)):
                systems.setdefault(difference, []).append(f"{system.name} (seed {seed})")
    return [f"made with {other}, with which the run began: {', '.join(cells)}" for other, cells in systems.items()]


def _grid_notes(run: RunFolder) -> list[str]:
    """Notes on systems whose settings were chosen with a seed that is no longer the first one of the recipe."""
    grids = ((system.name, _grid(run, system)) for system in run.recipe.systems)
    return [
        f"{name}: its settings were chosen with seed {grid.seed}, with which the run began"
        for name, grid in grids
        if grid and grid.seed not in (None, run.recipe.seeds[0])
    ]


def _grid(run: RunFolder, system: System) -> GridReport | None:
    record = grid_record(run.folder, system)
    is_there = run.recipe.grid and record.exists()  # nothing is tried if there is nothing to learn
    return GridReport.model_validate(read_record(record, "chosen", "trials")) if is_there else None


def _result(run: RunFolder, seed: int, system: System) -> dict[str, Any]:
    return read_result(run.path(seed, system, "result.json"))


def _split(run: RunFolder, split: str, hashes: str | Mapping[str, str]) -> SplitReport:
    """The file of a split and its contents, or the files of its languages."""
    corpus = run.corpora[split]
    if isinstance(hashes, str):
        return SplitReport.of(corpus, path=getattr(run.recipe.data, split), sha256=hashes)
    languages = {
        file.language: SplitReport.of(
            [sentence for sentence in corpus if sentence.language == file.language],
            path=file.name,
            sha256=hashes[file.language],
        )
        for file in run.recipe.data.files(split)
    }
    return SplitReport.of(corpus, languages=languages)


def _system(run: RunFolder, system: System, baseline: Predictions) -> SystemReport:
    seeds, method = run.recipe.seeds, system.method
    results = [_result(run, seed, system) for seed in seeds]
    scores = [result["scores"] for result in results]
    return SystemReport(
        name=system.name,
        method=_made_by(system),
        select=[selector.method for selector in system.select],
        settings={} if system.is_baseline else _settings(system),
        **measures([score["micro"] for score in scores]),
        per_type=group_scores(run, (score.get("per_type", {}) for score in scores)),
        per_language=group_scores(run, (score.get("per_language", {}) for score in scores)),
        train_sentences=[result["train_sentences"] for result in results],
        kept_sentences=[result["kept_sentences"] for result in results],
        method_parameters=parameters_of_method(method.kind, method.method, method.settings) if method else None,
        **_added(run, system),
        grid=_grid(run, system),
        training=[training_report(result["training"]) for result in results],
        self_training=_self_training(run, system),
        **analyse(run, system, baseline),
        **(_generated(run, system) if system.makes_sentences else {}),
        **_teachers(run, system),
    )


def training_report(training: Mapping[str, Any]) -> TrainingReport:
    """The report of a training. Its curve continues with that of the second stage if there was one."""
    second = training.get("second_stage")
    if not second:
        return TrainingReport.model_validate(training)
    # One curve: the steps of the second stage continue the count of the first stage.
    later = [{**e, "step": e["step"] + training["steps"]} for e in second["evaluations"]]
    joined = {"evaluations": [*training["evaluations"], *later], "best_step": training["steps"] + second["best_step"]}
    return TrainingReport.model_validate({**training, **joined})


def _made_by(system: System) -> str | None:
    """The method's name in the report; None for the baseline."""
    if system.method:
        return system.method.method
    return "merge" if system.merge else None if system.is_baseline else "tagger"


def _settings(system: System) -> dict[str, Any]:
    """The settings of the method, and those of the system that differ from the defaults."""
    settings = {
        key: value
        for key in ("base", "merge", "vote", "upsampling", "second_stage", "tagger_settings")
        if (value := getattr(system, key))
    }
    if system.method is not None and not system.labels_raw_text:
        settings["copies"] = system.copies
    return {**(system.method.settings if system.method else {}), **settings, "gold_copies": system.gold_copies}


def _added(run: RunFolder, system: System) -> dict[str, Any]:
    """New mentions in the training corpus, and how much its new sentences differ from their parents."""
    new_entities, diversities = [], []
    for seed in run.recipe.seeds:
        gold, train = run.sampled(seed)[0], io.read(run.path(seed, system, "train.jsonl"))
        new_entities.append(novelty(train, gold).total.new)
        made = (sentence for sentence in train if sentence.id not in gold.by_id)
        diversities.append(diversity(made, _with_gold(train, gold)).as_dict())
    known = {name: [by[name] for by in diversities if by[name] is not None] for name in DiversityReport.model_fields}
    measured = {name: Measure.of(values) if values else None for name, values in known.items()}
    return {"new_entities": new_entities, "diversity": DiversityReport(**measured)}


def _with_gold(train: Corpus, gold: Corpus) -> Corpus:
    """A training corpus together with all gold sentences, which include the parents of its sentences."""
    return Corpus([*(sentence for sentence in gold if sentence.id not in train.by_id), *train])


def _self_training(run: RunFolder, system: System) -> list[SelfTrainingReport]:
    """The steps of the system's self-training for each seed; empty if it has none."""
    reports = []
    for number, selector in enumerate(system.select, start=1):
        if selector.method != "self_training":
            continue
        for seed in run.recipe.seeds:
            history = read_record(history_of(run.path(seed, system, selected_name(system, number))), "best", "steps")
            evaluations = [{"step": step, "score": record["dev_f1"]} for step, record in enumerate(history["steps"])]
            training = {"seed": seed, "best_step": history["best"], "evaluations": evaluations, **history}
            reports.append(SelfTrainingReport.model_validate(training))
    return reports


def _teachers(run: RunFolder, system: System) -> dict[str, Any]:
    """The trainings of the system's own teachers for each seed; empty if it has none."""
    paths = [run.generated(seed, system).with_name(TEACHER_FILE) for seed in run.recipe.seeds]
    teachers = [TeacherReport.model_validate(read_record(path)) for path in paths if path.exists()]
    return {"teachers": teachers} if teachers else {}


def _generated(run: RunFolder, system: System) -> dict[str, Any]:
    """The sentences that the method made and the selectors kept, summed over seeds; examples from the first seed."""
    files = [[run.generated(seed, system) for seed in run.recipe.seeds]]
    selection: list[dict[str, Any]] = []
    for number, selector in enumerate(system.select, start=1):
        files.append([run.path(seed, system, selected_name(system, number)) for seed in run.recipe.seeds])
        paths = zip(run.recipe.seeds, map(history_of, files[-1]), strict=True)
        history = {str(seed): read_record(path) for seed, path in paths if path.exists()}
        selection.append({"method": selector.method, **_tally(files[-1]).as_dict(), "history": history})
    first = run.recipe.seeds[0]
    base = run.recipe.system(system.base or GOLD)
    parents = _with_gold(io.read(run.path(first, base, "train.jsonl")), run.sampled(first)[0])
    kept = list(io.open_corpus(files[-1][0]))
    names = [_made_by(system) or "", *(selector.method for selector in system.select)]
    rejected = [
        (name, reject)
        for name, paths in zip(names, files, strict=True)
        for reject in io.read_rejects(rejects_of(paths[0]))
    ]
    return {
        "generation": _tally(files[0]).as_dict(),
        "selection": selection,
        "examples": [
            {"parent": _parent(child, parents), "child": child, "scores": child.scores}
            for child in spread(kept, SHOWN_EXAMPLES)
        ],
        "reject_examples": [
            {"stage": stage, "reason": reject.reason, "parent": _parent(child, parents), "child": child}
            for stage, reject in spread(rejected, SHOWN_REJECTS)
            if (child := reject.sentence) is not None
        ],
    }


def _tally(files: Iterable[Path]) -> Tally:
    """The tally of the sentences in the files of a stage, and of their rejects."""
    tally = Tally()
    for file in files:
        for outcome in (*io.open_corpus(file), *io.read_rejects(rejects_of(file))):
            tally.add(outcome)
    return tally


def _parent(child: Sentence, parents: Corpus) -> Sentence | None:
    """The sentence that a generated one was made from, if it is known."""
    names = child.origin.parents if child.origin else ()
    return next((parents.by_id[name] for name in names if name in parents.by_id), None)
