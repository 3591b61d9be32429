from nersery import Entity, Sentence
from nersery.evaluate.changes import count_changes, find_changes

WORDS = ("Ada", "met", "Bo", "in", "Oslo")
ADA, BO, OSLO = Entity(0, 1, "PER"), Entity(2, 3, "PER"), Entity(4, 5, "LOC")
GOLD = Sentence(WORDS, (ADA, BO, OSLO), id="1")


def labelled(*entities: Entity) -> list[Sentence]:
    return [GOLD.with_entities(entities)]


def test_a_corrected_type_is_one_gone_and_one_fixed_entity():
    wrong = Entity(4, 5, "PER")
    changes = find_changes([GOLD], labelled(ADA, wrong), labelled(ADA, OSLO))
    assert [(change.kind, change.entity) for change in changes] == [("fixed", OSLO), ("gone", wrong)]
    assert count_changes(changes) == {"LOC": {"fixed": 1}, "PER": {"gone": 1}}


def test_finds_fixed_broken_new_and_gone_entities():
    before, after = labelled(ADA, Entity(1, 3, "PER")), labelled(BO, OSLO, Entity(3, 4, "LOC"))
    kinds = [change.kind for change in find_changes([GOLD], before, after)]
    assert sorted(kinds) == ["broken", "fixed", "fixed", "gone", "new"]


def test_equal_predictions_have_no_changes():
    assert find_changes([GOLD], labelled(ADA), labelled(ADA)) == []
