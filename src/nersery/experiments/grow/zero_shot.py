"""Whether questions and names suit the data: what models find in labelled sentences without training on them."""

from __future__ import annotations

from collections.abc import Sequence

from nersery.core.batched import batched
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.random import item_seed
from nersery.core.sentence import Corpus, Sentence
from nersery.experiments.execution.run_time import BATCH
from nersery.experiments.systems import MethodSettings
from nersery.models.bundled_models.bundled import ENGLISH_NER, MULTILINGUAL_NER
from nersery.taggers.base import load_tagger, strict_f1

ASKED = 60
"""Maximum number of sentences that are asked about."""
MIN_MENTIONS = 30
"""Minimum number of mentions in these sentences; with fewer, F1 is mostly chance."""
HOPELESS = 0.5
"""Share of gold only's F1 that the answers must reach: worse ones teach a tagger too many mistakes."""


MIN_NAME_SHARE = {ENGLISH_NER: 0.7, MULTILINGUAL_NER: 0.5}
"""Minimum share of labelled mentions that touch a name found by the bundled tagger, for mentions to count as names. The
multilingual tagger misses more names.
"""


def sentences_to_ask(gold: Corpus) -> list[Sentence]:
    """The labelled sentences to ask about; empty if they have too few mentions."""
    drawn = sorted(gold, key=lambda sentence: item_seed(0, "asked", sentence.id))[:ASKED]
    return drawn if sum(len(sentence.entities) for sentence in drawn) >= MIN_MENTIONS else []


def zero_shot_f1(method: MethodSettings, labelled: Sequence[Sentence]) -> float:
    """F1 of an annotator's labels, without a tagger."""
    annotator = method.create()
    annotator.fit(labelled)
    progress, predicted = Progress("questions", quiet=True), list[Sentence]()
    for batch in batched(labelled, BATCH):
        answers = annotator.annotate(batch)
        pairs = zip(batch, answers, strict=True)
        predicted += [s.with_entities(()) if isinstance(answer, Reject) else answer for s, answer in pairs]
        progress.advance()  # raises an error when the time is up
    return strict_f1(labelled, predicted)


def are_names(tagger: str, gold: Corpus) -> bool:
    """Whether labelled mentions are mostly names, of whatever types.

    Args:
        tagger: A key of `MIN_NAME_SHARE`.
    """
    labelled = sentences_to_ask(gold) or [sentence for sentence in gold if sentence.entities][:ASKED]
    predicted = load_tagger(tagger).predict(labelled)
    touched = [
        any(map(entity.overlaps, prediction.entities))
        for sentence, prediction in zip(labelled, predicted, strict=True)
        for entity in sentence.entities
    ]
    return sum(touched) >= MIN_NAME_SHARE[tagger] * len(touched)
