"""Commands for taggers: train, predict, evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from nersery import io
from nersery.cli import options, tables
from nersery.cli.app import app
from nersery.cli.job_options import StageCommand, run_job
from nersery.core import registry
from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.random import MAX_SAMPLES
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.system.files import refuse_within
from nersery.core.training_context import Training
from nersery.core.warnings import note, remark
from nersery.evaluate.error_analysis import CORRECT, KINDS, Errors, mistake_text
from nersery.evaluate.missing_sentences import check_pairs, note_of_missing, with_some_missing
from nersery.evaluate.score_notes import note_of_scores
from nersery.evaluate.streamed_scores import StreamedScores, score_by_id, score_streams
from nersery.experiments.data import corpus_notes
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.io.input_files.same_file import refuse_same_file
from nersery.pipeline.stage_options import JobOptions
from nersery.report.number_format import p_text
from nersery.taggers.base import Backend, PredictStage, Tagger, check_tagger_folder, train_into
from nersery.taggers.tagger_folder.description import attached_share_learnt

if TYPE_CHECKING:
    from nersery.evaluate.significance import Comparison

SHOWN_MISTAKES = 3
"""The number of examples of each kind of error."""


@app.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery train train.conll my-tagger --dev dev.conll\n\n"
    "  nersery train train.conll my-tagger --dev dev.conll --set model=xlm-roberta-base --set epochs=20 --set head=crf",
)
def train(
    files: Annotated[
        list[str], Argument(help="Labelled corpora, then the folder to write.", metavar="INPUT... FOLDER")
    ],
    *,
    dev: options.Dev = None,
    method: Annotated[
        str | None,
        options.method_option(
            "tagger", "A tagger from `nersery list tagger`; by default the preset's, or transformer."
        ),
    ] = None,
    preset: Annotated[
        str | None, Option(metavar="PRESET", help="A paper's settings, from `nersery list presets`.")
    ] = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    onnx: Annotated[bool, Option("--onnx", help="Also write the network as model.onnx (extra onnx).")] = False,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a tagger on one or more files, such as gold and generated sentences. Repeat the command to resume."""
    names, folder = options.split_folder(files, "nersery train train.conll my-tagger")
    check_tagger_folder(folder, force=force)
    for name in [*names, *([dev] if dev else [])]:
        refuse_within(folder, io.input_path(name))
    tagger = _untrained(method, preset, settings or [])
    if onnx:
        from nersery.taggers.tagger_folder.onnx_export import check_onnx, export_onnx

        check_onnx()
    sources = options.open_corpora(names)
    by_file = {name: [*source] for name, source in zip(names, sources, strict=True)}
    gold = [sentence for name in names for sentence in by_file[name]]
    dev_source = options.open_corpora([dev])
    dev_sentences = options.sentences_of(dev_source)
    options.report_repairs(*sources, *dev_source)
    if dev and not any(sentence.entities for sentence in dev_sentences):
        raise DataError(
            Issue("no sentence of the dev file has an entity, so it cannot choose weights", dev),
            fix="name a labelled file, or leave out --dev: then the last weights are kept",
        )
    _note_oddities(by_file, dev_sentences)
    history = train_into(folder, tagger, gold, Training(dev_sentences, seed), force=force, quiet=quiet)
    if onnx:
        export_onnx(folder)
    _print_training(folder, history, len(gold), as_json=json)


def _print_training(folder: Path, history: Mapping[str, Any], gold: int, *, as_json: bool) -> None:
    best = max((evaluation["score"] for evaluation in history["evaluations"]), default=None)
    if as_json:
        best_step = None if best is None else history["best_step"]
        figures = {"steps": history["steps"], "best_step": best_step, "dev_f1": best}
        options.print_json({"folder": str(folder), "sentences": gold, **figures})
        return
    outcome = f", best dev F1 {100 * best:.1f} at step {history['best_step']}" if best is not None else ""
    counts = f"{plural(gold, 'sentence')}, {plural(history['steps'], 'step')}"
    print(printable(f"{folder}: {counts}{outcome}"))


