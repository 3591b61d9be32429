"""Commands that count and measure: inspect quality, inspect results, inspect stats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from typer import Argument, Option

from nersery import io
from nersery.cli import options, tables
from nersery.cli.app import Command, inspect_group
from nersery.core.batched import batched
from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import composed
from nersery.core.warnings import note, remark
from nersery.evaluate.corpus_statistics import corpus_statistics, in_several_forms
from nersery.evaluate.diversity import diversity
from nersery.evaluate.novelty import novelty
from nersery.experiments.data.corpus_notes import note_of_length
from nersery.io.repairs import NFC, repair_hint
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.models.likelihoods.likelihood import Likelihood

Row = dict[str, Any]
"""The name of a file and its figures."""
FILES_IN_TABLE = 4
"""The most files in a table, so that their names fit beside each other."""


@inspect_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect quality more.jsonl kept.jsonl --gold train.conll --model gpt2\n\n"
    "  nersery inspect quality more.jsonl --gold train.conll --no-perplexity --json",
)
def quality(
    files: Annotated[list[str], Argument(help="JSONL files from `nersery augment`.", metavar="GENERATED...")],
    gold: Annotated[str, options.file("Gold sentences that the new ones were made from.")],
    model: Annotated[
        str | None,
        Option(metavar="MODEL", help="Model for perplexity, causal or masked: a name or folder (default: bundled)."),
    ] = None,
    perplexity: Annotated[
        bool, Option("--perplexity/--no-perplexity", help="Measure perplexity, which takes time.")
    ] = True,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure generated sentences: difference from their parents, new entities, fluency."""
    if model is not None and not perplexity:
        raise SettingsError("--model is for perplexity, which --no-perplexity leaves out. Use one of them")
    model = model or "bundled"
    source, *sources = (options.open_corpus(name) for name in (gold, *files))
    known = SentenceTable(source)
    rows = [_row(name, generated, known) for name, generated in zip(files, sources, strict=True)]
    options.report_repairs(source, *sources)
    for row in rows:
        if row["orphans"]:
            note(
                f"{row['orphans']:,} of {row['sentences']:,} sentences of {row['file']} name no "
                f"parent, or one that is not in {gold}, so they do not count for diversity. Expected JSONL written by "
                "`nersery augment`, and the input of that command as gold"
            )
    kind = None
    if perplexity:
        rows = [{"file": gold, "sentences": len(known)}, *rows]
        kind, scores = _likelihoods(model, known, {gold: known, **dict(zip(files, sources, strict=True))}, quiet=quiet)
        for row in rows:
            likelihood = scores[row["file"]]
            row["perplexity"] = likelihood.perplexity if math.isfinite(likelihood.perplexity) else None
            row["subwords"] = likelihood.subwords
    if json:
        options.print_json({"gold": gold, "model": model if perplexity else None, "kind": kind, "files": rows})
    else:
        _print_quality(rows, kind, model)


def _row(name: str, generated: Iterable[Sentence], gold: Sequence[Sentence]) -> Row:
    """The figures of a file that need no model."""
    values = diversity(generated, gold).as_dict()
    compared, orphans = values.pop("sentences"), values.pop("orphans")
    new = novelty(generated, gold).total.new
    return {"file": name, "sentences": compared + orphans, "orphans": orphans, "diversity": values, "new_entities": new}


def _likelihoods(
    name: str, gold: Sequence[Sentence], corpora: Mapping[str, Iterable[Sentence]], *, quiet: bool
) -> tuple[str, dict[str, Likelihood]]:
    """Return the name of the model's measure and the likelihood of each corpus; warn if it does not suit gold."""
    from nersery.models.likelihoods.fluency import likelihood, open_scorer, warn_if_unsuited
    from nersery.models.pretrained.loading import ModelSource

    source = ModelSource(name)
    model = open_scorer(source)
    warn_if_unsuited(model, source, gold)
    likelihoods = {}
    for file, sentences in corpora.items():
        with Progress(f"{model.kind} of {printable(file)}", quiet=quiet) as progress:
            likelihoods[file] = likelihood(model, sentences, progress)
    return model.kind, likelihoods


def _print_quality(rows: Sequence[Row], kind: str | None, model: str) -> None:
    orphans = any(row.get("orphans") for row in rows)
    head = ["file", "sentences", *(["without parent"] if orphans else []), "Diversity-E", "Diversity-N", "Diversity-L"]
    shown = tables.table(*head, "new entities", *([kind] if kind else []), figures_from=1)
    for row in rows:
        figures = [_figure(row["sentences"]), *([_figure(row.get("orphans"))] if orphans else [])]
        shares = row.get("diversity", {})
        figures += [
            _share(shares.get("entity")),
            _share(shares.get("non_entity")),
            _figure(shares.get("length"), ",.2f"),
        ]
        figures += [_figure(row.get("new_entities")), *([_figure(row["perplexity"], ",.1f")] if kind else [])]
        shown.add_row(tables.text(row["file"]), *figures)
    tables.show(shown)
    legend = "Diversity-E, -N: words in entities (E) and outside (N) that no parent has there; -L: difference in words"
    remark(f"{legend}{f'; {kind}: by the model {model}' if kind else ''}")


def _share(value: float | None) -> str:
    return tables.NONE if value is None else f"{100 * value:.1f} %"


def _figure(value: float | None, form: str = ",") -> str:
    return tables.NONE if value is None else format(value, form)


