"""The tables of a report. Each is defined once, so the page, Markdown and CSV show the same rows.

To add a table, write a function that yields it, and add the function to `TABLES`. A template inserts the table with
``table(tables["NAME"])``. Its CSV file is written automatically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from nersery.core.counting import MISSING
from nersery.evaluate.changes import KINDS_OF_CHANGE
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.report.model import COLUMNS, Report, SplitReport, SystemReport
from nersery.report.number_format import unbroken
from nersery.report.parts import GridReport, GroupScores
from nersery.report.system_names import BASELINE, label_of
from nersery.report.tables.setting_tables import setting_tables
from nersery.report.tables.table_columns import (
    DURATION,
    GAIN,
    GAP,
    INTERVAL,
    LENGTH,
    MEASURE,
    NAME,
    P_VALUE,
    PARAMETERS,
    POINTS,
    PROSE,
    TEXT,
    TYPE,
    Column,
    Kind,
    ReportTable,
    Row,
)

KAPPA = "Kappa: Cohen's kappa between the labels of the method and of the people, over the words of accepted sentences."
GROUPS = {
    "type": (TYPE, "Type", "type"),
    "language": (TEXT, "Language", "language"),
    "novelty": (TEXT, "In training", "whether gold training sentences contain the words"),
    "length": (TEXT, "Words", "number of words of the sentence"),
}
"""For each field ``per_KEY`` of `SystemReport`: the kind of the group's column, its heading and a caption."""


def report_tables(report: Report) -> dict[str, ReportTable]:
    """All tables of a report that have rows, by name."""
    tables = (table for make in TABLES for table in make(report) if table.rows)
    return {table.name: table for table in tables}


def _search(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("System", NAME, lambda row: label_of(row.name)), Column("Folds", of="folds"), Column("F1", POINTS, "f1"),
        Column("Difference from gold only", Kind(unbroken, style="text"), _if_any("difference")),
        Column("Expected gain", TEXT, _if_any("expected")), Column("Estimated", TEXT, _if_any("estimate")),
        Column("Took", TEXT, _if_any("took")), Column("Outcome", PROSE, "fate"),
    ]  # fmt: skip
    caption = (
        "F1 on held-out sentences, by cross-validation. The system with the largest expected gain is chosen. Expected "
        "gain is the usual gain of such systems, corrected by the difference here. It does not depend on test."
    )
    yield ReportTable.of("tried", caption, columns, report.search)


def _if_any(text: str) -> Callable[[Any], Any]:
    """A function that returns this attribute of an item, or None if it is empty."""
    return lambda item: getattr(item, text) or None


def _next(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("Sentence", PROSE, "text"), Column("Predicted entities", PROSE, _if_any("entities")),
        Column("Expected errors", TEXT, "expected_errors"), Column("Id", NAME, "id"),
    ]  # fmt: skip
    caption = "Raw sentences with the most expected errors; those similar to others rank lower"
    yield ReportTable.of("next", caption, columns, report.next_sentences)


def _reviewed(report: Report) -> Iterator[ReportTable]:
    """The share of each method's sentences that people accepted, for systems with the selector ``reviewed``."""
    columns = [
        Column("System", NAME, "system.label"), Column("Method", TEXT, "system.method"),
        Column(report.repetition.capitalize(), TEXT, "seed"),
        Column("Accepted", POINTS, lambda item: item.accepted / item.total if item.total else None),
        Column("Reviewed", of="total"), Column("Corrected", of="corrected"),
        Column("Kappa", TEXT, lambda item: None if item.kappa is None else f"{item.kappa:.2f}", KAPPA),
    ]  # fmt: skip
    items = (
        SimpleNamespace(system=system, seed=seed, total=decisions["accepted"] + decisions["rejected"], **decisions)
        for system in report.systems
        for stage in system.selection
        for seed, decisions in stage.history.items()
        if "accepted" in decisions
    )
    yield ReportTable.of("reviewed", "Sentences that people accepted, in percent", columns, items)


