"""Commands that compare with labels or alignments made by people: inspect agreement, inspect alignments."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from nersery import io
from nersery.cli import options, tables
from nersery.cli.app import Command, inspect_group
from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue
from nersery.core.outcome import Reject
from nersery.core.sentence import Corpus
from nersery.core.warnings import note, remark
from nersery.evaluate.alignment_error_rate import AlignmentScores, count_alignment, read_gold
from nersery.evaluate.annotator_agreement import AnnotatorAgreement, agreement
from nersery.evaluate.missing_sentences import is_comparable, shared_sentences
from nersery.evaluate.score_notes import note_of_scores
from nersery.io.pharaoh import AlignmentFile


@inspect_group.command(
    "agreement",
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect agreement anna.conll bela.conll\n\n"
    "  nersery inspect agreement anna.conll bela.conll --json | jq .all_words.kappa",
)
def agree(
    first: Annotated[str, Argument(help="Labelled by one person.", metavar="FIRST")],
    second: Annotated[str, Argument(help="The same sentences, labelled by another.", metavar="SECOND")],
    missing: Annotated[
        Literal["refuse", "leave-out"], Option(help="How to treat sentences that only one file has.")
    ] = "refuse",
    json: options.AsJson = False,
) -> None:
    """Compare two labellings: Cohen's kappa over words, F1 over whole entities."""
    reading = options.option_group(io.ReadOptions)
    first_corpus = Corpus(io.open_corpus(first, reading))
    second_corpus = options.read_relabelled(first_corpus, second)
    if missing == "leave-out":
        first_corpus, second_corpus, left_out = shared_sentences(first_corpus, second_corpus, second)
        note(f"left out {plural(left_out[0], 'sentence')} of the first file and {left_out[1]} of the second")
    try:
        result = agreement(first_corpus, second_corpus)
    except DataError as error:
        if not is_comparable(first_corpus, second_corpus):
            raise
        raise DataError(error.issues, fix=f"{error.fix}. If only one file has them, use --missing leave-out") from None
    note(note_of_scores(result.entities.as_dict(), first, second))
    if json:
        options.print_json(result.as_dict())
    else:
        _print(result)


def _print(agreement: AnnotatorAgreement) -> None:
    words = tables.table("", "kappa", "agree", "by chance", "words", figures_from=1)
    for name, kappa in (("all words", agreement.all_words), ("words in an entity", agreement.marked_words)):
        value = tables.NONE if kappa.value is None else f"{kappa.value:.3f}"
        shares = [f"{100 * share:.1f} %" if kappa.words else tables.NONE for share in (kappa.observed, kappa.expected)]
        words.add_row(tables.text(name), value, *shares, f"{kappa.words:,}")
    entities = tables.table("", "F1", "agree", "first", "second", figures_from=1)
    for name, counts in (*agreement.entities.per_type.items(), ("entities", agreement.entities.micro)):
        f1 = f"{100 * counts.f1:.1f}" if counts.gold + counts.predicted else tables.NONE
        entities.add_row(tables.type_name(name), f1, f"{counts.correct:,}", f"{counts.gold:,}", f"{counts.predicted:,}")
    tables.show(words, "", entities)
    remark(
        "all words: inside and outside entities; words in an entity: of the first file, the second or both. "
        "Entities agree if their boundaries and types do"
    )


@inspect_group.command(
    "alignments",
    cls=Command,
    epilog="Examples:\n\n  nersery inspect alignments gold.align en-de.align\n\n"
    "  nersery inspect alignments gold.align en-de.align --gold-first 1 --json | jq .alignment_error_rate",
)
def score_alignments(
    gold: Annotated[str, Argument(help="Made by hand: 0-0 is a sure link, 0p0 a possible one.", metavar="GOLD")],
    found: Annotated[str, Argument(help="Made by an aligner, for the same pairs.", metavar="LINKS")],
    first: options.First = 0,
    gold_first: Annotated[
        int | None, Option(min=0, max=1, help="Number of the first word in GOLD, if it differs.")
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Score word alignments against hand-made ones: precision, recall, alignment error rate (AER)."""
    gold_first = first if gold_first is None else gold_first
    references = read_gold(gold, first=gold_first)
    alignments = [line for line in AlignmentFile(found, first=first) if not isinstance(line, Reject)]  # no rejects
    pairs = min(len(references), len(alignments))
    if any(map(any, references[pairs:])) or any(alignments[pairs:]):  # ignore blank lines at the end
        raise DataError(
            Issue(f"{len(alignments):,} lines here, and {len(references):,} in {gold}", found),
            fix="give the alignments of the same pairs in the same order, with an empty line for a pair without links",
        )
    if not gold_first and not any(0 in link for _, possible in references for link in possible):
        note(f"no link in {gold} has a word 0. If its words are counted from 1, use --gold-first 1")
    counts = (count_alignment(links, *reference) for links, reference in zip(alignments, references, strict=False))
    scores = sum(counts, AlignmentScores())
    if json:
        options.print_json(scores.as_dict() | {"pairs": pairs})
        return
    shown = tables.table("precision", "recall", "AER", "links", "possible", "sure", "sure in gold", figures_from=0)
    shares = (f"{100 * share:.1f}" for share in (scores.precision, scores.recall, scores.error_rate))
    shown.add_row(*shares, *(f"{n:,}" for n in (scores.links, scores.possible, scores.sure, scores.gold)))
    tables.show(shown)
    remark("precision: share of links that are possible in gold; recall: share of sure links in gold that were found")
