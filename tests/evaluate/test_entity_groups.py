from nersery import Entity, Sentence
from nersery.evaluate.entity_groups import length_group, novelty_groups, score_groups
from nersery.evaluate.scores import Counts, score

TRAIN = [Sentence(("oslo", "called", "Lima"), (Entity(0, 1, "LOC"), Entity(2, 3, "PER")), id="t")]
GOLD = [
    Sentence(("Oslo", "and", "Lima", "and", "Pune"), tuple(Entity(n, n + 1, "LOC") for n in (0, 2, 4)), id="1"),
    Sentence(("Lima",) * 41, (Entity(0, 1, "PER"),), id="2"),
]
GUESS = [GOLD[0].with_entities([Entity(0, 1, "LOC"), Entity(4, 5, "PER")]), GOLD[1]]


def test_the_groups_are_a_partition():
    for group_of in (novelty_groups(TRAIN), length_group):
        found = score_groups(GOLD, GUESS, group_of)
        assert sum(found.values(), Counts()) == score(GOLD, GUESS).micro


def test_case_does_not_matter_and_the_type_does():
    found = score_groups(GOLD, GUESS, novelty_groups(TRAIN))
    assert found["seen"] == Counts(2, 2, 2)
    assert found["seen with another type"] == Counts(0, 0, 1)
    assert found["unseen"] == Counts(0, 1, 1)


def test_novelty_ignores_the_unicode_form():
    train = [Sentence(("Zu\u0308rich",), (Entity(0, 1, "LOC"),), id="t")]
    gold = [Sentence(("Z\u00fcrich",), (Entity(0, 1, "LOC"),), id="1")]
    assert set(score_groups(gold, gold, novelty_groups(train))) == {"seen"}


def test_length_groups():
    assert set(score_groups(GOLD, GUESS, length_group)) == {"1 to 10", "over 40"}
    lengths = {length_group(Sentence(("x",) * words, (), id="1"), Entity(0, 1, "PER")) for words in (1, 10)}
    assert lengths == {"1 to 10"}
    assert length_group(Sentence(("x",) * 11, (), id="1"), Entity(0, 1, "PER")) == "11 to 20"