def _untrained(method: str | None, preset: str | None, settings: Sequence[str]) -> Tagger:
    """Create the tagger that the options name, or raise `SettingsError` if they name two."""
    from nersery.experiments.recipe import with_preset

    tagger_settings, issues = with_preset(settings_from(settings) | ({"preset": preset} if preset else {}))
    if issues:
        raise SettingsError("\n".join(issues))
    named_method = tagger_settings.pop("method", None)
    if method and named_method and method != named_method:
        raise SettingsError(f"--method is {method}, but the preset or a setting names {named_method}. Use one of them")
    return registry.create("tagger", method or named_method or "transformer", tagger_settings)


def _note_oddities(files: Mapping[str, Sequence[Sentence]], dev: Sequence[Sentence]) -> None:
    """Print notes on oddities of the training files, and on sentences in both train and dev."""
    gold = [sentence for part in files.values() for sentence in part]
    note(corpus_notes.note_of_unlabelled(files))
    note(corpus_notes.note_of_tag_sets(files))
    note(corpus_notes.note_of_labellings("train", gold))
    note(corpus_notes.note_of_length("train", sum(map(len, gold)), len(gold)))
    note(corpus_notes.note_of_types("dev", dev, types_in(gold)))
    note(corpus_notes.note_of_overlap("dev", dev, "train", gold))


@app.command(
    cls=StageCommand,
    epilog="Examples:\n\n  nersery predict my-tagger raw.txt labelled.jsonl\n\n"
    "  nersery predict my-tagger test.conll predicted.conll",
)
def predict(
    tagger: Annotated[
        str,
        Argument(
            help="A folder, `bundled-ner`, `bundled-multilingual-ner`, or a Hugging Face token-classification model.",
            metavar="TAGGER",
        ),
    ],
    source: options.Source,
    target: options.Target,
    backend: Annotated[Backend, Option(help="What runs the network; `onnx` needs `train --onnx`.")] = "torch",
    json: options.AsJson = False,
) -> None:
    """Label sentences with a trained tagger; labels in the input are replaced."""
    job = options.option_group(JobOptions)
    refuse_same_file(target, source)
    corpus = options.open_corpus(source, raw=True, attached=attached_share_learnt(tagger))
    options.note_training_mismatch(tagger, corpus)
    run_job(PredictStage(tagger, backend), corpus, target, job, corpus, as_json=json)


Missing = Literal["refuse", "leave-out", "missed"]


@app.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery evaluate test.conll predicted.jsonl\n\n"
    "  nersery evaluate test.conll better.jsonl --against baseline.jsonl --json\n\n"
    "  nersery evaluate test.conll predicted.jsonl --errors",
)
def evaluate(
    gold: Annotated[str, Argument(help="The correct labels.", metavar="GOLD")],
    predicted: Annotated[str, Argument(help="The same sentences, labelled by a tagger.", metavar="PREDICTED")],
    against: Annotated[str | None, options.file("Another tagger's labels, to test the difference.")] = None,
    missing: Annotated[
        Missing,
        Option(help="Gold sentences that the other file lacks: refuse (an error), leave-out, or count as missed."),
    ] = "refuse",
    errors: Annotated[bool, Option("--errors", help="Show errors by kind, with examples.")] = False,
    samples: Annotated[int, Option(min=100, max=MAX_SAMPLES, help="Bootstrap resamplings.")] = 10_000,
    seed: options.Seed = 0,
    json: options.AsJson = False,
) -> None:
    """Score predicted entities: strict precision, recall and F1, also by type."""
    names, compared = [predicted, *([against] if against is not None else [])], None
    scored = _scored(gold, names, missing, errors=errors)
    if not len(scored.counters[0].sentence_counts):
        raise DataError(
            Issue("there is no sentence to score", gold),
            fix="name files with sentences; nersery inspect stats shows what is read",
        )
    result: dict[str, Any] = scored.counters[0].scores.as_dict()
    if against is not None:
        from nersery.evaluate.significance import paired_bootstrap

        counts, baseline_counts = (counter.sentence_counts for counter in scored.counters)
        compared = paired_bootstrap(baseline_counts, counts, samples=samples, seed=seed)
        result["against"] = {"file": against, **compared.as_dict()}
    if scored.errors is not None:
        result["errors"] = scored.errors.as_dict(SHOWN_MISTAKES)
    _note_scores(gold, names, scored, compared)
    if json:
        options.print_json(result)
        return
    _print_scores(result, compared)
    if scored.errors is not None:
        _print_errors(scored.errors)