FIGURES = [Column("Precision", MEASURE, "precision"), Column("Recall", MEASURE, "recall"), Column("F1", MEASURE, "f1")]


def _scores(report: Report) -> Iterator[ReportTable]:
    """Precision, recall and F1 of each system, its difference from gold only, and the columns in `COLUMNS`."""
    several, reference = len(report.comparisons) > 1, report.reference
    columns = [
        Column("Method", NAME, "label"), *FIGURES,
        Column("Difference", GAIN, lambda item: None if item is reference else item.difference(reference)),
        Column("95 % interval", INTERVAL, lambda item: None if item.tested.low is None else item.tested),
        Column("p", P_VALUE, "tested.p"),
        *([Column("p, corrected", P_VALUE, "tested.corrected_p")] if several else []), *COLUMNS,
    ]  # fmt: skip
    caption = (
        "Precision, recall and F1 in percent points (micro average, whole entities), and the difference in F1 from "
        f"{BASELINE}"
    )
    yield ReportTable.of("scores", caption, columns, report.systems, "scores-table", BASELINE)


def _groups(report: Report) -> Iterator[ReportTable]:
    """A matrix of F1 by group and system, and a list of all scores, for each kind of group."""
    for kind, (column_kind, heading, by) in GROUPS.items():
        part = f"per_{kind}"
        systems = [system for system in report.systems if getattr(system, part)]
        names = dict.fromkeys(name for system in systems for name in getattr(system, part))
        of_base = getattr(report.reference, part) if report.reference else {}
        base = {name: scores.f1.mean for name, scores in of_base.items()}
        rows, full = [], []
        for name in sorted(names) if kind in ("type", "language") else names:
            scores = [getattr(system, part).get(name, GroupScores()) for system in systems]
            gold = next((score.gold for score in scores if score.gold is not None), None)
            compared = [
                None if group.f1.mean is None else (group.f1, None if system is report.reference else base.get(name))
                for system, group in zip(systems, scores, strict=True)
            ]
            shown = name or "none named"
            rows.append((shown, gold, *compared))
            full += [
                SimpleNamespace(group=shown, method=system.label, **dict(group))
                for system, group in zip(systems, scores, strict=True)
            ]
        columns = [Column(heading, column_kind), Column("Gold mentions"), *(Column(s.label, GAP) for s in systems)]
        caption = f"F1 by method and {by}, in percent points; beside it the difference from {BASELINE}"
        yield ReportTable(f"per-{kind}", caption, columns, rows, "matrix")
        first = [Column(heading, column_kind, "group"), Column("Method", NAME, "method")]
        columns = [*first, Column("Gold mentions", of="gold"), *FIGURES]
        caption = f"Precision, recall and F1 by method and {by}, in percent points"
        yield ReportTable.of(f"per-{kind}-full", caption, columns, full)


def _mistakes(report: Report) -> Iterator[ReportTable]:
    seeds = f", summed over {report.repetition}s" if len(report.seeds) > 1 else ""
    totals = f"Correct entities and mistakes on test, by method and kind{seeds}"
    by_type = f"The same by type: the gold type, or for spurious entities, the predicted type{seeds}"
    yield from _by_kind(report, "errors", (CORRECT, *KINDS), totals, by_type)


def _changes(report: Report) -> Iterator[ReportTable]:
    differing = f"Entities that differ from {BASELINE}, by"
    yield from _by_kind(report, "changes", [*KINDS_OF_CHANGE], f"{differing} method", f"{differing} type and method")


