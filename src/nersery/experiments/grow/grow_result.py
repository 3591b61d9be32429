"""The results of a grow job, saved in its folder: tagger, corpus, recipe and report."""

from __future__ import annotations

import shlex
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.counting import in_minutes, plural
from nersery.core.errors import MissingResourceError, NerseryError
from nersery.core.sentence import UNKNOWN_COLUMN, Corpus, Sentence
from nersery.core.system.files import remove_folder, write_atomic
from nersery.core.system.folders import replaced_folder
from nersery.core.text.spacing import joined_words
from nersery.core.wording import worded
from nersery.evaluate.significance import Comparison, paired_bootstrap
from nersery.experiments.active_learning.next_sentences import SCORE, next_sentences
from nersery.experiments.analysis import counts_on_test, pooled_f1
from nersery.experiments.grow.grow_data import RAW_ID
from nersery.experiments.grow.plan import recipe_text
from nersery.experiments.grow.schedules import Schedule
from nersery.experiments.grow.trials import SystemTrial, Trials
from nersery.experiments.results import build_report
from nersery.experiments.run_state.fingerprint import run_fingerprint
from nersery.experiments.systems import System
from nersery.report.model import CHOSEN, FileLink, ScoredSentence, TriedReport
from nersery.report.rendering import write_report
from nersery.report.system_names import GOLD, label_of
from nersery.taggers.base import load_tagger

SHOWN = 20
"""Maximum number of raw sentences that the report lists as worth labelling."""
PREDICTED = 1000
"""Maximum number of sentences of raw text, and of gold, that are read for this list."""
MORE_TIME = "repeat the command with more --minutes"
REPEATED = "grow-repeated"
"""Name of the recipe, and so of the folder of its run; `runs/grow` is the default folder of the job itself."""


@dataclass(frozen=True)
class GrowResult:
    """The results of a grow job.

    Args:
        folder: The folder with all results.
        best: The chosen system; ``gold`` if no other was better.
        dev_f1: F1 of gold only and of the best system, over the same folds.
        dev: The difference between the two.
        test_f1: The same on test, each None if the time was too short; None without a test file.
        test: The difference between the two, if both are known.
        notes: Notes on what weakens the result.
        compared: Number of other systems that were scored.
        expected: Gain in F1 that is expected of the best system on other sentences; see `Trials.gain`.
        is_final: Whether the tagger was trained on all sentences, which may be for longer than in the search.
    """

    folder: Path
    best: str
    dev_f1: tuple[float, float]
    dev: Comparison
    test_f1: tuple[float | None, float | None] | None = None
    test: Comparison | None = None
    notes: list[str] = field(default_factory=list)
    compared: int = 0
    expected: float = 0.0
    is_final: bool = False

    def __str__(self) -> str:
        """The result in five lines, for readers."""
        missing = "" if self.is_final else f"; it has not seen all sentences: {MORE_TIME}"
        tagger, recipe = (shlex.quote(str(self.folder / name)) for name in ("tagger", "recipe.toml"))
        return worded("\n".join([
            self.verdict,
            f"test: {self._test()}",
            f"tagger: {self.folder / 'tagger'} (nersery predict {tagger} TEXT OUTPUT){missing}",
            f"corpus: {self.folder / 'corpus.jsonl'}; to repeat: nersery run {recipe}",
            f"report: {self.folder / 'report.html'}",
        ]))  # fmt: skip

    @property
    def verdict(self) -> str:
        """The first of these lines."""
        gold, best = (100 * value for value in self.dev_f1)
        if not best:
            more = "allow more --minutes, with another --out"
            if self.is_final and (self.test_f1 is None or self.test_f1[1] != 0):
                is_scored = self.test_f1 is not None and self.test_f1[1] is not None
                return (
                    "best: not known, because the trainings of the search were too short: no tagger found a correct "
                    "entity (F1 0.0 on held-out sentences). The final tagger, trained on all sentences, "
                    f"{'does' if is_scored else 'may, but was not scored'}. To compare systems, {more}"
                )
            return (
                "best: none, because no tagger found a correct entity (F1 0.0 on held-out sentences). "
                f"Training was too short: {more}"
            )
        if self.best == GOLD:
            too_short = "The time was too short to try another system"
            reason = "No other system is expected to be better" if self.compared else too_short
            return f"best: gold only, F1 {best:.1f} on held-out sentences. {reason}"
        return (
            f"best: {label_of(self.best)}, F1 {best:.1f} on held-out sentences, "
            f"gold only {gold:.1f} ({self.dev}); "
            f"expected gain on others, from this and the usual gain of such systems: {100 * self.expected:+.1f}"
        )

    @property
    def description(self) -> str:
        """What the report begins with. If scores on test follow, it has none itself: they would be taken for them."""
        if self.test is None or self.best == GOLD:
            return self.verdict
        systems = plural(self.compared + 1, "system")
        return f"{label_of(self.best)}, chosen from {systems} on held-out sentences; scored on test"

    def _test(self) -> str:
        if self.test_f1 is None:
            return "no test file (--test)"
        gold, best = self.test_f1
        if best is None and self.is_final:
            return "the time was too short to score the final tagger: use nersery predict, then nersery evaluate"
        if best is None:
            return "the time was too short to train on all sentences"
        if gold is None or self.test is None:
            return f"F1 {100 * best:.1f}; the time was too short to train gold only for comparison"
        if self.best == GOLD:
            return f"F1 {100 * best:.1f}, gold only"
        return f"F1 {100 * best:.1f}, gold only {100 * gold:.1f} ({self.test})"


