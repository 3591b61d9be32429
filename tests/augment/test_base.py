import json
import random
import tracemalloc
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Origin, Sentence
from nersery.augment.base import Augmenter, augment, batch_augmentation, child_id, made_from, tasks
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import Reject, collect
from nersery.pipeline.job import run
from tests.killing import KilledError

PARENT = Sentence(("Ada", "sang"), (Entity(0, 1, "PER"),), id="p", language="en", scores={"a": 1.0}, comments=("# x",))


class Fixed(Augmenter):
    """Always returns the same answer."""

    def __init__(self, answer: Sentence | Reject) -> None:
        self.answer = answer

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        return self.answer


def outcome_of(answer: Sentence | Reject) -> Sentence | Reject:
    return batch_augmentation(Fixed(answer), seed=0)([(PARENT, 2)])[0]


def test_a_new_sentence_gets_id_and_origin_but_no_scores_or_comments():
    new = outcome_of(PARENT.replace_span(0, 1, ["Grace"]))
    assert new == Sentence(
        ("Grace", "sang"), (Entity(0, 1, "PER"),), id="p~Fixed-2", language="en", origin=Origin("Fixed", ("p",), 2)
    )
    assert new.scores == {}


def test_a_copy_of_its_parent_is_rejected():
    reject = outcome_of(Sentence(PARENT.words, PARENT.entities))
    assert isinstance(reject, Reject)
    assert reject.reason == "unchanged"


def test_entity_scores_of_the_parent_are_dropped():
    parent = PARENT.with_entities([Entity(0, 1, "PER", score=0.9)])
    for answer in (parent.replace_span(0, 1, ["Grace"]), Reject("odd"), Reject("odd", parent)):
        (outcome,) = batch_augmentation(Fixed(answer), seed=0)([(parent, 1)])
        sentence = outcome.sentence if isinstance(outcome, Reject) else outcome
        assert sentence is not None
        assert [entity.score for entity in sentence.entities] == [None]


def test_extra_columns_of_a_new_sentence_are_those_of_the_draft():
    parent = Sentence(("Ada", "sang"), (Entity(0, 1, "PER"),), id="p", columns=(("NNP", "VBD"), ("a", "b")))
    (new,) = batch_augmentation(Fixed(parent.replace_span(0, 1, ["Grace", "Hopper"])), seed=0)([(parent, 1)])
    assert isinstance(new, Sentence)
    assert new.columns == (("_", "_", "VBD"), ("_", "_", "b"))


@pytest.mark.parametrize("mention", [("Zoe\u0301", "Inc."), ("Zo\xe9", "Inc", ".")])
def test_the_same_text_in_another_form_is_no_change(mention: tuple[str, ...]):
    """It may be split into words or encoded in another way. Then a label covers the same text, or it has changed."""
    parent = Sentence(("Zo\xe9", "Inc.", "sang"), (Entity(0, 2, "ORG"),), id="p")
    draft = parent.replace_span(0, 2, mention)
    assert draft.words != parent.words
    (reject,) = batch_augmentation(Fixed(draft), seed=0)([(parent, 1)])
    assert isinstance(reject, Reject)
    assert reject.reason == "unchanged"
    (relabelled,) = batch_augmentation(Fixed(draft.with_entities([Entity(0, 1, "ORG")])), seed=0)([(parent, 1)])
    assert isinstance(relabelled, Sentence)


def test_other_labels_are_a_change():
    assert isinstance(outcome_of(PARENT.with_entities([Entity(0, 2, "PER")])), Sentence)


@pytest.mark.parametrize("broken", [None, Sentence(("broken",))])
def test_a_reject_keeps_its_reason_and_names_words_and_parent(broken: Sentence | None):
    reject = outcome_of(Reject("too odd", broken))
    assert isinstance(reject, Reject)
    assert reject.reason == "too odd"
    assert reject.sentence is not None
    assert reject.sentence.words == (broken or PARENT).words
    assert reject.sentence.origin == Origin("Fixed", ("p",), 2)


def test_tasks_repeat_each_sentence_for_each_copy():
    assert list(tasks([PARENT], 2)) == [(PARENT, 1), (PARENT, 2)]