def _scored(gold: str, names: Sequence[str], missing: Missing, *, errors: bool) -> StreamedScores:
    """Score the files: in constant memory if they hold the same sentences, otherwise by reading them whole."""

    def opened(name: str) -> io.Source:
        return io.open_corpus(name, options.option_group(io.ReadOptions))

    if missing == "refuse" and all(Path(io.input_path(name)).is_file() for name in (gold, *names)):
        for score in (score_streams, score_by_id):  # the first writes nothing, the second reads any order
            if (scored := score(opened(gold), [opened(name) for name in names], errors=errors)) is not None:
                return scored
    gold_corpus = Corpus(opened(gold))
    if missing == "refuse":
        labelled = [options.read_relabelled(gold_corpus, name) for name in names]
    else:
        labelled = [Corpus(opened(name)) for name in names]
        for name, other in zip(names, labelled, strict=True):
            note(note_of_missing(gold_corpus, other, name))
        gold_corpus, labelled = with_some_missing(gold_corpus, [*zip(names, labelled, strict=True)], missing)
    for name, other in zip(names, labelled, strict=True):
        check_pairs(gold_corpus, other, name, missing)
    in_order = [[other.by_id[sentence.id] for sentence in gold_corpus] for other in labelled]
    result = score_streams(gold_corpus, in_order, errors=errors)
    assert result is not None, "pairs have been checked"
    return result


def _note_scores(gold: str, names: Sequence[str], scored: StreamedScores, compared: Comparison | None) -> None:
    from nersery.evaluate.significance import caution

    for name, counter in zip(names, scored.counters, strict=True):
        note(note_of_scores(counter.scores.as_dict(), gold, name))
    if compared is not None:
        note(caution(compared.sentences))


def _print_scores(result: dict[str, Any], compared: Comparison | None) -> None:
    shares, counts = ("precision", "recall", "f1"), ("correct", "predicted", "gold")
    shown = tables.table("", "precision", "recall", "F1", *counts, figures_from=1)
    for name, row in [*result["per_type"].items(), ("micro", result["micro"])]:  # a type may be "micro"
        of_some = row["predicted"] + row["gold"] > 0
        figures = (f"{100 * row[key]:.1f}" if of_some else tables.NONE for key in shares)
        shown.add_row(tables.type_name(name), *figures, *(f"{row[key]:,}" for key in counts))
    tables.show(shown)
    if compared is not None:
        print(f"against {printable(result['against']['file'])}: F1 {compared}, {p_text(compared.p_value)}")
    remark("strict: an entity is correct if its boundaries and its type are")


def _print_errors(errors: Errors) -> None:
    shown = tables.table("", CORRECT, *KINDS, figures_from=1)
    for type_, counts in errors.per_type.items():
        shown.add_row(tables.type_name(type_), *(f"{count:,}" for count in counts.values()))
    print()
    tables.show(shown)
    for mistake in errors.examples(SHOWN_MISTAKES):
        text = mistake_text(mistake.truth.words, mistake.gold, mistake.predicted)
        print(printable(f"{mistake.kind} in {mistake.truth.id}: {text}"))
    for kind, meaning in KINDS.items():
        remark(f"{kind}: {meaning}")