def save_result(trials: Trials, folder: Path, seed: int | None, notes: Sequence[str]) -> GrowResult:
    """Save the results of the best system in the folder of the job.

    Args:
        seed: Seed of the training on all sentences; None takes the training of a fold.
    """
    best = trials.best()
    assert best is not None
    run, system = trials.run, trials.run.recipe.system(best.name)
    folds = [fold for fold in best.folds if run.path(fold, system, "tagger").exists()]
    trained_seed = seed if seed is not None else [*folds, best.folds[0]][0]
    if seed is None:
        outcome = "the tagger has not seen those of one fold" if folds else "tagger/ is still from an earlier call"
        notes = [*notes, f"the time was too short to train on all sentences: {outcome}; {MORE_TIME}"]
    if (trained := run.path(trained_seed, system, "tagger")).exists():
        _refuse_damaged(trained, folder / "tagger")
        with replaced_folder(folder / "tagger") as new_folder:
            shutil.copytree(trained, new_folder, dirs_exist_ok=True)
    sentences_by_id = {
        sentence.id: sentence
        for sentence in [*run.corpora["train"], *io.read(run.path(trained_seed, system, "train.jsonl"))]
    }
    io.write(sentences_by_id.values(), folder / "corpus.jsonl")
    io.write(_with_equal_columns([*sentences_by_id.values()]), folder / "corpus.conll")
    write_atomic(folder / "recipe.toml", _winning_recipe(trials, folder, system))
    result = _result(trials, folder, best, seed, [*notes])
    _report(trials, folder, best, seed if result.test else None, result)
    return result


def _refuse_damaged(trained: Path, target: Path) -> None:
    """Raise `NerseryError` for a damaged tagger, before it replaces the one of an earlier call, which may be good."""
    try:
        load_tagger(trained)
    except MissingResourceError as error:
        raise NerseryError(
            f"{trained} is damaged, so it is not copied to {target}. Delete {trained.parent}, and repeat the command, "
            "which trains it again. If the time has run out, allow more (--minutes)"
        ) from error