def _by_kind(report: Report, part: str, kinds: Sequence[str], *captions: str) -> Iterator[ReportTable]:
    """The counts of each kind: by system, then by type and system."""
    by_system = [(system.label, rows) for system in report.systems if (rows := getattr(system, part).per_type)]
    totals = [(label, *(sum(row.get(kind, 0) for row in rows.values()) for kind in kinds)) for label, rows in by_system]
    by_type = [
        (type_, label, *(rows[type_].get(kind, 0) for kind in kinds))
        for type_ in report.types
        for label, rows in by_system
        if type_ in rows
    ]
    columns = [Column("Method", NAME), *(Column(kind.capitalize()) for kind in kinds)]
    yield ReportTable(part, captions[0], columns, totals, baseline=BASELINE)
    yield ReportTable(f"{part}-by-type", captions[1], [Column("Type", TYPE), *columns], by_type)


def _confusion(report: Report) -> Iterator[ReportTable]:
    """The confusion matrix of the best system (or of the baseline), and a list of the wrong types of all systems."""
    system = next((system for system in (report.best, report.reference) if system and system.errors.confusion), None)
    if system is None:
        return
    cells = system.errors.confusion
    types = sorted({*cells, *(name for row in cells.values() for name in row)})
    rows = [(gold, *(cells.get(gold, {}).get(name, 0) for name in types)) for gold in types]
    caption = f"Types that {system.label} predicts (columns) for entities of gold types (rows)"
    yield ReportTable(
        "confusion", caption, [Column("Gold", TYPE), *(Column(name) for name in types)], rows, "confusion"
    )
    listed = [
        (other.label, gold, predicted, count)
        for other in report.systems
        for gold, row in other.errors.confusion.items()
        for predicted, count in row.items()
        if gold != predicted
    ]
    columns = [Column("Method", NAME), Column("Gold", TYPE), Column("Predicted", TYPE), Column("Entities")]
    yield ReportTable("confusion-full", "Wrong types of all methods", columns, sorted(listed, key=lambda row: -row[3]))


def _grid(report: Report) -> Iterator[ReportTable]:
    tuned = [(system.label, system.grid) for system in report.systems if system.grid]
    trials = tuned[0][1].trials if tuned else []
    rows = [
        (*trial.settings.values(), *(_trial(grid, number) for _, grid in tuned)) for number, trial in enumerate(trials)
    ]
    names = [*(trials[0].settings if trials else ()), *(label for label, _ in tuned)]
    columns = [Column(name, TEXT) for name in names]
    yield ReportTable("grid", "F1 on dev of the settings that were tried, in percent points", columns, rows, "matrix")


def _trial(grid: GridReport, number: int) -> str:
    trial = grid.trials[number]
    return POINTS.shown(trial.f1) + (" (chosen)" if trial.settings == grid.chosen else "")


def _teachers(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("Method", NAME, "system.label"), Column(report.repetition.capitalize(), TEXT, "teacher.seed"),
        Column("Teacher", TEXT, lambda item: f"{item.teacher.tagger} {item.teacher.model}".strip()),
        Column("Training sentences", of="teacher.sentences"), Column("Training steps", of="teacher.steps"),
        Column("Training time", DURATION, "teacher.seconds"), Column("F1 on dev", POINTS, "teacher.dev_f1"),
    ]  # fmt: skip
    items = (SimpleNamespace(system=s, teacher=teacher) for s in report.systems for teacher in s.teachers)
    caption = "The taggers that labelled raw text, and F1 on dev in percent points"
    yield ReportTable.of("teachers", caption, columns, items)


def _self_training(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("Method", NAME, "system.label"), Column(report.repetition.capitalize(), TEXT, "training.seed"),
        Column("Step", TEXT, lambda row: f"{row.number}{' (best)' * (row.number == row.training.best)}"),
        Column("Joined", of="step.joined"), Column("Certainty", Kind(lambda value: f"{value:.3f}"), "step.certainty"),
        Column("Training sentences", of="step.sentences"), Column("F1 on dev", POINTS, "step.dev_f1"),
    ]  # fmt: skip
    items = (
        SimpleNamespace(system=system, training=training, number=number, step=step)
        for system in report.systems
        for training in system.self_training
        for number, step in enumerate(training.steps)
    )
    yield ReportTable.of("self-training", "Sentences added to the training data at each step", columns, items)


