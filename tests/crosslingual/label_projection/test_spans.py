"""Labels are projected whole, or not at all and with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Origin, Sentence
from nersery.core.alignments import Alignment, Link
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import SoftLabel
from nersery.core.settings.typed_settings import build
from nersery.core.text.text_forms import is_punctuation
from nersery.crosslingual.label_projection.projection import (
    ENTITY_QUALITY,
    FAR_APART,
    IMPROBABLE,
    NO_WORD,
    OUT_OF_RANGE,
    OVERLAP,
    PROJECTED,
    QUALITY,
    STRIPPED,
    Projection,
    alignment_issue,
)
from tests.crosslingual.translations import ADA, alignment, labelled, plain, projected, rejected

# --- no drift -------------------------------------------------------------------------------------------------------


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Words that contain their type, and punctuation anywhere, also in entities."""
    words: list[str] = []
    entities = []
    for _ in range(draw(st.integers(1, 8))):
        type_ = draw(st.sampled_from(["o", "PER", "LOC"]))
        length = draw(st.integers(1, 3))
        if type_ != "o":
            entities.append(Entity(len(words), len(words) + length, type_))
        words += [draw(st.sampled_from([f"{type_}.{len(words)}", "।", "-", "ज़्"])) for _ in range(length)]
    return Sentence(tuple(words), tuple(entities), id="s")


@given(sentences(), st.integers(0, 3), st.booleans())
def test_identical_sentences_get_the_same_labels(source: Sentence, max_gap: int, strip: bool):
    same = tuple(Link(position, position, 0.9) for position in range(len(source)))
    outcome = Projection(max_gap=max_gap, strip_punctuation=strip).project(source, source, same)
    assert isinstance(outcome, Sentence)
    assert outcome.labels == source.labels


@st.composite
def translations(draw: st.DrawFn) -> tuple[Sentence, tuple[str, ...], Alignment]:
    """Segments and their words in any order; each word becomes one to three; unaligned words in between."""
    segments: list[tuple[str, int]] = draw(
        st.lists(st.tuples(st.sampled_from(["o", "PER", "LOC"]), st.integers(1, 3)), min_size=1, max_size=6)
    )
    words, entities, positions = [], [], []
    for type_, length in segments:
        positions.append(list(range(len(words), len(words) + length)))
        if type_ != "o":
            entities.append(Entity(len(words), len(words) + length, type_))
        words += [f"{type_}.{position}" for position in positions[-1]]
    target: list[str] = []
    aligned = []
    for number in draw(st.permutations(range(len(segments)))):
        target += ["o.x"] * draw(st.integers(0, 2))
        for position in draw(st.permutations(positions[number])):
            for _ in range(draw(st.integers(1, 3))):
                aligned.append(Link(position, len(target), draw(st.floats(0.01, 1))))
                target.append(f"{segments[number][0]}.{position}")
    return Sentence(tuple(words), tuple(entities), id="s"), tuple(target), tuple(sorted(aligned))


@given(translations())
def test_each_word_keeps_its_type(pair: tuple[Sentence, tuple[str, ...], Alignment]):
    source, words, aligned = pair
    outcome = Projection(max_gap=0).project(source, Sentence(words, id="t"), aligned)
    assert isinstance(outcome, Sentence)
    assert len(outcome.entities) == len(source.entities)
    types = ["o"] * len(words)
    for entity in outcome.entities:
        types[entity.start : entity.end] = [entity.type] * (entity.end - entity.start)
    assert types == [word.split(".")[0] for word in words]


@given(
    sentences(),
    st.lists(st.tuples(st.integers(0, 23), st.integers(0, 9), st.floats(0.01, 1)), max_size=20),
    st.integers(0, 4),
)
def test_no_entity_is_lost_without_a_comment(source: Sentence, found: list[tuple[int, int, float]], max_gap: int):
    aligned = tuple(sorted({(s, t): Link(s, t, p) for s, t, p in found if s < len(source)}.values()))
    target = plain("a b , c ? d e f g h")
    strict = Projection(max_gap=max_gap).project(source, target, aligned)
    kept = Projection(max_gap=max_gap, keep_incomplete=True).project(source, target, aligned)
    assert isinstance(kept, Sentence)
    lost = [comment for comment in kept.comments if comment.startswith("# not projected: ")]
    assert len(kept.entities) + len(lost) == len(source.entities)
    assert isinstance(strict, Reject) == bool(lost)
    ends = {link.target for link in aligned}
    for entity in kept.entities:
        assert {entity.start, entity.end - 1} <= ends
        inside = [position for position in entity.positions if position in ends]
        assert len(inside) >= (entity.end - entity.start) / (max_gap + 1)


