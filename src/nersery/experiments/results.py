"""What a finished run says, gathered from its folder; the report shows it and nothing else."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from nersery import io
from nersery.core.outcome import Tally
from nersery.core.sentence import Corpus, Sentence
from nersery.core.version import __version__
from nersery.evaluate.diversity import diversity
from nersery.evaluate.error_analysis import find_errors, spread
from nersery.evaluate.novelty import novelty
from nersery.evaluate.scores import Counts, sentence_counts, summarise
from nersery.evaluate.significance import paired_bootstrap, sign_flip
from nersery.experiments.fingerprint import changed_versions, first_versions
from nersery.experiments.grid import grid_record
from nersery.experiments.recipe import Recipe
from nersery.experiments.run_folder import RunFolder
from nersery.experiments.systems import GOLD, System
from nersery.pipeline.job import rejects_of

SHOWN_EXAMPLES = 20
SHOWN_REJECTS = 12
SHOWN_MISTAKES = 3
"""Of each kind."""
NOTHING_LEARNT = "no training sentence has an entity, so nothing was learnt and nothing is found in test"
FIGURES = ("precision", "recall", "f1")


def build_report(run: RunFolder, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the report shows, as JSON values; equal runs give equal reports, so there is no clock in it.

    Args:
        inputs: The hashes that the data files had when they were read, see `nersery.experiments.fingerprint.hashes`.
    """
    recipe, first = run.recipe, first_versions(run.folder)
    systems = [_system(run, system) for system in recipe.systems]
    return {
        "name": recipe.name,
        "description": recipe.description,
        "nersery": __version__,
        "versions": first,
        "command": _command(run),
        "recipe": recipe.as_dict(),
        "seeds": recipe.seeds,
        "notes": [*run.notes, *_empty_notes(recipe, systems), *_version_notes(run, first), *_grid_notes(run)],
        "data": {split: _split(run, split, hashes) for split, hashes in inputs.items()},
        "sample": asdict(recipe.sample),
        "systems": systems,
    }


def _command(run: RunFolder) -> str:
    """The command line to type for this run; what is not UTF-8 in it cannot be shown."""
    settings = (word for override in run.recipe.overrides for word in ("--set", override))
    command = shlex.join(["nersery", "run", run.recipe.source, "--out", str(run.folder), *settings])
    return command.encode("utf-8", "replace").decode()