def _with_equal_columns(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with extra columns added until all have the same number: raw text has none."""
    count = max((len(sentence.columns) for sentence in sentences), default=0)
    missing = [((UNKNOWN_COLUMN,) * len(sentence),) * (count - len(sentence.columns)) for sentence in sentences]
    return [replace(s, columns=(*s.columns, *added)) for s, added in zip(sentences, missing, strict=True)]


def remove_other_taggers(trials: Trials, keep: tuple[int, System]) -> None:
    """Remove the taggers of all seeds and systems except one, which the same call finds again."""
    run = trials.run
    for seed in run.recipe.seeds:
        for system in run.recipe.systems:
            if (seed, system) != keep:
                remove_folder(run.path(seed, system, "tagger"))


def _result(trials: Trials, folder: Path, best: SystemTrial, seed: int | None, notes: list[str]) -> GrowResult:
    gold = SystemTrial(GOLD, best.folds)
    dev_f1 = trials.f1(gold), trials.f1(best)
    compared = sum(bool(tried.folds) for tried in trials.tried.values()) - 1
    dev, expected = trials.against_gold(best), trials.gain(best)
    is_final = seed is not None
    result = GrowResult(folder, best.name, dev_f1, dev, None, None, notes, compared, expected, is_final)
    run = trials.run
    if seed is None or not run.corpora["test"]:
        return replace(result, test_f1=(None, None)) if run.corpora["test"] else result
    systems = [run.recipe.baseline, run.recipe.system(best.name)]
    gold_counts, best_counts = (
        counts_on_test(run.restricted_to([seed], systems), system)
        if run.path(seed, system, "result.json").exists()
        else None
        for system in systems
    )
    test = paired_bootstrap(gold_counts, best_counts) if gold_counts is not None and best_counts is not None else None
    return replace(result, test_f1=(_f1(gold_counts), _f1(best_counts)), test=test)


def _f1(counts: Any) -> float | None:
    return pooled_f1(counts[0]) if counts is not None else None


def _report(trials: Trials, folder: Path, best: SystemTrial, seed: int | None, result: GrowResult) -> None:
    seeds = [seed] if seed is not None else best.folds
    recipe = trials.run.recipe
    systems = [recipe.baseline, *(one for one in recipe.chain(recipe.system(best.name)) if not one.is_baseline)]
    shown = trials.run.restricted_to(seeds, systems)
    report = build_report(shown, run_fingerprint(trials.run.recipe)["inputs"])
    report.name, report.description = "grow", result.description
    report.command, report.run_time = "", {}  # the search measures what it tried
    report.files = _files(report.files)
    if seed is None:
        report.data.pop("test", None)  # nothing in the report was scored on it
    others = {one.name for one in recipe.systems} - {name for name, tried in trials.tried.items() if tried.folds}
    untried = tuple(f'system "{name}"' for name in others)  # how notes on them begin, see `Recipe.methods`
    report.notes = [note for note in dict.fromkeys([*result.notes, *report.notes]) if not note.startswith(untried)]
    report.next_sentences = _valuable(trials, folder)
    all_tried = sorted(trials.tried.values(), key=lambda tried: -len(tried.folds))
    report.search = [_tried(trials, tried, best) for tried in all_tried]
    write_report(report, folder)


def _valuable(trials: Trials, folder: Path) -> list[ScoredSentence]:
    """The raw sentences that the best tagger knows least about."""
    raw, gold = trials.run.corpora["raw"], trials.run.corpora["train"]
    if not raw:
        return []
    labelled = Corpus(gold.sentences[:PREDICTED])
    proposed = next_sentences(raw, folder / "tagger", SHOWN, labelled=labelled, max_sentences=PREDICTED, quiet=True)
    return [
        ScoredSentence(
            id=" ".join(sentence.comments).removeprefix(RAW_ID) or sentence.id,
            text=joined_words(sentence.words),
            expected_errors=f"{sentence.scores[SCORE]:.2f}",
            entities=", ".join(f"{joined_words(sentence.mention(e))} ({e.type})" for e in sentence.entities),
        )
        for sentence in proposed.corpus
    ]


def _files(files: Sequence[FileLink]) -> list[FileLink]:
    """The files of the job, then those of the run within it."""
    labels = {
        "recipe.toml": "recipe that repeats this",
        "corpus.jsonl": "training corpus",
        "corpus.conll": "the same as CoNLL",
    }
    run_files = [file.model_copy(update={"path": f"run/{file.path}"}) for file in files if file.path != "report.md"]
    return [*(FileLink(label=label, path=path) for path, label in labels.items()), *run_files]


def _tried(trials: Trials, tried: SystemTrial, best: SystemTrial) -> TriedReport:
    outcome = tried.fate
    if best is tried:
        outcome = CHOSEN
    elif not outcome and tried.name != GOLD and len(tried.folds) < len(best.folds):
        outcome = f"no time for fold {len(tried.folds) + 1}"
    row = TriedReport(name=tried.name, fate=outcome)
    if not tried.folds:
        return row
    comparison = trials.against_gold(tried) if tried.name != GOLD else None
    expected = f"{100 * trials.gain(tried):+z.1f}" if comparison else ""
    times = {"estimate": in_minutes(tried.estimate), "took": in_minutes(tried.seconds)}
    scores = {"f1": trials.f1(tried), "difference": str(comparison or ""), "expected": expected}
    return row.model_copy(update={"folds": len(tried.folds), **scores, **times})


def _winning_recipe(trials: Trials, folder: Path, system: System) -> str:
    """The recipe of the search, with only the best system and its bases."""
    table = tomllib.loads((folder / "search.toml").read_text("utf-8"))
    table["name"] = REPEATED
    names = {one.name for one in trials.run.recipe.chain(system)}
    table["systems"] = [entry for entry in table["systems"] if entry["name"] in names]
    # The training on all sentences may have had another schedule than the search.
    table["tagger"] |= Schedule.of(trials.run.recipe).settings
    beside = "" if system.name == GOLD else f"{label_of(system.name)} beside "
    table["description"] = f"{beside}gold only, as nersery grow has chosen it"
    if trials.run.recipe.data.test:
        del table["sample"]
        table["data"]["test"], table["seeds"] = "data/test.jsonl", [trials.fold_count]
    return recipe_text(table)
