"""The contract of all annotators. A new one needs a line in `SETTINGS`.

The words of the corpus contain their own type (``PER.1 o.2 LOC.3``), from which the fake models read it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, io
from nersery.annotate.base import Annotator, annotate, batch_annotation
from nersery.core import registry
from nersery.core.alignments import Alignment, Link, Pair
from nersery.core.outcome import Result, collect
from nersery.core.sentence import Origin
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.base import Aligner
from nersery.pipeline.job import run
from tests import fakes
from tests.annotate.answerer import FakeAnswerer
from tests.contracts.test_augmenters import make_corpus, make_scripts, owners, types_over

SETTINGS: dict[str, dict[str, Any]] = {
    "gazetteer_labels": {"files": "set below"},
    "gliner": {"model": "fake", "types": ["PER", "LOC", "creative work"]},
    "llm_labels": {"model": "fake", "types": ["PER", "LOC", "creative work"]},
    "qa_prompting": {"types": ["PER", "LOC", "creative work"], "definitions": {"creative work": "creative work"}},
    "tagger_labels": {"tagger": "fake"},
    "projected_labels": {"source": "set below"},
}
NEED_AN_ENTITY = {"gazetteer_labels"}
"""The annotators that reject sentences in which they find no entity."""
CORPUS = make_corpus()
RAW = Corpus(sentence.with_entities(()) for sentence in CORPUS)


class Identity(Aligner):
    """Links each word to the word at the same position."""

    def align(self, pairs: Sequence[Pair]) -> list[Alignment]:
        return [tuple(Link(place, place) for place in range(len(pair.source))) for pair in pairs]


@pytest.fixture(autouse=True)
def _no_model_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(SETTINGS, "projected_labels", {"source": str(tmp_path / "source.jsonl")})
    monkeypatch.setattr("nersery.annotate.projected_labels.create_nested", lambda *args: Identity())
    kinds = owners(make_scripts())
    monkeypatch.setitem(SETTINGS, "gazetteer_labels", {"files": write_lists(tmp_path)})
    monkeypatch.setattr("nersery.annotate.gliner.load_gliner", lambda name, device: fakes.FakeGliner(kinds))
    monkeypatch.setattr("nersery.models.llm.chat_client.ChatClient.check", lambda client: None)
    monkeypatch.setattr("nersery.models.llm.chat_client.ChatClient.ask", fakes.fake_llm(kinds))
    monkeypatch.setattr("nersery.models.question_answering.QuestionAnswerer", FakeAnswerer)
    monkeypatch.setattr("nersery.annotate.tagger_labels.load_tagger", lambda folder, **_: fakes.FakeTagger(kinds))


@pytest.fixture(params=SETTINGS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str) -> Annotator:
    method: Annotator = registry.create("annotate", name, SETTINGS[name])
    return method


def write_lists(folder: Path) -> dict[str, str]:
    """A list of the mentions of each type, and the names of these files."""
    mentions: dict[str, set[str]] = {}
    for sentence in (*CORPUS, *make_scripts()):
        for entity in sentence.entities:
            mentions.setdefault(entity.type, set()).add(" ".join(sentence.mention(entity)))
    files = {type_: folder / f"{number}.txt" for number, type_ in enumerate(sorted(mentions))}
    for type_, path in files.items():
        path.write_text("\n".join(sorted(mentions[type_])), "utf-8")
    return {type_: str(path) for type_, path in files.items()}


def write_source(raw: Corpus) -> None:
    """The translations of raw sentences: the same words, with the labels and scores of a tagger."""
    known = {sentence.words: sentence for sentence in (*CORPUS, *make_scripts())}
    scored = [
        dataclasses.replace(known[s.words], id=s.id).with_entities(
            dataclasses.replace(e, score=0.9) for e in known[s.words].entities
        )
        for s in raw
    ]
    io.write(scored, SETTINGS["projected_labels"]["source"])


def labelled(name: str, corpus: Corpus = RAW, **options: Any) -> Result:
    write_source(corpus)
    return annotate(corpus, make(name), **options)


def text_of(result: Result) -> str:
    return "".join(map(io.writer("jsonl").encode, result.corpus))


def test_every_annotator_is_covered() -> None:
    assert set(SETTINGS) == set(registry.names("annotate"))


def test_every_entity_covers_words_of_its_type(name: str) -> None:
    result = labelled(name)
    found = [entity for sentence in result.corpus for entity in sentence.entities]
    assert len(found) > len(CORPUS) / 2
    for sentence in result.corpus:
        for word, type_ in zip(sentence.words, types_over(sentence), strict=True):
            assert type_ == "o" or word.startswith(type_[:3])
    assert all(entity.score is not None and 0 <= entity.score <= 1 for entity in found)


@pytest.mark.parametrize("make_raw", [make_corpus, make_scripts])
def test_nothing_changes_but_labels_and_origin(name: str, make_raw: Callable[[], Corpus]) -> None:
    raw = make_raw()
    result = labelled(name, raw)
    expected = [sentence for sentence in raw if sentence.entities or name not in NEED_AN_ENTITY]
    assert {reject.sentence for reject in result.rejects} == {*raw} - {*expected}
    for before, after in zip(expected, result.corpus, strict=True):
        given = {"entities": before.entities, "origin": before.origin, "scores": before.scores}
        assert dataclasses.replace(after, **given) == before
        assert after.origin
        assert after.origin == Origin(name, after.origin.parents)


def test_read_is_written_plus_rejected(name: str) -> None:
    tally = labelled(name).tally
    assert tally.read == len(RAW) == tally.written + tally.rejected


def test_ignores_existing_labels(name: str) -> None:
    wrong = Corpus(sentence.with_entities([Entity(0, 1, "WRONG", 0.1)]) for sentence in RAW)
    assert text_of(labelled(name, wrong)) == text_of(labelled(name))


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batch_size_does_not_matter(name: str, batch_size: int) -> None:
    assert text_of(labelled(name, batch_size=batch_size)) == text_of(labelled(name))


def test_order_does_not_matter(name: str) -> None:
    backwards = Corpus(reversed(RAW))
    assert labelled(name, backwards, batch_size=7).corpus.by_id == labelled(name).corpus.by_id
    scores = {s.id: [e.score for e in s.entities] for s in labelled(name, backwards, batch_size=7).corpus}
    assert scores == {s.id: [e.score for e in s.entities] for s in labelled(name).corpus}


def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    training = Training(seed=5)
    assert text_of(labelled(name, training=training)) == text_of(labelled(name, training=training))


def test_a_resumed_job_labels_the_rest_alike(name: str) -> None:
    method = make(name)
    method.fit(())
    write_source(RAW)
    method.fit_candidates(RAW)
    rest = collect(run(RAW[20:], batch_annotation(method), batch_size=9))
    ids = {sentence.id for sentence in RAW[20:]}
    assert rest.corpus.sentences == tuple(sentence for sentence in labelled(name).corpus if sentence.id in ids)


def test_empty_input(name: str) -> None:
    assert labelled(name, Corpus()).tally.read == 0
