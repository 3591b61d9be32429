"""Characters that a tagger reads as longer words."""

from nersery import Entity, Sentence
from nersery.models.subwords.joined_characters import character_labels, with_joined_characters

SENTENCE = Sentence(("a", "北", "京", "很"), (Entity(0, 1, "X"),), "one", language="zh", comments=("# kept",))


def cut(text: str) -> list[str]:
    return ["▁北京", "很"]


def test_labels_of_longer_words_are_mapped_to_their_characters() -> None:
    longer, groups = with_joined_characters(SENTENCE, cut)
    assert (longer.words, longer.entities, longer.language) == (("a", "北京", "很"), (), "zh")
    labelled = character_labels(SENTENCE, longer.with_entities([Entity(1, 2, "LOC", 0.9)]), groups)
    assert labelled == SENTENCE.with_entities([Entity(1, 3, "LOC")])
    assert labelled.entities[0].score == 0.9


def test_other_words_are_unchanged() -> None:
    words = Sentence(("北京", "Oslo"))
    longer, groups = with_joined_characters(words, cut)
    assert longer is words
    labelled = words.with_entities([Entity(1, 2, "LOC")])
    assert character_labels(words, labelled, groups) is labelled