# --- what is projected ----------------------------------------------------------------------------------------------


def test_takes_the_smallest_span_of_all_linked_words():
    sentence = projected(ADA, "B hat A de L", "0-2 1-4 2-1 3-0")
    assert sentence.labels == ((0, 1, "PER"), (2, 5, "PER"))


@pytest.mark.parametrize(
    ("target", "aligned", "mention"),
    [
        ("Encinitas के Beacon बीच", "0-2 1-1 2-3", "Beacon बीच"),
        ("बीच Beacon के पास", "0-1 1-2 2-0", "बीच Beacon"),
        ("plage a b c d Beacon", "0-5 1-2 2-0", "plage a b c d Beacon"),
        ("Beach Beacon ’s", "0-1 1-2 2-0", "Beach Beacon ’s"),
    ],
)
def test_a_genitive_does_not_extend_a_span_but_fills_a_gap(target: str, aligned: str, mention: str):
    sentence = projected(labelled("Beacon 's Beach", (0, 3, "LOC")), target, aligned)
    assert [" ".join(sentence.mention(entity)) for entity in sentence.entities] == [mention]


def test_neighbours_of_the_same_type_stay_separate():
    source = labelled("Ada Bo", (0, 1, "PER"), (1, 2, "PER"))
    assert projected(source, "A B", "0-0 1-1").labels == ((0, 1, "PER"), (1, 2, "PER"))


def test_fields_of_the_target_are_kept():
    place: dict[str, Any] = {"document": "d", "offsets": ((4, 5), (6, 7))}
    target = Sentence(
        ("A", "L"), (Entity(1, 2, "OLD"),), "t7", "de", Origin("m"), {"old": 0.5}, (("x", "y"),), ("# text",),
        (SoftLabel(1, "OLD", 0.5, 0.0),), **place,
    )  # fmt: skip
    source = Sentence(("Ada", "L"), (Entity(0, 1, "PER", 0.7),), id="s3", language="en", comments=("# of the source",))
    outcome = Projection().project(source, target, alignment("0-0:0.25 1-1:0.25"))
    expected = Sentence(
        ("A", "L"), (Entity(0, 1, "PER"),), "t7", "de", Origin("project", ("s3",)),
        {"old": 0.5, QUALITY: 0.25, ENTITY_QUALITY: 0.25},
        (("x", "y"),), ("# text",), **place,
    )  # fmt: skip
    assert outcome == expected
    assert isinstance(outcome, Sentence)
    assert outcome.entities[0].score == 0.7


@pytest.mark.parametrize(
    ("target", "aligned", "label"),
    [
        ("« A L » .", "0-0 0-1 1-2 1-3 1-4", (1, 3, "PER")),
        ("A L ।", "0-0 1-1 1-2", (0, 2, "PER")),
        ("「 A L 」", "0-0 0-1 1-2 1-3", (1, 3, "PER")),
        ("A - L", "0-0 1-1 1-2", (0, 3, "PER")),
        ("؟ A L €", "0-0 0-1 1-2 1-3", (1, 3, "PER")),
    ],
)
def test_punctuation_is_stripped_from_the_ends_of_a_span(target: str, aligned: str, label: tuple[int, int, str]):
    source = labelled("Ada Lovelace", (0, 2, "PER"))
    assert projected(source, target, aligned).labels == (label,)
    positions = [link.target for link in alignment(aligned)]
    whole = (min(positions), max(positions) + 1, "PER")
    assert projected(source, target, aligned, strip_punctuation=False).labels == (whole,)


def test_punctuation_of_the_source_entity_is_kept():
    source = labelled("¡ Yahoo ! paid", (0, 3, "ORG"))
    assert projected(source, "! Yahoo ?", "0-0 1-1 2-2").labels == ((0, 3, "ORG"),)
    at_the_end = labelled("Yahoo ! paid", (0, 2, "ORG"))
    assert projected(at_the_end, "« Yahoo !", "0-0 0-1 1-2").labels == ((1, 3, "ORG"),)


def test_listed_words_are_stripped_from_the_ends_of_a_span():
    source = labelled("Delhi 's", (0, 1, "LOC"))
    assert projected(source, "La दिल्ली के", "0-0 0-1 0-2", strip=("la", "के")).labels == ((1, 2, "LOC"),)
    assert projected(labelled("La Paz", (0, 2, "LOC")), "La Paz", "0-0 1-1", strip=("la",)).labels == ((0, 2, "LOC"),)
    assert rejected(source, "La x", "0-0", strip=("la",)).reason == STRIPPED
    assert rejected(source, "La\u0300 x", "0-0", strip=("l\xe0",)).reason == STRIPPED, "however it is composed"


