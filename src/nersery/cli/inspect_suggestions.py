"""Commands that show the suggestions of methods and their new entities: inspect suggestions, inspect novelty."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from nersery.cli import options, tables
from nersery.cli.app import inspect_group
from nersery.core.errors import SettingsError, printable
from nersery.core.progress import Progress
from nersery.core.sentence import Corpus, Sentence
from nersery.core.text.spacing import joined_words
from nersery.core.training_context import Training
from nersery.core.warnings import note, remark
from nersery.evaluate.novelty import Novelty, load_oracle
from nersery.evaluate.novelty import novelty as count_novel
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.taggers.base import Tagger

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from nersery.augment.inspection.suggestions import Blank, Suggestion, SuggestionTable

UNTRAINED_METHOD = "masked_entity"
"""The method that uses a masked language model without training it."""
Oracle = Annotated[
    str | None,
    Option(metavar="TAGGER", help="A tagger that judges the new entities: a folder, or a Hugging Face model."),
]


@inspect_group.command(
    "suggestions",
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect suggestions test.conll --method masked_entity --method melm "
    "--method 'melm linearize=false' --gold train.conll --oracle my-tagger\n\n"
    "  nersery inspect suggestions test.conll --model bundled --id test:3 --top-k 10 --json",
)
def suggest(
    *,
    source: options.Source,
    methods: Annotated[
        list[str] | None,
        Option(
            "--method",
            metavar="'NAME KEY=VALUE ...'",
            help="A method and its settings; may be repeated. Default: masked_entity.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None, Option("--model", help="Use masked_entity with this model; may be repeated.")
    ] = None,
    gold: options.GoldToLearn = None,
    dev: options.Dev = None,
    oracle: Oracle = None,
    ids: Annotated[
        list[str] | None,
        Option("--id", help="Id of a sentence to show; may be repeated. Default: the first with an entity."),
    ] = None,
    count: Annotated[int, Option("--sentences", min=1, help="Sentences to show without --id.")] = 5,
    top_k: Annotated[int, Option(min=1, help="Suggestions for each mention.")] = 5,
    seed: options.Seed = 0,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare what methods or models suggest in place of mentions."""
    from nersery.augment.inspection import suggestions as inspection

    requests = _requests(methods or [], models or [])
    created = {label: inspection.create_suggester(**request) for label, request in requests.items()}
    if gold is None and any(map(inspection.is_trained_on_gold, created.values())):
        note(f"methods that learn are trained on {source} itself; see --gold")
    shown, examples, dev_gold = _read(source, gold, dev)
    blanks = inspection.blanks_of(inspection.choose_sentences(shown, ids or [], count, source))
    judge = _judge(oracle, {blank.entity.type for blank in blanks})
    for method in created.values():
        method.check()
    columns = {}
    for label, method in created.items():
        with Progress(printable(label), quiet=quiet) as progress:
            method.fit(examples, Training(dev_gold, seed, progress))
        columns[label] = inspection.suggestions(method, blanks, top_k)
    comparison = inspection.compare_suggestions(blanks, columns, judge)
    if json:
        options.print_json(_comparison_json(source, oracle, requests, comparison))
    else:
        _print_comparison(comparison)


