import random

import pytest

from nersery import Entity, Origin, Sentence
from nersery.augment.base import Augmenter, augment, step, tasks, unfitted
from nersery.errors import SettingsError
from nersery.loop import Reject

PARENT = Sentence(("Ada", "sang"), (Entity(0, 1, "PER"),), id="p", language="en", scores={"a": 1.0}, comments=("# x",))


class Fixed(Augmenter):
    """Answers with what it was given."""

    def __init__(self, answer: Sentence | Reject) -> None:
        self.answer = answer

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        return self.answer


def outcome_of(answer: Sentence | Reject) -> Sentence | Reject:
    return step(Fixed(answer), seed=0)([(PARENT, 2)])[0]


def test_a_new_sentence_gets_id_and_origin_and_loses_what_was_said_of_its_parent():
    new = outcome_of(PARENT.replace_span(0, 1, ["Grace"]))
    assert new == Sentence(
        ("Grace", "sang"),
        (Entity(0, 1, "PER"),),
        id="p~Fixed-2",
        language="en",
        origin=Origin("Fixed", ("p",), 2),
    )
    assert new.scores == {}


def test_what_its_parent_said_is_rejected():
    reject = outcome_of(Sentence(PARENT.words, PARENT.entities))
    assert isinstance(reject, Reject)
    assert reject.reason == "unchanged"


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


def test_tasks_are_each_sentence_as_often_as_copies():
    assert list(tasks([PARENT], 2)) == [(PARENT, 1), (PARENT, 2)]


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


def test_unfitted_names_the_method():
    assert "Fixed has learned nothing yet" in str(unfitted(Fixed(PARENT)))
