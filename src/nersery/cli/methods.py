"""Commands that make, label and choose sentences: augment, annotate, select."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Option

from nersery.annotate.base import AnnotateStage
from nersery.augment.base import AugmentStage
from nersery.cli import options
from nersery.cli.app import app
from nersery.cli.job_options import Plan, StageCommand, print_plan, run_job
from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.io.input_files.same_file import refuse_same_file
from nersery.pipeline.stage_options import JobOptions
from nersery.select.base import SelectStage, refuse_held_out
from nersery.taggers.tagger_folder.description import attached_share_for


@app.command(
    cls=StageCommand,
    epilog="Examples:\n\n  nersery augment train.conll more.jsonl --method mention_replacement --copies 3\n\n"
    "  nersery augment train.conll more.jsonl --method synonym_replacement --set rate=0.2 --set table=words.tsv\n\n"
    "  nersery augment train.conll more --method mention_replacement --copies 100 --shards 10000 --workers 4",
)
def augment(
    *,
    source: options.Source,
    target: options.Target,
    method: Annotated[str, options.method_option("augment", "A method from `nersery list augment`.")],
    copies: Annotated[int, Option(min=1, help="Attempts per sentence.")] = 1,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    gold: options.GoldToLearn = None,
    dev: options.Dev = None,
    plan: Plan = False,
    json: options.AsJson = False,
) -> None:
    """Make new labelled sentences and write them, without the originals. Failed attempts go to OUTPUT.rejects.jsonl."""
    job = options.option_group(JobOptions)
    refuse_same_file(target, source, gold, dev)
    chosen = settings_from(settings or [])
    if "copies" in chosen:  # recipes have it beside the settings of the method
        raise SettingsError(f"copies is not a setting of {method}, but an option: --copies {chosen['copies']}")
    stage = AugmentStage(method, chosen, copies=copies)
    stage.create_method()  # raises for wrong settings before any file is read
    corpus = options.open_corpus(source)
    learnt = options.open_corpus(gold) if gold is not None else corpus
    dev_gold = options.open_corpora([dev])
    training = Training(options.sentences_of(dev_gold), seed)
    stage = replace(stage, gold=learnt, training=training)
    if plan:
        print_plan(stage, corpus, as_json=json)
    else:
        run_job(stage, corpus, target, job, corpus, *dev_gold, as_json=json)


@app.command(
    cls=StageCommand,
    epilog="Examples:\n\n"
    '  nersery annotate raw.txt labelled.jsonl --method qa_prompting --set \'types=["PER", "LOC"]\'\n\n'
    "  nersery annotate raw.txt labelled.jsonl --method tagger_labels --set tagger=my-tagger\n\n"
    "  nersery annotate raw.txt labelled.jsonl --method tagger_labels --gold train.conll "
    "--set teacher.model=roberta-large\n\n"
    "  nersery annotate raw.txt labelled.jsonl --method llm_labels --gold train.conll --set model=gpt-5-mini --plan",
)
def annotate(
    *,
    source: options.Source,
    target: options.Target,
    method: Annotated[str, options.method_option("annotate", "A method from `nersery list annotate`.")],
    settings: options.Settings = None,
    gold: Annotated[str | None, options.file("Labelled sentences, for methods that need them or their types.")] = None,
    dev: options.Dev = None,
    seed: options.Seed = 0,
    plan: Plan = False,
    json: options.AsJson = False,
) -> None:
    """Label raw sentences; labels in the input are replaced. Repeat the command to resume."""
    job = options.option_group(JobOptions)
    refuse_same_file(target, source, gold, dev)
    stage = AnnotateStage(method, settings_from(settings or []))
    reads_first = stage.create_method().reads_first  # raises for wrong settings before any file is read
    if reads_first and job.shards is not None:
        raise SettingsError(
            f"{method} reads all sentences before it labels the first, so it cannot run with --shards; "
            "for many sentences with translations, use `nersery crosslingual align` and "
            "`nersery crosslingual project`"
        )
    examples, held_out = (options.open_corpora([name], options.reading_of_labelled()) for name in (gold, dev))
    training = Training(options.sentences_of(held_out), seed)
    stage = replace(stage, gold=options.sentences_of(examples), training=training)
    tagger = stage.settings.get("tagger")
    corpus = options.open_corpus(source, raw=True, attached=attached_share_for(stage.gold, tagger))
    options.note_training_mismatch(tagger, corpus, stage.gold)
    stage = replace(stage, raw=corpus if reads_first else ())
    if plan:
        print_plan(stage, corpus, as_json=json)
    else:
        run_job(stage, corpus, target, job, corpus, *examples, *held_out, as_json=json)


@app.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery select more.jsonl kept.jsonl --method agreement --gold train.conll "
    "--set tagger=my-tagger\n\n"
    "  nersery select more.jsonl kept.jsonl --method duplicates --gold train.conll --held-out test.conll",
)
def select(
    *,
    source: options.Source,
    target: options.Target,
    method: Annotated[str, options.method_option("select", "A selector from `nersery list select`.")],
    gold: Annotated[str | None, options.file("Gold sentences, to train a tagger on or to compare with.")] = None,
    held_out: Annotated[
        list[str] | None, options.file("For duplicates: a file of sentences to reject; may be repeated.")
    ] = None,
    dev: Annotated[str | None, options.file("Labelled sentences that decide when self_training stops.")] = None,
    seed: options.Seed = 0,
    threshold: Annotated[float | None, Option(help="Minimum score to keep.")] = None,
    settings: options.Settings = None,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Score sentences and keep the good ones, with their scores. The others go to OUTPUT.rejects.jsonl."""
    refuse_same_file(target, source, gold, *(held_out or ()), dev)
    selector_settings = settings_from(settings or [])
    if threshold is not None:
        if "threshold" in selector_settings:
            raise SettingsError("--threshold and --set threshold= set the same value. Use one of them")
        selector_settings["threshold"] = threshold
    stage = SelectStage(method, selector_settings)
    selector = stage.create_method()
    if held_out:
        refuse_held_out(selector)
    corpus = options.open_corpus(source)
    options.note_training_mismatch(selector_settings.get("tagger"), corpus)
    gold_sources, held_out_sources, dev_sources = map(options.open_corpora, ([gold], held_out or (), [dev]))
    learnt, avoided, dev_gold = map(options.sentences_of, (gold_sources, held_out_sources, dev_sources))
    training = Training(dev_gold, seed, held_out=[*avoided, *dev_gold])
    stage = replace(stage, gold=learnt, candidates=corpus, training=training)
    job = JobOptions(force=force, quiet=quiet)
    run_job(stage, corpus, target, job, corpus, *gold_sources, *held_out_sources, *dev_sources, as_json=json)
