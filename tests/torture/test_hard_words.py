"""Every method that runs a language model, on hard scripts and on words that look like the model's own tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest

import nersery
from nersery import Corpus, Sentence
from nersery.core import registry
from nersery.core.outcome import Reject, Result
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.crosslingual.aligners.base import Pair
from nersery.models.pretrained.loading import ModelSource
from nersery.models.tokens import TOKEN_PREFIX
from nersery.taggers.base import load_tagger
from tests.torture.families import MARKS
from tests.torture.hard_words import KNOWN, corpus

pytestmark = pytest.mark.torture

COUNT = 1000
TRIED = f"{COUNT:,} sentences"
QUICK: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-3}
IN_PLACE: dict[str, dict[str, Any]] = {
    "bda": {"words": 3},
    "cbt": {"words": 3, **QUICK},
    "label_conditioned": {"words": 3, "definitions": {"creative work": "[MASK] ▁ ##s", "LOC": "दिल्ली"}, **QUICK},
    "masked_entity": {},
    "melm": QUICK,
}
"""Augmenters that replace one word with another, and their settings."""
OF_MENTIONS = {"masked_entity", "melm"}
"""Those that change only words in mentions."""
WRITING: dict[str, Any] = {"max_subwords": 40, "language": "en", **QUICK}
WRITERS = {"mulda": WRITING, "aclm": {"keywords": "random", **WRITING}}
"""Augmenters whose model writes a sentence."""


def test_every_augmenter_with_a_pretrained_model_has_a_case() -> None:
    names = {
        name for name in registry.names("augment") if "model" in registry.get("augment", name).__dataclass_fields__
    }
    assert names - {"llm_sentences", "code_mixing"} == {*IN_PLACE, *WRITERS, "flipda"}


def check(source: Corpus, result: Result, copies: int = 1) -> None:
    """What holds for every method: nothing is lost without a reason; words, columns and labels stay in step."""
    tally = result.tally
    assert tally.read == tally.written + tally.rejected == copies * len(source)
    assert all(reject.reason.strip() and not reject.reason.startswith("failed") for reject in result.rejects), tally
    ids = [sentence.id for sentence in (*result.corpus, *(reject.sentence for reject in result.rejects)) if sentence]
    assert len({*ids}) == len(ids) == tally.read
    for sentence in result.corpus:
        (column,) = sentence.columns
        pairs = zip(column, sentence.words, strict=True)
        assert all(value in (word, UNKNOWN_COLUMN) for value, word in pairs), sentence


def check_new_words(result: Result, known: Collection[str], model: str) -> None:
    """New words are text: not a border mark, a special token or a tag token of the model."""
    special = {*ModelSource(model).tokenizer().all_special_tokens}
    for word in {word for sentence in result.corpus for word in sentence.words} - {*known}:
        assert word not in special
        assert not word.startswith((*MARKS, TOKEN_PREFIX)), word
        assert word.strip(), word


def words_of(sentences: Corpus) -> set[str]:
    return {word for sentence in sentences for word in sentence.words}


def parent(source: Corpus, sentence: Sentence) -> Sentence:
    assert sentence.origin is not None
    return source.by_id[sentence.origin.parents[0]]


@pytest.mark.parametrize("by_subword", [False, True], ids=["words", "subwords"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_words_are_replaced_in_their_places(
    name: str, by_subword: bool, masked_lm: str, record_property: Callable[..., None]
) -> None:
    record_property("tried", TRIED)
    source = corpus(COUNT)
    result = nersery.augment(source, name, model=masked_lm, by_subword=by_subword, **IN_PLACE[name])
    check(source, result)
    assert result.tally.written > COUNT / 2
    for sentence in result.corpus:
        before = parent(source, sentence)
        assert sentence.labels == before.labels
        assert len(sentence) == len(before)
        changed = {place for place, word in enumerate(sentence.words) if word != before.words[place]}
        assert changed
        assert name not in OF_MENTIONS or changed <= before.inside
        assert name in OF_MENTIONS or len(changed) <= 3
    if not by_subword:
        check_new_words(result, words_of(source), masked_lm)


def test_flipda(masked_lm: str, tagger: str, record_property: Callable[..., None]) -> None:
    record_property("tried", TRIED)
    source = corpus(COUNT)
    result = nersery.augment(source, "flipda", model=masked_lm, tagger=tagger, candidates=2, in_turn=False, **QUICK)
    check(source, result)
    for sentence in result.corpus:
        before = parent(source, sentence)
        assert [(e.start, e.end) for e in sentence.entities] == [(e.start, e.end) for e in before.entities]
    check_new_words(result, words_of(source), masked_lm)


@pytest.mark.parametrize("name", WRITERS)
def test_writes_sentences(name: str, seq2seq: str, record_property: Callable[..., None]) -> None:
    record_property("tried", TRIED)
    source = corpus(COUNT)
    result = nersery.augment(source, name, model=seq2seq, **WRITERS[name])
    check(source, result)
    check_new_words(result, words_of(source), seq2seq)
    types = {entity.type for sentence in source for entity in sentence.entities}
    assert {entity.type for sentence in result.corpus for entity in sentence.entities} <= types


def test_gaps_of_a_template_are_filled(masked_lm: str, record_property: Callable[..., None]) -> None:
    record_property("tried", TRIED)
    source = corpus(COUNT)
    result = nersery.augment(source, "aclm", model=masked_lm, keywords="random", passes=1, **QUICK)
    check(source, result)
    assert result.tally.written
    check_new_words(result, words_of(source), masked_lm)
    for sentence in result.corpus:
        before = parent(source, sentence)
        mentions = [(sentence.mention(entity), entity.type) for entity in sentence.entities]
        assert mentions == [(before.mention(entity), entity.type) for entity in before.entities]


class TestTagger:
    def test_known_mentions_are_found_in_their_places(self, tagger: str, record_property: Callable[..., None]) -> None:
        """A word that the tokenizer drops or splits would shift all labels after it."""
        record_property("tried", TRIED)
        source = corpus(COUNT, seed=2)
        predicted = load_tagger(tagger).predict(source)
        assert [s.words for s in predicted] == [s.words for s in source]
        known = {mention for mentions in KNOWN.values() for mention in mentions}
        gold = [(s.id, e.start, e.end, e.type) for s in source for e in s.entities if s.mention(e) in known]
        found = {(s.id, e.start, e.end, e.type) for s in predicted for e in s.entities}
        assert sum(one in found for one in gold) > 0.95 * len(gold) > 500

    def test_labels_do_not_depend_on_neighbours(self, tagger: str, record_property: Callable[..., None]) -> None:
        record_property("tried", "200 sentences")
        source, loaded = [*corpus(200, seed=3)], load_tagger(tagger)
        assert [loaded.predict([sentence])[0] for sentence in source] == loaded.predict(source)

    def test_annotation(self, tagger: str, record_property: Callable[..., None]) -> None:
        record_property("tried", TRIED)
        source = corpus(COUNT, seed=2)
        result = nersery.annotate(source, "tagger_labels", tagger=tagger)
        check(source, result)
        assert not result.rejects
        bare = [replace(s, entities=(), origin=None, scores={}) for s in result.corpus]
        assert bare == [s.with_entities(()) for s in source]

    @pytest.mark.parametrize("name", ["agreement", "certainty"])
    def test_selection(self, name: str, tagger: str, record_property: Callable[..., None]) -> None:
        record_property("tried", TRIED)
        source = corpus(COUNT, seed=2)
        result = nersery.select(source, name, gold=corpus(20, seed=4), tagger=tagger)
        check(source, result)
        kept = {s.id: s.labels for s in [*result.corpus, *(r.sentence for r in result.rejects if r.sentence)]}
        assert kept == {s.id: s.labels for s in source}
        assert result.tally.written > 10


def test_perplexity(masked_lm: str, record_property: Callable[..., None]) -> None:
    record_property("tried", TRIED)
    source = corpus(COUNT)
    result = nersery.select(source, "perplexity", gold=corpus(20, seed=4), model=masked_lm, threshold=-1e9)
    check(source, result)
    assert result.tally.written
    assert all(s.scores["perplexity"] < 0 or s.scores["perplexity"] >= 0 for s in result.corpus), "a number"


@pytest.mark.parametrize("name", ["statistical", "embeddings"])
def test_links_are_within_their_sentences(name: str, masked_lm: str, record_property: Callable[..., None]) -> None:
    """Each sentence is paired with its words in reverse order, so the correct links are known."""
    record_property("tried", TRIED)
    pairs = [Pair(s.words, s.words[::-1]) for s in corpus(COUNT)]
    settings = {} if name == "statistical" else {"model": masked_lm, "device": "cpu", "precision": "fp32"}
    aligner = registry.create("align", name, settings)
    aligner.fit(pairs)
    found = aligner.align(pairs)
    assert len(found) == COUNT
    words = aligned = 0
    for pair, alignment in zip(pairs, found, strict=True):
        if isinstance(alignment, Reject):
            assert alignment.reason
            continue
        right = {link.source for link in alignment if pair.source[link.source] == pair.target[link.target]}
        words, aligned = words + len(pair.source), aligned + len(right)
    assert aligned > 0.9 * words > COUNT
