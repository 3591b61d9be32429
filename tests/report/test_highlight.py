import random
import time

from hypothesis import given
from hypothesis import strategies as st

from nersery.core.sentence import Entity
from nersery.report.highlight import Segment, TextRun, compared, segments
from nersery.report.parts import ShownSentence
from tests.report import report_fixture


def sentence(*values):
    return ShownSentence.model_validate(report_fixture.sentence(*values))


def texts(found, changed=None):
    return [run.text for part in found for run in part.runs if changed is None or run.changed is changed]


def test_segments_are_entities_and_the_text_between_them():
    found = segments(sentence("1", "[Ada Lovelace|PER] met [Babbage|PER] in [London|LOC]"))
    assert [(part.type, texts([part])) for part in found] == [
        ("PER", ["Ada Lovelace"]), (None, ["met"]), ("PER", ["Babbage"]), (None, ["in"]), ("LOC", ["London"]),
    ]  # fmt: skip


def test_marks_changed_words_of_both_sentences_inside_and_outside_entities():
    before, after = compared(
        sentence("1", "[Bank of England|ORG] raised rates today"), sentence("2", "[Bank of Japan|ORG] cut rates today")
    )
    assert texts(before, changed=True) == ["England", "raised"]
    assert texts(after, changed=True) == ["Japan", "cut"]
    assert after[0] == Segment("ORG", (TextRun("Bank of", False), TextRun("Japan", True)))


def test_words_between_swapped_names_are_not_marked():
    before, after = compared(
        sentence("1", "[SQL|SKILL] and [Excel|SKILL]"), sentence("2", "[Excel|SKILL] and [Perl|SKILL]")
    )
    assert texts(before, changed=True) == ["SQL", "Excel"]
    assert texts(after, changed=True) == ["Excel", "Perl"]


def test_without_a_parent_nothing_is_marked():
    before, after = compared(None, sentence("1", "made of [nothing|X]"))
    assert before is None
    assert texts(after, changed=True) == []


def test_compares_a_sentence_as_long_as_a_book_within_seconds():
    rng = random.Random(0)
    parent = [f"w{int(rng.paretovariate(0.9))}" for _ in range(15_000)]
    child = [word if rng.random() < 0.8 else "new" for word in parent]
    start = time.process_time()
    _, after = compared(ShownSentence(words=parent), ShownSentence(words=child))
    assert time.process_time() - start < 2
    assert "new" not in " ".join(texts(after, changed=False)).split()


words = st.lists(st.sampled_from(["a", "b", "c", "क्", "👩‍👩‍👧"]), min_size=1, max_size=12)


@given(words, words)
def test_keeps_every_word_and_leaves_only_common_words_unmarked(parent, child):
    before, after = compared(ShownSentence(words=parent), ShownSentence(words=child))
    assert " ".join(texts(before)) == " ".join(parent)
    assert " ".join(texts(after)) == " ".join(child)
    assert " ".join(texts(before, changed=False)) == " ".join(texts(after, changed=False))


def test_scripts_without_spaces_are_shown_without_them() -> None:
    parent, child = (
        ShownSentence(words=[*words], entities=[Entity(1, 3, "LOC")]) for words in ("在北京。", "在南京。")
    )
    before, inside, after = compared(parent, child)[1]
    assert (before.runs[0].text, after.runs[0].text, after.runs[0].gap) == ("在", "。", "")
    assert inside.runs == (TextRun("南", True, ""), TextRun("京", False, ""))