def test_rejects_of_the_reader_are_kept_once():
    dropped = Reject("wrong number of columns", Sentence(("broken",), id="q"))
    method = Fixed(Sentence(("new",)))
    result = collect(run(tasks([PARENT, dropped], 3), batch_augmentation(method, 0), batch_size=2))
    assert result.rejects == (dropped,)
    assert result.tally.as_dict() == {"read": 4, "written": 3, "rejected": 1, "reasons": {dropped.reason: 1}}


def test_an_iterator_is_refused():
    with pytest.raises(SettingsError, match=r"the corpus is read twice: give a Corpus or a list"):
        augment(iter([PARENT]), Fixed(PARENT))


def test_a_parent_needs_an_id():
    with pytest.raises(NerseryError, match="without an id"):
        augment([Sentence(("Ada",))], Fixed(PARENT))


def test_a_method_must_answer_every_sentence():
    class Short(Fixed):
        def generate_batch(self, sentences: object, rngs: object) -> list[Sentence | Reject]:
            return [self.answer]

    with pytest.raises(NerseryError, match="Short was given 2 items and answered with 1 outcomes"):
        augment([PARENT], Short(PARENT), copies=2)


def test_an_answer_that_is_not_a_sentence_is_refused():
    with pytest.raises(NerseryError, match="sentence p: Fixed answered with None, expected a Sentence or Reject"):
        augment([PARENT], Fixed(None))


def test_an_invalid_sentence_names_method_and_parent():
    class Wrong(Fixed):
        def generate(self, sentence: Sentence, rng: random.Random) -> Sentence:
            return Sentence(())

    class WrongBatch(Wrong):
        def generate_batch(self, sentences: object, rngs: object) -> list[Sentence | Reject]:
            return [Sentence(())]

    with pytest.raises(
        NerseryError, match=r"sentence p: method Wrong made an invalid sentence: .*at least one word"
    ) as error:
        augment([PARENT], Wrong(PARENT))
    assert error.value.exit_code == 1
    with pytest.raises(NerseryError, match=r"method WrongBatch made an invalid sentence out of a batch: .*one word"):
        augment([PARENT], WrongBatch(PARENT))


@pytest.mark.parametrize("method", ["melm", "my-method", "a.b-2"])
def test_the_id_of_a_child_contains_parent_and_method(method: str):
    assert made_from(child_id("train:7~melm-1", method, 12)) == ("train:7~melm-1", method)


def test_tasks_are_made_lazily_for_any_number_of_copies():
    made = tasks([PARENT, PARENT], 10**21)
    tracemalloc.start()
    assert [copy for _, copy in islice(made, 3)] == [1, 2, 3]
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_copies_below_one_are_refused():
    with pytest.raises(SettingsError, match="copies is 0"):
        augment([PARENT], Fixed(PARENT), copies=0)


def test_each_item_has_a_generator_of_its_own():
    class Dice(Fixed):
        def generate(self, sentence: Sentence, rng: random.Random) -> Sentence:
            return Sentence((str(rng.random()),))

    corpus = [Sentence(("a",), id=str(number)) for number in range(5)]
    drawn = {(s.id, s.words) for s in augment(corpus, Dice(PARENT), copies=2, seed=1).corpus}
    assert len({words for _, words in drawn}) == 10
    assert drawn == {(s.id, s.words) for s in augment(corpus[::-1], Dice(PARENT), copies=2, seed=1).corpus}

    class OtherDice(Dice):
        pass

    others = augment(corpus, OtherDice(PARENT), copies=2, seed=1).corpus
    assert not {words for _, words in drawn} & {s.words for s in others}, "two methods must not draw alike"


def test_a_method_must_define_generate_or_generate_batch():
    with pytest.raises(TypeError, match="Neither has neither generate nor generate_batch"):
        type("Neither", (Augmenter,), {})


def test_a_slow_method_loses_few_sentences_in_a_kill(tmp_path: Path, saves_each_batch: None):
    @dataclass
    class Slow(Augmenter):
        def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
            if sentence.id == "200":
                raise KilledError
            return Sentence(("b",))

    corpus = Corpus(Sentence(("a",), id=str(number)) for number in range(300))
    with pytest.raises(KilledError):
        augment(corpus, Slow(), output=tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl.part" / "journal.json").read_text())["read"] == 128