def test_types_are_kept_dropped_and_renamed():
    source = labelled("A B C", (0, 1, "PERSON"), (1, 2, "MISC"), (2, 3, "LOC"))
    everything = ((0, 1, "PERSON"), (1, 2, "MISC"), (2, 3, "LOC"))
    identity = "0-0 1-1 2-2"
    assert projected(source, "a b c", identity).labels == everything
    assert projected(source, "a b c", identity, drop=("MISC",)).labels == (everything[0], everything[2])
    assert projected(source, "a b c", identity, keep=("LOC",)).labels == (everything[2],)
    assert projected(source, "a b c", identity, keep=()).labels == ()
    renamed = projected(source, "a b c", identity, rename={"PERSON": "PER"}, keep=("PERSON", "LOC"))
    assert renamed.labels == ((0, 1, "PER"), (2, 3, "LOC"))


def test_a_dropped_entity_does_not_affect_others():
    source = labelled("A B", (0, 1, "PER"), (1, 2, "MISC"))
    assert rejected(source, "a b c", "0-0 0-2 1-1").reason == OVERLAP
    assert projected(source, "a b c", "0-0 0-2 1-1", drop=("MISC",)).labels == ((0, 3, "PER"),)
    assert projected(source, "a b", "0-0", drop=("MISC",)).labels == ((0, 1, "PER"),)


def test_links_below_the_threshold_are_ignored():
    source = labelled("Ada wrote", (0, 1, "PER"))
    assert projected(source, "A b c", "0-0:0.9 0-2:0.2", threshold=0.5).labels == ((0, 1, "PER"),)
    assert projected(source, "A b c", "0-0:0.9 0-2:0.5", threshold=0.5).labels == ((0, 3, "PER"),)
    weak, none = (
        rejected(source, "A b c", aligned, threshold=0.5).sentence for aligned in ("0-0:0.4 1-1:0.9", "1-1:0.9")
    )
    assert weak is not None
    assert none is not None
    assert weak.scores == none.scores


# --- what is not projected ------------------------------------------------------------------------------------------


def test_rejects_an_entity_without_a_linked_word():
    reject = rejected(ADA, "A L traf ihn", "0-0 1-1 2-2")
    assert reject.reason == NO_WORD
    assert reject.sentence is not None
    assert reject.sentence.labels == ((0, 2, "PER"),)
    assert reject.sentence.comments == (f"# not projected: PER Bo [3, 4) of s: {NO_WORD}",)
    assert reject.sentence.origin == Origin("project", ("s",))
    assert QUALITY in reject.sentence.scores


@pytest.mark.parametrize("max_gap", [0, 1, 3])
def test_rejects_a_gap_longer_than_max_gap(max_gap: int):
    source = labelled("Ada Lovelace", (0, 2, "PER"))
    fits, far = max_gap + 1, max_gap + 2
    target = "a b c d e f g"
    assert projected(source, target, f"0-0 1-{fits}", max_gap=max_gap).labels == ((0, fits + 1, "PER"),)
    assert rejected(source, target, f"0-0 1-{far}", max_gap=max_gap).reason == FAR_APART


def test_several_short_gaps_do_not_make_a_long_one():
    source = labelled("A B C D", (0, 4, "ORG"))
    assert projected(source, "a x b x c x d", "0-0 1-2 2-4 3-6", max_gap=1).labels == ((0, 7, "ORG"),)
    assert rejected(source, "a b c x y d", "0-0 1-1 2-2 3-5", max_gap=1).reason == FAR_APART


def test_all_overlapping_entities_are_lost():
    source = labelled("A B C D", (0, 1, "P"), (1, 2, "Q"), (2, 3, "R"), (3, 4, "S"))
    kept = projected(source, "a b c d e f g", "0-0 0-3 1-1 2-2 2-4 3-5", keep_incomplete=True)
    assert kept.labels == ((5, 6, "S"),)
    assert [comment.split()[3] for comment in kept.comments] == ["P", "Q", "R"]
    assert kept.scores[PROJECTED] == 0.25


def test_rejects_a_word_of_two_entities():
    source = labelled("Sri Lankan", (0, 1, "P"), (1, 2, "Q"))
    assert rejected(source, "srilankisch", "0-0 1-0").reason == OVERLAP