def _diversity(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("Method", NAME, "label"), Column("Diversity-E", MEASURE, "diversity.entity"),
        Column("Diversity-N", MEASURE, "diversity.non_entity"), Column("Diversity-L", LENGTH, "diversity.length"),
    ]  # fmt: skip
    systems = (system for system in report.systems if any(measure for _, measure in system.diversity))
    yield ReportTable.of("diversity", "How much kept sentences differ from their parents", columns, systems, "narrow")


def _stages(report: Report) -> Iterator[ReportTable]:
    columns = [Column("Method", NAME), Column("Stage", TEXT), Column("Outcome", TEXT), Column("Sentences")]
    rows = [
        (system.label, f"{number}. {stage.method}", outcome, count)
        for system in report.systems
        for number, stage in enumerate(system.stages, 1)
        for outcome, count in (("kept", stage.written), *stage.reasons.items())
    ]
    yield ReportTable(
        "stages", "What the method and each selector kept, and why they rejected the others", columns, rows
    )


def _data(report: Report) -> Iterator[ReportTable]:
    sizes, mentions = split_rows(report.data)
    counted = [Column(name) for name in report.data]
    yield ReportTable(
        "data", "Sentences, words and entities by split", [Column("Count", TEXT), *counted], sizes, "narrow"
    )
    yield ReportTable("data-types", "Mentions by type and split", [Column("Type", TYPE), *counted], mentions, "narrow")


def split_rows(data: Mapping[str, SplitReport]) -> tuple[list[Row], list[Row]]:
    """Sentences, words and entities of each split, and its mentions of each type."""
    splits, units = data.values(), ("sentences", "words", "entities") if data else ()
    types = sorted({name for split in splits for name in split.types})
    sizes = [(unit, *(getattr(split, unit) for split in splits)) for unit in units]
    return sizes, [(name, *(split.types.get(name, 0) for split in splits)) for name in types]


def _run_time(report: Report) -> Iterator[ReportTable]:
    columns = [
        Column("Method", NAME), Column("Estimated per seed", DURATION), Column("Time per seed", DURATION),
        Column("Total time", DURATION), Column("Parameters of the tagger", PARAMETERS),
        Column("Of the method's models", PARAMETERS, remark="Of the method's models: pretrained, without their heads."),
        Column("Note", TEXT),
    ]  # fmt: skip
    systems = {system.name: system for system in report.systems}
    rows = []
    for name, time in report.run_time.items():
        took = [seconds for seconds in time.seconds if seconds is not None]
        mean, total = (sum(took) / len(took), sum(took)) if took else (None, None)
        system = systems.get(name, SystemReport(name=name, method=""))
        sizes = next((training.parameters for training in system.training), None), system.method_parameters
        rows.append((system.label, time.estimate, mean, total, *sizes, "at least: a process was killed" * time.killed))
    yield ReportTable("run-time", "Run time and parameters", columns, rows, "narrow")


def _versions(report: Report) -> Iterator[ReportTable]:
    versions = {"nersery": report.nersery or MISSING, **{k: v for k, v in report.versions.items() if k != "nersery"}}
    columns = [Column("Package", TEXT), Column("Version", TEXT)]
    yield ReportTable("versions", "Versions and computer", columns, list(versions.items()), "settings")


def _settings(report: Report) -> Iterator[ReportTable]:
    columns = [Column("Section", TEXT), Column("Setting", TEXT), Column("Value", TEXT)]
    rows = [(title, *row) for title, settings in setting_tables(report.recipe) for row in settings]
    yield ReportTable("settings", "The recipe with all defaults and changes", columns, rows)


TABLES: Iterable[Callable[[Report], Iterator[ReportTable]]] = (
    _scores, _search, _reviewed, _next, _changes, _groups, _confusion, _mistakes,
    _grid, _teachers, _self_training, _diversity, _stages, _run_time, _data, _settings, _versions,
)  # fmt: skip