def _requests(methods: Sequence[str], models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The method and settings of each column, by its label: first plain models; by default the plain method alone."""
    requests = {" ".join(text.split()): _parsed(text) for text in methods}
    plain: dict[str, dict[str, Any]] = {}
    for name in models:
        label = f"{UNTRAINED_METHOD} model={name}" if name in requests else name
        plain[label] = {"method": UNTRAINED_METHOD, "settings": {"model": name}}
    return {**plain, **requests} or {UNTRAINED_METHOD: {"method": UNTRAINED_METHOD, "settings": {}}}


def _parsed(text: str) -> dict[str, Any]:
    """Parse a method as the user typed it: its name, then its settings."""
    try:
        name, *pairs = shlex.split(text)
    except ValueError as error:
        reason = str(error).lower() if text.strip() else "the name is missing"
        expected = 'expected NAME KEY=VALUE ..., e.g. --method "melm epochs=5"'
        raise SettingsError(f'--method "{text}": {reason}; {expected}') from None
    return {"method": name, "settings": settings_from(pairs)}


def _read(source: str, gold: str | None, dev: str | None) -> tuple[Corpus, Corpus, Corpus]:
    """Read the sentences to show, those to learn from, and those for choosing the best weights."""
    names = list(dict.fromkeys(name for name in (source, gold, dev) if name is not None))
    sources = [options.open_corpus(name) for name in names]
    corpora = dict(zip(names, map(Corpus, sources), strict=True))
    options.report_repairs(*sources)
    return corpora[source], corpora[gold or source], corpora[dev] if dev else Corpus()


def _judge(name: str | None, types: Collection[str]) -> Tagger | None:
    """Load the oracle, and print a note on types that it does not know."""
    if name is None:
        return None
    oracle, unknown = load_oracle(name, types)
    if unknown:
        note(f"the oracle {name} does not know {', '.join(unknown)}, so it never agrees with their mentions")
    return oracle


def _comparison_json(
    source: str, oracle: str | None, requests: Mapping[str, dict[str, Any]], comparison: SuggestionTable
) -> dict[str, Any]:
    if oracle:
        for label, request in requests.items():
            agreeing, count = comparison.agreeing(label)
            request |= {"agreeing": agreeing, "suggestions": count}
    return {"file": source, "oracle": oracle, "methods": requests, **comparison.as_dict()}


def _print_comparison(comparison: SuggestionTable) -> None:
    judged = bool(comparison.verdicts)
    parts: list[Any] = []
    for sentence, numbers in comparison.by_sentence():
        parts += [tables.text(sentence.id, "bold"), _marked(sentence), "", _mentions(comparison, numbers), ""]
    if judged:
        rows = tables.table("method", "agreeing", "of", "share", figures_from=1)
        for label in comparison.columns:
            agreeing, count = comparison.agreeing(label)
            share = f"{100 * agreeing / count:.0f} %" if count else tables.NONE
            rows.add_row(tables.text(label), f"{agreeing:,}", f"{count:,}", share)
        parts.append(rows)
    tables.show(*parts)
    if judged:
        yes, no = tables.check_mark(True), tables.check_mark(False)
        remark(
            f"{yes} the oracle predicts the mention's type; {no} another, or {tables.NONE} no entity with exactly "
            "these words"
        )


def _marked(sentence: Sentence) -> Text:
    """The sentence with its mentions in bold."""
    inside = sentence.inside
    words = [(printable(word), "bold" if position in inside else "") for position, word in enumerate(sentence.words)]
    return tables.concatenated(part for word in words for part in (word, " "))


def _mentions(comparison: SuggestionTable, numbers: Sequence[int]) -> Table:
    """A table with a row for each mention and a column for each method."""
    rows = tables.table("mention", *comparison.columns, gaps=True)
    for number in numbers:
        blank = comparison.blanks[number]
        words = blank.sentence.mention(blank.entity)
        verdict: list[Any] = [" ", _verdict(comparison, blank, words)] if comparison.verdicts else []
        shown = [tables.text(joined_words(words), "bold"), "\n", tables.text(blank.entity.type, "cyan"), *verdict]
        guesses = [_guesses(comparison, blank, column[number]) for column in comparison.columns.values()]
        rows.add_row(tables.concatenated(shown), *guesses)
    return rows


def _guesses(comparison: SuggestionTable, blank: Blank, suggestions: Sequence[Suggestion]) -> Table | Text:
    """A list of suggestions, with their probabilities and the verdicts of the oracle."""
    if not suggestions:
        return tables.text("no word to replace" if not blank.positions else "none", "dim")
    rows = tables.grid()
    for suggestion in suggestions:
        chance = suggestion.probability
        share = f"{100 * chance:.1f} %" if chance >= 0.0005 else "< 0.1 %"
        verdict = [_verdict(comparison, blank, suggestion.words)] if comparison.verdicts else []
        rows.add_row(tables.text(joined_words(suggestion.words)), tables.text(share, "dim"), *verdict)
    return rows


def _verdict(comparison: SuggestionTable, blank: Blank, mention: Sequence[str]) -> Text:
    """A check mark for the oracle's verdict, and the type that the oracle predicts if it is another."""
    predicted_type = comparison.verdict(blank, mention)
    agrees = predicted_type == blank.entity.type
    shown = tables.check_mark(agrees) if agrees else f"{tables.check_mark(agrees)} {predicted_type or tables.NONE}"
    return tables.text(shown, "green" if agrees else "red")


@inspect_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect novelty more.jsonl --gold train.conll --oracle my-tagger\n\n"
    "  nersery inspect novelty more.jsonl --gold train.conll --json",
)
def novelty(
    source: options.Source,
    gold: Annotated[str, options.file("Gold sentences that the new ones were made from.")],
    oracle: Oracle = None,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Count generated entities that are not in gold, and how many a tagger confirms."""
    generated, known = (options.open_corpus(name) for name in (source, gold))
    result = count_novel(generated, known)
    options.report_repairs(generated, known)
    judge = _judge(oracle, result.per_type)
    if judge is not None:
        with Progress("novelty", quiet=quiet) as progress:
            result = count_novel(generated, known, judge, progress)
    if json:
        options.print_json({"file": source, "gold": gold, "oracle": oracle, **result.as_dict()})
    else:
        _print_novelty(result)


def _print_novelty(result: Novelty) -> None:
    judged = ("valid", "of new") if result.judged else ()
    rows = tables.table("type", "distinct", "new", *judged, figures_from=1)
    for name, counts in [*result.per_type.items(), ("all", result.total)]:
        figures = [f"{counts.distinct:,}", f"{counts.new:,}"]
        if counts.valid is not None:
            figures += [f"{counts.valid:,}", f"{100 * counts.valid / counts.new:.1f} %" if counts.new else tables.NONE]
        rows.add_row(tables.type_name(name), *figures)
    tables.show(rows)
    valid = "; valid: the oracle predicts its boundaries and type at least once" if result.judged else ""
    remark(f"new: gold has no mention with these words and this type{valid}")