def test_kept_incomplete_sentences_have_a_score_and_a_comment():
    kept = projected(ADA, "A L traf ihn", "0-0 1-1 2-2", keep_incomplete=True)
    assert kept.labels == ((0, 2, "PER"),)
    assert kept.scores[PROJECTED] == 0.5
    assert kept.comments == (f"# not projected: PER Bo [3, 4) of s: {NO_WORD}",)
    assert projected(ADA, "A L traf B", "0-0 1-1 3-3", keep_incomplete=True).scores[PROJECTED] == 1
    assert projected(plain("x"), "y", "0-0", keep_incomplete=True).scores[PROJECTED] == 1
    assert PROJECTED not in projected(ADA, "A L traf B", "0-0 1-1 3-3").scores


@pytest.mark.parametrize(
    ("aligned", "issue"),
    [
        ("0-0 4-1", "link 4-1, counted from 0: the source has 4 words, expected 0 to 3"),
        ("0-0 1-2 3-1", "link 1-2, counted from 0: the target has 2 words, expected 0 to 1"),
    ],
)
def test_rejects_links_out_of_range(aligned: str, issue: str):
    reject = rejected(ADA, "a b", aligned, keep_incomplete=True)
    assert reject.reason == OUT_OF_RANGE
    assert reject.sentence is not None
    assert reject.sentence.comments == (f"# {issue}",)
    assert reject.sentence.entities == ()


@pytest.mark.parametrize("probability", [0.0, -0.1, 1.1, float("nan")])
def test_rejects_an_impossible_probability(probability: float):
    reject = Projection().project(ADA, plain("a b c d e f"), (Link(0, 0), Link(1, 1, probability)))
    assert isinstance(reject, Reject)
    assert reject.reason == IMPROBABLE


def test_labels_of_the_target_are_ignored_in_rejects_too():
    target = Sentence(("a",), (Entity(0, 1, "OLD"),), "t", comments=("# text",))
    reject = Projection().project(ADA, target, alignment("0-1"))
    assert isinstance(reject, Reject)
    assert reject.sentence is not None
    assert (reject.sentence.entities, reject.sentence.comments[0]) == ((), "# text")


def test_all_wrong_settings_are_reported_at_once():
    assert build(Projection, "project", {"max_gap": 0, "strip": ["the"]}) == Projection(max_gap=0, strip=("the",))
    with pytest.raises(SettingsError) as caught:
        build(Projection, "project", {"max_gap": -1, "threshold": 2})
    assert len(str(caught.value).splitlines()) == 2


