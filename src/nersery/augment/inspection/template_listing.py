"""Previews of ACLM's templates: which keywords of sentences are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nersery.augment.base import NO_ENTITIES
from nersery.augment.templates.template import Attention, Template, TemplateMaker
from nersery.augment.words.stop_words import stop_words
from nersery.core.progress import Progress
from nersery.core.sentence import Corpus, Sentence
from nersery.core.training_context import Training


def attentions_between_words(
    tagger: str | None, corpus: Corpus, sentences: Sequence[Sentence], layers: int, seed: int, *, quiet: bool
) -> Mapping[str, Attention]:
    """The attention between the words of some sentences, by their ids."""
    due = [sentence for sentence in sentences if sentence.entities]
    if not due:
        return {}
    from nersery.taggers.networks.word_attention import word_attention
    from nersery.taggers.training.gold_tagger import gold_tagger

    with Progress("train" if tagger is None else "tagger", quiet=quiet) as progress:
        gold = sorted(corpus, key=lambda sentence: sentence.id)  # as in ACLM, so that the tagger is the same
        loaded = gold_tagger("templates", tagger, gold, Training(seed=seed, progress=progress))
    attentions = word_attention(loaded, due, layers)
    return {sentence.id: attention for sentence, attention in zip(due, attentions, strict=True)}


def make_templates(
    shown: Sequence[Sentence],
    corpus: Corpus,
    keywords: str,
    rate: float,
    stop_word_file: str,
    seed: int,
    attentions: Mapping[str, Attention],
) -> dict[str, Template]:
    """The templates that ACLM would learn from, by the ids of the sentences that have one.

    Args:
        corpus: The shown sentences and others. Their languages need lists of stop words.
        keywords: ``attention``, ``random`` or ``none``.
        stop_word_file: Replaces the lists of the languages.
    """
    excluded = {} if keywords == "none" else stop_words([s for s in corpus if s.entities], stop_word_file)
    maker = TemplateMaker(keywords, rate, excluded, lambda sentences: [attentions[s.id] for s in sentences])
    templates = maker.training_templates([sentence for sentence in shown if sentence.entities], seed)
    return {sentence.id: template for sentence, template in templates.items()}


def templates_as_json(shown: Sequence[Sentence], templates: Mapping[str, Template]) -> list[dict[str, Any]]:
    """A row for each sentence: words, entities, and the keywords and gaps of its template."""
    rows = []
    for sentence in shown:
        row: dict[str, Any] = {"id": sentence.id, "words": sentence.words}
        row["entities"] = [entity.as_dict() for entity in sentence.entities]
        template = templates.get(sentence.id)
        details = {"keywords": template.keywords, "gaps": template.gaps()} if template else {"no_template": NO_ENTITIES}
        rows.append(row | details)
    return rows