@inspect_group.command(
    cls=Command,
    epilog="Examples:\n\n  nersery inspect results runs/demo runs/mine\n\n"
    "  nersery inspect results runs/demo runs/mine --as latex",
)
def results(
    folders: Annotated[list[str], Argument(help="Folders of runs or sweeps.", metavar="RUN...")],
    form: Annotated[Literal["text", "markdown", "latex", "csv"], Option("--as", help="Format of the table.")] = "text",
    json: options.AsJson = False,
) -> None:
    """Show F1 of several runs in one table, with the difference from gold only and its interval."""
    if json and form != "text":
        raise SettingsError("--json and --as name two formats. Use one of them")
    from nersery.report.tables.several_runs import reports_of, results_table
    from nersery.report.templating import markdown_table

    table = results_table(reports_of(folders))
    if json:
        headings = [column.heading for column in table.columns]
        options.print_json([dict(zip(headings, row, strict=True)) for row in table.shown])
    elif form == "text":
        shown = tables.table(*(column.heading for column in table.columns), figures_from=2)
        for row in table.shown:
            shown.add_row(*map(tables.text, row))
        tables.show(shown)
        remark(table.caption)
    else:
        table_text = table.latex if form == "latex" else table.csv if form == "csv" else markdown_table(table)
        print(table_text.rstrip("\n"))


@inspect_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect stats train.conll dev.conll test.conll\n\n"
    "  nersery inspect stats train.conll --repair lost-prefix --json | jq '.[0].types'",
)
def stats(
    files: Annotated[list[str], Argument(help="Corpora, or - for standard input.", metavar="INPUT...")],
    json: options.AsJson = False,
) -> None:
    """Count sentences, words, entities by type, and dropped sentences by reason; list the errors of a file."""
    reading = options.option_group(io.ReadOptions)
    rows = []
    normalizable = set[str]()
    issues: list[Issue] = []
    fixes: list[str] = []
    for name in files:
        try:
            rows.append(corpus_statistics(io.open_corpus(name, reading), name, normalizable))
        except DataError as error:
            issues += error.issues
            fixes.append(error.fix)
    if issues:
        raise DataError(issues, fix="; ".join(dict.fromkeys(fixes)))
    if json:
        options.print_json(rows)
    else:
        _print_stats(rows)
        _note_forms(rows, in_several_forms(normalizable))


def _print_stats(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(printable(f"{row['file']}  ({row['format']})"))
        size = max(1, row["sentences"])
        print(
            f"  {plural(row['sentences'], 'sentence')}, {plural(row['words'], 'word')} "
            f"({row['words'] / size:.1f} per sentence, longest {row['longest_sentence']:,})"
        )
        print(
            f"  {plural(row['entities'], 'entity')} over {plural(row['entity_words'], 'word')}; "
            f"{plural(row['sentences_without_entities'], 'sentence')} without entities"
        )
        names = tables.padded([*map(tables.short_type, row["types"])])
        for type_, count in zip(names, row["types"].values(), strict=True):
            print(f"    {type_}  {count:>7,}  {100 * count / row['entities']:5.1f} %")
        for first, *others in row["similar_types"]:
            if listed := [f'"{other}"' for other in others if composed(other) != composed(first)]:
                are = f"{' and '.join(listed)} may be {'a typo' if len(listed) == 1 else 'typos'}"
                note(f'{are} of "{first}"; to use one name: nersery dataset convert --type OLD=NEW')
        if not row["sentences"]:
            why = "all are rejected" if row["rejected"] else "the file is empty"
            note(f"there is no sentence in {row['file']}: {why}")
        note(note_of_length(printable(row["file"]), row["words"], row["sentences"]))
        if count := row["texts_with_different_labels"]:
            note(
                f"{printable(row['file'])} labels {plural(count, 'text')} in several ways: keep one labelling of each. "
                "To compare two people, save the sentences of each to a file of their own, in the same order: "
                "nersery inspect agreement"
            )
        for title in ("generated_by", "repaired"):
            if row[title]:
                counts = ", ".join(f"{key} {count:,}" for key, count in row[title].items())
                print(printable(f"  {title.replace('_', ' ')}: {counts}"))
        for title, reasons in (("rejected", row["reasons"]), ("dropped before", row["dropped"])):
            if reasons:
                print(f"  {title}: {plural(sum(reasons.values()), 'sentence')}")
            for reason, count in reasons.items():
                print(f"    {count:>7,}  {printable(reason)}")
    if len(rows) > 1:
        _print_types(rows)


def _note_forms(rows: list[dict[str, Any]], words: list[str]) -> None:
    """Print a note on words and types that look the same but are different strings, within a file or between files.

    Args:
        words: The words that occur in several Unicode forms.
    """
    if words:
        note(
            f'there are several Unicode forms of {plural(len(words), "word")}, such as "{printable(words[0])}", which '
            f"count as different words: {repair_hint(NFC)}"
        )
    by_look: dict[str, set[str]] = {}
    for type_ in {type_ for row in rows for type_ in row["types"]}:
        by_look.setdefault(composed(type_), set()).add(type_)
    for look, forms in sorted(by_look.items()):
        if len(forms) > 1:
            note(
                f'"{printable(look)}" is written in {len(forms)} Unicode forms, which are counted and learnt as '
                f"different types: {repair_hint(NFC)}"
            )


def _print_types(rows: list[dict[str, Any]]) -> None:
    """Print how often each type occurs in each file, so that splits can be compared."""
    types = sorted({type_ for row in rows for type_ in row["types"]})
    for few in batched(rows, FILES_IN_TABLE):
        shown = tables.table("type", *(row["file"] for row in few), figures_from=1)
        for type_ in types:
            shown.add_row(tables.type_name(type_), *(f"{row['types'].get(type_, 0):,}" for row in few))
        tables.show(shown)