def test_a_link_before_the_first_word_is_out_of_range():
    assert alignment_issue((Link(-1, 0), Link(1, 1)), 2, 2).startswith("link -1-0")
    assert alignment_issue((Link(0, -1),), 2, 2).startswith("link 0--1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 1.5}, "threshold is 1.5, expected a number in"),
        ({"max_gap": -1}, "max_gap is -1"),
        ({"unaligned": 0}, "unaligned is 0, expected"),
        ({"keep": ("A", "B"), "drop": ("B",)}, "keep and drop both name B"),
        ({"rename": {"A": ""}}, "rename has no new name for A; to leave out a type, name it in drop"),
        ({"rename": {"A": "B\t"}}, r"rename has the type 'B\\t': a type is a name without tabs"),
        ({"rename": {"A": "\ud800"}}, r"rename has the type '\\ud800'"),
        ({"rename": {"A": "B-PER"}}, 'rename has the type "B-PER", which is a tag; did you mean "PER"?'),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(SettingsError, match=message):
        Projection(**settings)


@pytest.mark.parametrize("strip", [True, False])
def test_invisible_words_neither_begin_nor_end_an_entity(strip: bool):
    source, projection = Sentence(("Ada",), (Entity(0, 1, "PER"),), id="s"), Projection(strip_punctuation=strip)
    target = Sentence(("\u200b", "Ada", "\xad", "L.", "\u200e"), id="t")
    linked = tuple(Link(0, position) for position in range(5))
    outcome = projection.project(source, target, linked)
    assert isinstance(outcome, Sentence)
    assert outcome.labels == ((1, 4, "PER"),)
    assert outcome.words == target.words
    nothing = projection.project(source, target, linked[:1])
    assert isinstance(nothing, Reject)
    assert nothing.reason == STRIPPED


@pytest.mark.parametrize("word", ["।", "«", "…", "$", "-", "...", "。", "٪", "،\u200f", "!\ufe0f", "-$"])
def test_recognizes_punctuation(word: str):
    assert is_punctuation(word)


@pytest.mark.parametrize("word", ["a", "7", "U.S.", "'s", "के", "の", "\u200d", "-7"])
def test_recognizes_what_is_not_punctuation(word: str):
    assert not is_punctuation(word)


@pytest.mark.parametrize(
    ("words", "link", "span"),
    [
        ([*"北ウェールズ議会"], 2, (1, 6)),
        ([*"北ｳｪｰﾙｽ議会"], 5, (1, 6)),
        (["北", "ウェールズ", "ニュース"], 1, (1, 2)),  # words, not characters
        ([*"エリン・ジョーンズ"], 6, (4, 9)),
        ([*"北京大学"], 1, (1, 2)),
    ],
)
def test_a_span_takes_all_of_a_foreign_name_in_katakana(words: list[str], link: int, span: tuple[int, int]):
    source = Sentence(("Wales",), (Entity(0, 1, "LOC"),), id="s")
    outcome = Projection().project(source, Sentence(tuple(words), id="t"), (Link(0, link),))
    assert isinstance(outcome, Sentence)
    assert outcome.labels == ((*span, "LOC"),)


GREECE = labelled("from Spain and Greece", (1, 2, "LOC"), (3, 4, "LOC"))


@pytest.mark.parametrize(
    ("target", "aligned", "mentions"),
    [
        ("từ Tây Ban Nha và Hy Lạp", "0-0 1-3 2-4 3-6", ["Tây Ban Nha", "Hy Lạp"]),  # on the left
        ("từ Tây Ban Nha và Hy Lạp", "0-0 1-1 2-4 3-5", ["Tây Ban Nha", "Hy Lạp"]),  # on the right
        ("từ Tây Ban Nha và Hy Lạp", "0-1 1-3 2-4 3-6", ["Ban Nha", "Hy Lạp"]),  # one has another link
        ("từ Tây Ban Nha Hy Lạp rồi", "0-0 1-2 3-5", ["Tây Ban Nha Hy", "Lạp"]),  # between two, the first takes it
        ("Ban Nha và Hy Lạp , rồi", "1-1 2-2 3-4", ["Nha", "Hy Lạp"]),  # not the first word
        ("có: « Ban Nha và Hy Lạp »", "1-3 2-4 3-6", ["Nha", "Hy Lạp"]),  # nor that of a quotation
        ("có , Ban Nha và Hy Lạp", "1-3 2-4 3-6", ["Ban Nha", "Hy Lạp"]),
        ("ông Dr. Nha và thấy Lạp", "1-2 2-3 3-5", ["Nha", "Lạp"]),
        ("and Mr Aznar saw that Greece", "1-2 3-5", ["Aznar", "Greece"]),
        ("where in Spain I met Greece", "1-2 3-5", ["Spain", "Greece"]),
        ("Tây Ban Nha Và Hy Lạp", "1-2 2-3 3-5", ["Nha", "Lạp"]),  # a headline
        ("từ Tây, Nha và Hy Lạp", "1-2 2-3 3-5", ["Nha", "Hy Lạp"]),
    ],
)
def test_a_span_takes_words_beside_it_with_capitals_and_no_links(target: str, aligned: str, mentions: list[str]):
    outcome = projected(GREECE, target, aligned)
    assert [" ".join(outcome.mention(entity)) for entity in outcome.entities] == mentions
    as_linked = projected(GREECE, target, aligned, take_capitals=False)
    assert [entity.end - entity.start for entity in as_linked.entities] == [1, 1]


@pytest.mark.parametrize(
    ("target", "aligned", "mentions"),
    [
        ("在西班牙和莱索托。", "1-2 2-4 3-6", ["西班", "莱索托"]),  # the last character of Spain spells no other name
        ("在利比亚见到莱索托。", "1-3 2-4 3-6", ["利比亚", "莱索托"]),
        ("在利比亚见到莱索托。", "1-2 2-3 3-6", ["比", "莱索托"]),  # others have other links
        ("在利比亚莱索托之间。", "0-0 1-2 3-5", ["利比亚莱", "索托"]),  # between two, the first takes it
        ("東京の海からイタリア", "1-1 3-3", ["京", "海"]),
        ("西海から東の里里まで", "1-1 3-6", ["海", "里"]),  # Japanese
    ],
)
def test_a_span_takes_characters_beside_it_that_spell_foreign_names(target: str, aligned: str, mentions: list[str]):
    links = aligned if mentions[0] != "比" else f"{aligned} 2-1"
    outcome = projected(GREECE, " ".join(target), links)
    assert ["".join(outcome.mention(entity)) for entity in outcome.entities] == mentions
    as_linked = projected(GREECE, " ".join(target), links, take_capitals=False)
    assert [entity.end - entity.start for entity in as_linked.entities] == [1, 1]