def _empty_notes(recipe: Recipe, systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which systems had nothing of their own to train on, so that they say nothing about their method."""
    notes = []
    for settings, system in list(zip(recipe.systems, systems, strict=True))[1:]:
        seeds = [str(seed) for seed, own in zip(recipe.seeds, system["kept_sentences"], strict=True) if not own]
        if seeds and settings.gold_copies:
            same = settings.base or "gold only"
            notes.append(f"{system['name']}: nothing was kept, so this is {same} (seed {', '.join(seeds)})")
        if untrained := [str(course["seed"]) for course in system["training"] if course.get("untrained")]:
            notes.append(f"{system['name']}: {NOTHING_LEARNT} (seed {', '.join(untrained)})")
    return notes


def _version_notes(run: RunFolder, first: Mapping[str, str]) -> list[str]:
    """Which results were made by other versions than the run began with."""
    made: dict[str, list[str]] = {}
    for system in run.recipe.systems:
        for seed in run.recipe.seeds:
            if other := changed_versions(first, _result(run, seed, system).get("versions", first)):
                made.setdefault(other, []).append(f"{system.name} (seed {seed})")
    return [f"made with {other}, with which the run began: {', '.join(of)}" for other, of in made.items()]


def _grid_notes(run: RunFolder) -> list[str]:
    """Which systems have settings that were chosen with another seed than the first, which came to the run later."""
    records = {system.name: _grid(run, system) for system in run.recipe.systems} if run.recipe.grid else {}
    first = run.recipe.seeds[0]
    return [
        f"{name}: its settings were chosen with seed {record['seed']}, with which the run began"
        for name, record in records.items()
        if record.get("seed", first) != first
    ]


def _grid(run: RunFolder, system: System) -> Any:
    return json.loads(grid_record(run.folder, system).read_text("utf-8"))


def _result(run: RunFolder, seed: int, system: System) -> Any:
    return json.loads(run.path(seed, system, "result.json").read_text("utf-8"))


def _split(run: RunFolder, split: str, hashes: str | Mapping[str, str]) -> dict[str, Any]:
    """Where a split comes from and what it holds; where each language has a file, this of each language too."""
    corpus = run.corpora[split]
    if isinstance(hashes, str):
        return {"path": getattr(run.recipe.data, split), "sha256": hashes, **_counts(corpus)}
    languages = {
        file.language: {
            "path": file.name,
            "sha256": hashes[file.language],
            **_counts([sentence for sentence in corpus if sentence.language == file.language]),
        }
        for file in run.recipe.data.files(split)
    }
    return {**_counts(corpus), "languages": languages}


def _counts(sentences: Sequence[Sentence]) -> dict[str, Any]:
    types = Counter(entity.type for sentence in sentences for entity in sentence.entities)
    return {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "entities": types.total(),
        "types": dict(sorted(types.items())),
    }


def _system(run: RunFolder, system: System) -> dict[str, Any]:
    seeds = run.recipe.seeds
    results = [_result(run, seed, system) for seed in seeds]
    scores = [result["scores"] for result in results]
    report = {
        "name": system.name,
        "method": _made_by(system),
        "select": [selector.method for selector in system.select],
        "settings": {},
        **{figure: _summary([score["micro"][figure] for score in scores]) for figure in FIGURES},
        "per_type": _per(scores, "per_type"),
        "per_language": _per(scores, "per_language"),
        "train_sentences": [result["train_sentences"] for result in results],
        "kept_sentences": [result["kept_sentences"] for result in results],
        "new_entities": [_new_entities(run, seed, system) for seed in seeds],
        "diversity": _diversity(run, system),
        "errors": _errors(run, system),
        "grid": _grid(run, system) if run.recipe.grid else None,
        "training": [_both_trainings(result["training"]) for result in results],
        "self_training": _self_training(run, system),
        "against_gold": None,
    }
    if not system.is_baseline:
        report["settings"] = _settings(system)
        report["against_gold"] = _against_gold(run, system)
        report |= _generated(run, system)
    return report


def _both_trainings(course: Mapping[str, Any]) -> dict[str, Any]:
    """The course of a training, with that of the second one on gold behind it where there was one."""
    second = course.get("second_stage")
    if not second:
        return dict(course)
    later = [{**one, "step": one["step"] + course["steps"]} for one in second["evaluations"]]
    return {
        **course,
        "evaluations": [*course["evaluations"], *later],
        "best_step": course["steps"] + second["best_step"],
    }


def _made_by(system: System) -> str | None:
    """What the report calls a system's method; None for the baseline."""
    return system.method.method if system.method else ("merge" if system.merge else None)


def _settings(system: System) -> dict[str, Any]:
    """What the report shows of a system's settings: its method's, and those of its own that matter."""
    own = {
        key: value for key in ("base", "merge", "vote", "upsampling", "second_stage") if (value := getattr(system, key))
    }
    if system.method is not None and not system.labels_raw_text:
        own["copies"] = system.copies
    return {**(system.method.settings if system.method else {}), **own, "gold_copies": system.gold_copies}


def _new_entities(run: RunFolder, seed: int, system: System) -> int:
    """How many distinct mentions the system's training corpus has that gold has not."""
    return novelty(io.open_corpus(run.path(seed, system, "train.jsonl")), run.sampled(seed)[0]).total.new


def _diversity(run: RunFolder, system: System) -> dict[str, Any]:
    """How far what the system adds to gold goes from what it was made from; null where nothing was added."""
    measures: dict[str, list[float]] = {"entity": [], "non_entity": [], "length": []}
    for seed in run.recipe.seeds:
        gold, known = run.sampled(seed)[0].by_id, _with_gold(run, seed, system)
        found = diversity((sentence for sentence in known if sentence.id not in gold), known).as_dict()
        for name, values in measures.items():
            values += [found[name]] if found[name] is not None else []
    return {name: _summary(values) if values else None for name, values in measures.items()}


def _with_gold(run: RunFolder, seed: int, system: System) -> Corpus:
    """What a system was trained on, and gold where it was not: of these its sentences were made."""
    train = io.read(run.path(seed, system, "train.jsonl"))
    return Corpus([*(sentence for sentence in run.sampled(seed)[0] if sentence.id not in train.by_id), *train])


def _errors(run: RunFolder, system: System) -> dict[str, Any]:
    """Mistakes on test by type and kind, summed over seeds, with examples from the first seed."""
    test = run.corpora["test"]
    found = [find_errors(test, io.read(run.path(seed, system, "predicted.jsonl"))) for seed in run.recipe.seeds]
    per_type: dict[str, Counter[str]] = {}
    for errors in found:
        for type_, counts in errors.per_type.items():
            per_type.setdefault(type_, Counter()).update(counts)
    counted = {type_: dict(per_type[type_]) for type_ in sorted(per_type)}
    return {**found[0].as_dict(SHOWN_MISTAKES), "per_type": counted}


def _self_training(run: RunFolder, system: System) -> list[dict[str, Any]]:
    """The steps of the system's self-training for each seed, in the form of a tagger's training; empty without one."""
    courses = []
    for number, selector in enumerate(system.select, start=1):
        for seed in run.recipe.seeds if selector.method == "self_training" else ():
            history = json.loads(run.path(seed, system, f"{number}-self_training.history.json").read_text("utf-8"))
            evaluations = [{"step": step, "score": one["dev_f1"]} for step, one in enumerate(history["steps"])]
            courses.append({"seed": seed, "best_step": history["best"], "evaluations": evaluations, **history})
    return courses


def _histories(run: RunFolder, system: System, number: int, selector: str) -> dict[str, Any]:
    """What a selector says of how it came to its choice, by seed; empty if it says nothing."""
    paths = {str(seed): run.path(seed, system, f"{number}-{selector}.history.json") for seed in run.recipe.seeds}
    return {seed: json.loads(path.read_text("utf-8")) for seed, path in paths.items() if path.exists()}


def _summary(values: Iterable[float]) -> dict[str, Any]:
    summary = summarise(values)
    return {"mean": summary.mean, "std": summary.std, "values": list(summary.values)}


def _per(scores: Sequence[Mapping[str, Any]], part: str) -> dict[str, Any]:
    """The figures of each type or language over seeds; none where the scores have no such part."""
    none = Counts().as_dict()
    names = sorted({name for score in scores for name in score.get(part, {})})
    rows = {name: [score.get(part, {}).get(name, none) for score in scores] for name in names}
    return {
        name: {
            **{figure: _summary(c[figure] for c in counts) for figure in FIGURES},
            "gold": max(c["gold"] for c in counts),
        }
        for name, counts in rows.items()
    }


def _against_gold(run: RunFolder, system: System) -> dict[str, Any]:
    """The system against the baseline on the same test sentences and seeds."""
    baseline, test, seeds = run.recipe.systems[0], run.corpora["test"], run.recipe.seeds

    def counts(of: System) -> Any:
        return np.stack([sentence_counts(test, io.read(run.path(seed, of, "predicted.jsonl"))) for seed in seeds])

    ours, theirs = counts(system), counts(baseline)
    samples = run.recipe.evaluate.bootstrap_samples
    comparison = paired_bootstrap(theirs, ours, samples=samples).as_dict()
    comparison["p"] = comparison.pop("p_value")
    over_seeds = sign_flip(_f1(theirs), _f1(ours)) if len(seeds) > 1 else None
    return {
        **comparison,
        "samples": samples,
        "test": "paired bootstrap over test sentences, F1 averaged over seeds, two-sided",
        "p_over_seeds": over_seeds,
    }


def _f1(counts: Any) -> list[float]:
    """F1 of each run. Shape: (runs, sentences, 3)"""
    return [Counts(*map(int, run.sum(axis=0))).f1 for run in counts]


def _generated(run: RunFolder, system: System) -> dict[str, Any]:
    """What the method made and the selectors kept, summed over seeds, with examples from the first seed."""
    made = [run.generated(seed, system) for seed in run.recipe.seeds]
    stages = [(_made_by(system), made)]
    for number, selector in enumerate(system.select, start=1):
        files = [run.path(seed, system, f"{number}-{selector.method}.jsonl") for seed in run.recipe.seeds]
        stages.append((selector.method, files))
    tallies = [{"method": method, **_tally(files).as_dict()} for method, files in stages]
    for number, stage in enumerate(tallies[1:], start=1):
        stage["history"] = _histories(run, system, number, stage["method"])
    parents = _with_gold(run, run.recipe.seeds[0], run.recipe.system(system.base or GOLD))
    kept = list(io.open_corpus(stages[-1][1][0]))
    rejected = [(method, reject) for method, files in stages for reject in io.read_rejects(rejects_of(files[0]))]
    return {
        "generation": {key: value for key, value in tallies[0].items() if key != "method"},
        "selection": tallies[1:],
        "examples": [
            {"parent": _parent(child, parents), "child": _shown(child), "scores": dict(child.scores)}
            for child in spread(kept, SHOWN_EXAMPLES)
        ],
        "reject_examples": [
            {
                "stage": stage,
                "reason": reject.reason,
                "parent": _parent(reject.sentence, parents),
                "child": _shown(reject.sentence),
            }
            for stage, reject in spread(rejected, SHOWN_REJECTS)
            if reject.sentence is not None
        ],
    }


def _tally(files: Iterable[Any]) -> Tally:
    """What the files of a stage say was written and rejected."""
    tally = Tally()
    for file in files:
        for outcome in (*io.open_corpus(file), *io.read_rejects(rejects_of(file))):
            tally.add(outcome)
    return tally


def _shown(sentence: Sentence) -> dict[str, Any]:
    entities = [{"start": e.start, "end": e.end, "type": e.type} for e in sentence.entities]
    shown = {"id": sentence.id, "words": list(sentence.words), "entities": entities}
    return {**shown, "language": sentence.language} if sentence.language else shown


def _parent(child: Sentence, parents: Corpus) -> dict[str, Any] | None:
    """The gold sentence that a generated one was made from; None where there is none."""
    for id_ in child.origin.parents if child.origin else ():
        if id_ in parents.by_id:
            return _shown(parents.by_id[id_])
    return None
