"""Analysis of a system's predictions: difference from the baseline, groups, mistakes, fixed and broken entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nersery import io
from nersery.core.sentence import Corpus
from nersery.evaluate.changes import Change, count_changes, find_changes
from nersery.evaluate.entity_groups import LENGTHS, NOVELTY, length_group, novelty_groups, score_groups
from nersery.evaluate.error_analysis import Errors, find_errors, spread
from nersery.evaluate.scores import Counts, sentence_counts
from nersery.evaluate.significance import f1_interval, paired_bootstrap, sign_flip
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.systems import System
from nersery.report.parts import Measure

SHOWN_MISTAKES = 3
"""Maximum number of mistakes of each kind to show."""
SHOWN_CHANGES = 10
"""Maximum number of fixed entities to show, and of broken ones."""
AVERAGED = "test sentences, F1 averaged over seeds"

Predictions = Sequence[tuple[Corpus, Corpus]]
"""The gold sentences and the predictions of a system, for each seed."""


def predictions(run: RunFolder, system: System) -> Predictions:
    """The gold sentences that each seed is scored on, and the predictions of a system on them."""
    return [(run.test(seed), io.read(run.path(seed, system, "predicted.jsonl"))) for seed in run.recipe.seeds]


def analyse(run: RunFolder, system: System, baseline: Predictions) -> dict[str, Any]:
    """The fields of `nersery.report.model.SystemReport` that are computed from predictions.

    Args:
        baseline: The predictions of the baseline, gold only.
    """
    predicted = predictions(run, system)
    low, high = f1_interval(_counts(run, predicted), samples=run.recipe.evaluate.bootstrap_samples)
    novelty_of_types = [novelty_groups(run.sampled(seed)[0]) for seed in run.recipe.seeds]
    novelty = [score_groups(*pair, group_of) for pair, group_of in zip(predicted, novelty_of_types, strict=True)]
    lengths = [score_groups(*pair, length_group) for pair in predicted]
    return {
        "f1_interval": {"low": low, "high": high},
        "per_novelty": group_scores(run, map(_as_dicts, novelty), NOVELTY),
        "per_length": group_scores(run, map(_as_dicts, lengths), LENGTHS),
        "errors": _errors(predicted),
        "against_gold": None if system.is_baseline else _against_gold(run, predicted, baseline),
        **({} if system.is_baseline else {"changes": _changes(predicted, baseline)}),
    }


def _as_dicts(groups: Mapping[str, Counts]) -> dict[str, Any]:
    return {name: counts.as_dict() for name, counts in groups.items()}


def group_scores(run: RunFolder, groups: Iterable[Mapping[str, Any]], order: Sequence[str] = ()) -> dict[str, Any]:
    """The scores of each type, language or other group over the seeds that have it, and its gold mentions.

    A fold that has only predictions of a group is ignored, because a single one would make its F1 0.

    Args:
        groups: For each seed, counts by group.
        order: Order of the groups; empty sorts them by name.
    """
    groups, all_mentions = list(groups), sum if run.recipe.sample.folds else max  # folds together form one test set
    names = {name for one in groups for name in one}
    rows = {name: [one[name] for one in groups if name in one] for name in order or sorted(names) if name in names}
    return {
        name: {
            **measures([one for one in counts if one["gold"]] or counts),
            "gold": all_mentions(one["gold"] for one in counts),
        }
        for name, counts in rows.items()
    }


def measures(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Precision, recall and F1 over seeds, computed from the scores of each seed."""
    return {name: Measure.of(score[name] for score in scores) for name in ("precision", "recall", "f1")}


def _errors(predicted: Predictions) -> dict[str, Any]:
    errors = [find_errors(*pair) for pair in predicted]
    total = Errors(sum((e.correct for e in errors), Counter()), [mistake for e in errors for mistake in e.mistakes])
    examples = [mistake.as_dict() for mistake in errors[0].examples(SHOWN_MISTAKES)]
    return {"per_type": total.per_type, "confusion": total.confusion, "examples": examples}


def _changes(predicted: Predictions, baseline: Predictions) -> dict[str, Any]:
    by_seed = [find_changes(gold, old, new) for (gold, new), (_, old) in zip(predicted, baseline, strict=True)]
    counts = count_changes(change for changes in by_seed for change in changes)
    examples = (spread([c for c in by_seed[0] if c.kind == kind], SHOWN_CHANGES) for kind in ("fixed", "broken"))
    return {
        "per_type": {type_: dict(sorted(row.items())) for type_, row in counts.items()},
        "examples": [_example(change) for some in examples for change in some],
    }


def _example(change: Change) -> dict[str, Any]:
    truth = change.truth
    shown = {"kind": change.kind, "id": truth.id, "words": truth.words, "language": truth.language}
    labels = {"gold": truth.entities, "before": change.before.entities, "after": change.after.entities}
    return {**shown, **labels, "entity": change.entity}


def _against_gold(run: RunFolder, predicted: Predictions, baseline: Predictions) -> dict[str, Any]:
    """The comparison of a system with the baseline on the same test sentences and seeds."""
    seeds, folds = run.recipe.seeds, run.recipe.sample.folds
    counts, gold_counts = _counts(run, predicted), _counts(run, baseline)
    samples = run.recipe.evaluate.bootstrap_samples
    test_text = "the sentences of all folds" if folds and len(seeds) > 1 else AVERAGED
    f1_by_seed = [[*map(pooled_f1, seed_counts)] for seed_counts in (gold_counts, counts)]
    over_seeds = sign_flip(*f1_by_seed) if len(seeds) > 1 and not folds else None
    return {
        **paired_bootstrap(gold_counts, counts, samples=samples).as_dict(),
        "samples": samples,
        "test": f"paired bootstrap over {test_text}, two-sided",
        "p_over_seeds": over_seeds,
    }


def counts_on_test(run: RunFolder, system: System) -> NDArray[np.int64]:
    """The counts of each test sentence. Folds together form one test set.

    Shape: (seeds, sentences, 3), or with folds (1, sentences, 3).
    """
    return _counts(run, predictions(run, system))


def _counts(run: RunFolder, predictions_by_seed: Predictions) -> NDArray[np.int64]:
    counts = [sentence_counts(*pair) for pair in predictions_by_seed]
    return np.concatenate(counts)[None] if run.recipe.sample.folds else np.stack(counts)


def pooled_f1(counts: NDArray[np.int64]) -> float:
    """F1 over all sentences. Shape: (sentences, 3)"""
    return Counts(*map(int, counts.sum(axis=0))).f1
