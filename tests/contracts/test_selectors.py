"""The contract of all selectors. A new one needs a line in `SELECTORS`."""

import dataclasses
import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.core import registry
from nersery.core.outcome import collect
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.likelihoods.likelihood import Likelihood
from nersery.pipeline import job
from nersery.select.agreement import Agreement
from nersery.select.alignment_quality import AlignmentQuality
from nersery.select.base import Selector, batch_selection
from nersery.select.certainty import Certainty
from nersery.select.duplicates import Duplicates
from nersery.select.perplexity import Perplexity
from nersery.select.reviewed import Reviewed
from nersery.select.self_training import SelfTraining

REVIEWED = Path(tempfile.mkdtemp()) / "checked.jsonl"

SELECTORS: dict[str, Callable[[], Selector]] = {
    "agreement": Agreement,
    "alignment_quality": lambda: AlignmentQuality(threshold=0.14, keep=1.0, empty_rate=1.0),
    "certainty": Certainty,
    "duplicates": Duplicates,
    "perplexity": Perplexity,
    "reviewed": lambda: Reviewed(file=str(REVIEWED), wait=False),
    "self_training": lambda: SelfTraining(per_step=2, steps=1),
}
"""How to build each registered selector; its tagger is the `Reader` below, its language model the `Counter`."""


class Reader:
    """A tagger without errors: it reads the type from the word."""

    types = ("LOC", "ORG", "PER", "PROD")

    def fit(self, gold, training=NO_TRAINING, **how):
        return {}

    def predict(self, sentences, progress=None):
        return [s.with_entities(sentence(s.id, s.text).entities) for s in sentences]

    def certainty(self, sentences, *, passes, seed=0):
        return [
            (float(own.labels == s.labels),) * len(s) for own, s in zip(self.predict(sentences), sentences, strict=True)
        ]


class Counter:
    """A language model that finds words with higher numbers less probable."""

    kind = "perplexity"

    def likelihoods(self, texts):
        return [Likelihood(-sum(float(word.split(".")[1]) for word in text), len(text)) for text in texts]

    def vocabulary_issue(self, words):
        return ""


@pytest.fixture(autouse=True)
def _no_model_is_opened(monkeypatch):
    monkeypatch.setattr("nersery.models.likelihoods.fluency.open_scorer", lambda *args, **settings: Counter())


@pytest.fixture(autouse=True)
def _sentences_have_a_quality(monkeypatch):
    """The quality of a projection: it is lower if the last word has a higher number."""
    quality = "nersery.select.alignment_quality.quality_of"
    monkeypatch.setattr(quality, lambda sentence: 1 / float(sentence.words[-1].split(".")[1]))


def sentence(id, text):
    """Words contain their own type: ``PER.1 o.2 LOC.3``. A type after ``/`` is a wrong label."""
    words, entities = [], []
    for position, part in enumerate(text.split(" ")):
        word, _, wrong = part.partition("/")
        words.append(word)
        type_ = wrong or word.split(".")[0]
        if type_ != "o":
            entities.append(Entity(position, position + 1, type_))
    return Sentence(tuple(words), tuple(entities), id=id)


GOLD = Corpus([sentence("g1", "PER.1 o.1 LOC.1"), sentence("g2", "o.2 ORG.1"), sentence("g3", "o.3 o.4")])
HELD_OUT = Corpus([sentence("t1", "LOC.9 o.9 PER.9")])
CANDIDATES = Corpus(
    [
        sentence("right", "PER.2 o.1 LOC.2 o.5"),
        sentence("no-entity", "o.6 o.7"),
        sentence("copy-of-gold", "PER.1 o.1 LOC.1"),
        sentence("copy-of-test", "LOC.9 o.9 PER.9"),
        sentence("wrong-type", "PER.3/LOC o.8"),
        sentence("spurious", "o.8/PER o.8 LOC.4"),
        sentence("right-again", "PER.2 o.1 LOC.2 o.5"),
    ]
)


@pytest.fixture(autouse=True, scope="module")
def _a_person_has_decided():
    io.write([s for s in CANDIDATES if s.id.startswith("right")], REVIEWED)
    yield
    shutil.rmtree(REVIEWED.parent)


def ready(name, candidates=CANDIDATES):
    selector = SELECTORS[name]()
    selector.fit(GOLD, Training(tagger=Reader, new_tagger=Reader, held_out=HELD_OUT))
    selector.fit_candidates(candidates)
    return selector


def chosen(name, candidates=CANDIDATES, batch_size=job.BATCH_SIZE):
    return collect(job.run(candidates, batch_selection(ready(name, candidates)), batch_size=batch_size))


def test_every_selector_is_covered():
    assert set(SELECTORS) == set(registry.names("select"))


@pytest.fixture(params=SELECTORS)
def name(request):
    return request.param


def test_is_a_dataclass_with_a_threshold(name):
    cls = registry.get("select", name)
    assert type(SELECTORS[name]()) is cls
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    assert isinstance(fields["threshold"].default, float | None)


def test_keeps_something_and_rejects_something(name):
    tally = chosen(name).tally
    assert tally.read == len(CANDIDATES)
    assert tally.written > 0
    assert tally.rejected > 0


def test_scores_are_numbers_and_decide_what_is_kept(name):
    result, selector = chosen(name), ready(name)
    kept, rejected = [*result.corpus], [reject.sentence for reject in result.rejects]
    assert all(math.isfinite(s.scores[name]) for s in (*kept, *rejected))
    assert all(selector.accepts(s, s.scores[name]) for s in kept)
    assert not any(selector.accepts(s, s.scores[name]) for s in rejected)
    if type(selector).accepts is Selector.accepts:
        assert all(s.scores[name] >= selector.threshold for s in kept)
        assert all(s.scores[name] < selector.threshold for s in rejected)


def test_changes_nothing_but_the_scores(name):
    result = chosen(name)
    out = {s.id: s for s in [*result.corpus, *(reject.sentence for reject in result.rejects)]}
    assert {id_: dataclasses.replace(s, scores={}) for id_, s in out.items()} == {s.id: s for s in CANDIDATES}


def test_reasons_do_not_name_sentences_or_words(name):
    for reject in chosen(name).rejects:
        assert reject.reason
        assert reject.sentence.id not in reject.reason
        assert not any(word in reject.reason for word in reject.sentence.words)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_batch_size_does_not_matter(name, batch_size):
    assert chosen(name, batch_size=batch_size) == chosen(name)


def test_a_resumed_job_judges_the_rest_alike(name):
    rest = collect(job.run(CANDIDATES[4:], batch_selection(ready(name))))
    whole = chosen(name)
    later = {s.id for s in CANDIDATES[4:]}
    assert rest.corpus.sentences == tuple(s for s in whole.corpus if s.id in later)
    assert rest.rejects == tuple(reject for reject in whole.rejects if reject.sentence.id in later)


def test_a_selector_that_checks_candidates_reads_all_of_them(name):
    candidates = iter(CANDIDATES)
    selector = ready(name, candidates)
    assert not selector.checks_candidates or next(candidates, None) is None


def test_empty_input(name):
    assert chosen(name, Corpus()).tally.read == 0
