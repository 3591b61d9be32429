"""Tag schemes: round trips, issues of broken tags, and repairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from nersery.core.errors import SettingsError
from nersery.core.sentence import Entity
from nersery.core.tags import SCHEMES, decode, detect, encode, looks_like_tag, scheme_name
from nersery.io.repairs import DROP_SENTENCE, REPAIRS, repair

TYPES = ["PER", "LOC", "B-PER", "x:y", "creative work", "व्यक्ति", "人", "O", "-", "_", "\u200d"]
Labelled = tuple[int, tuple[Entity, ...]]
BROKEN = ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "I-B", "E-B", "B_A", "-A", "-B", "-", "AB"]
MENDING = [name for name in REPAIRS if name != DROP_SENTENCE]


@st.composite
def labelled(draw: st.DrawFn) -> Labelled:
    """A number of words, and entities over them, many of them adjacent."""
    entities, position = [], draw(st.integers(0, 2))
    for type_, length, gap in draw(
        st.lists(st.tuples(st.sampled_from(TYPES), st.integers(1, 3), st.sampled_from([0, 0, 1, 2])))
    ):
        entities.append(Entity(position, position + length, type_))
        position += length + gap
    return position + 1, tuple(entities)


def pairs_of(tags: Sequence[str]) -> set[tuple[str, str]]:
    return set(zip(["O", *tags], [*tags, "O"], strict=True))


def issues_of(tags: Sequence[str], scheme: str) -> list[tuple[int, str, str]]:
    return [(issue.index, issue.kind, issue.repair) for issue in decode(tags, scheme)[1]]


@given(labelled(), st.sampled_from(list(SCHEMES)))
def test_entities_survive_a_round_trip_in_every_scheme(sentence: Labelled, scheme: str) -> None:
    length, entities = sentence
    assert decode(encode(entities, length, scheme), scheme) == (entities, ())


@given(st.lists(labelled(), max_size=5), st.sampled_from(list(SCHEMES)))
def test_the_detected_scheme_reads_the_same_entities(sentences: list[Labelled], scheme: str) -> None:
    written = [encode(entities, length, scheme) for length, entities in sentences]
    found = detect(set().union(*map(pairs_of, written)))
    assert [decode(tags, found) for tags in written] == [(entities, ()) for _, entities in sentences]


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"])))
def test_broken_tags_are_read_as_conlleval_does(tags: list[str]) -> None:
    entities, _ = decode(tags, "IOB2")
    assert [(e.type, e.start, e.end - 1) for e in entities] == [tuple(e) for e in get_entities(tags)]


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "IOB1"])
def test_tags_have_an_issue_unless_encoding_reproduces_them(scheme: str) -> None:
    alphabet = ["O", *(f"{letter}-{type_}" for letter in SCHEMES[scheme].letters for type_ in "AB")]
    for tags in product(alphabet, repeat=4 if len(alphabet) < 7 else 3):
        entities, issues = decode(tags, scheme)
        assert bool(issues) == (encode(entities, len(tags), scheme) != list(tags)), tags


def test_iob1_reads_every_letter_in_its_only_possible_meaning() -> None:
    assert decode(["I-A", "I-A", "B-A", "O", "B-B"], "IOB1") == (
        (Entity(0, 2, "A"), Entity(2, 3, "A"), Entity(4, 5, "B")),
        (),
    )


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("O O", "IOB2"),
        ("O B-A I-A B-A", "IOB2"),
        ("O I-A O", "IOB1"),
        ("I-A B-A I-B", "IOB1"),
        ("I-A O B-A", "IOB2"),
        ("B-A I-B", "IOB2"),
        ("B-A E-A", "BIOES"),
        ("S-A O", "BIOES"),
        ("U-A", "BILOU"),
        ("B-A L-A", "BILOU"),
        ("B-A M-A E-A S-A", "BMES"),
        ("B-A M-A E-A W-A", "BMEWO"),
        ("B_A E_A", "BIOES"),
        ("B-A I-A O B-A O S-A", "IOB2"),
        ("I-A I-A O S-A", "IOB1"),
        ("B-A E-A O S-A O I-A", "BIOES"),
        ("B-X-A I-A", "IOB2"),
        ("I-X-A I-A", "IOB1"),
        ("-A I-A B-B", "IOB2"),
    ],
)
def test_detects_the_scheme(tags: str, scheme: str) -> None:
    assert detect(pairs_of(tags.split(" "))) == scheme


def test_detection_reads_borders_between_sentences() -> None:
    assert detect(pairs_of(["O", "B-A"]) | pairs_of(["I-A", "O"])) == "IOB2"


@pytest.mark.parametrize(
    ("tags", "scheme", "issues"),
    [
        ("B_PER O", "IOB2", [(0, "unknown tag", "underscore")]),
        ("B–PER O", "IOB2", [(0, "unknown tag", "underscore")]),
        ("O -NEL", "IOB2", [(1, "unknown tag", "lost-prefix")]),
        ("- O", "IOB2", [(0, "unknown tag", "bare-dash")]),
        ("_ O", "IOB2", [(0, "unknown tag", "bare-dash")]),
        ("B- O", "IOB2", [(0, "unknown tag", "")]),
        ("L-PER", "IOB2", [(0, "unknown tag", "")]),
        ("PER", "IOB2", [(0, "unknown tag", "bare-type")]),
        ("PER-B PER-I O", "IOB2", [(0, "unknown tag", "letter-last"), (1, "unknown tag", "letter-last")]),
        ("b-per o", "IOB2", [(0, "unknown tag", "small-letter"), (1, "unknown tag", "small-letter")]),
        ("PER-S", "IOB2", [(0, "unknown tag", "bare-type")]),
        ("s-per", "IOB2", [(0, "unknown tag", "")]),
        ("0", "IOB2", [(0, "unknown tag", "")]),
        ("O I-PER", "IOB2", [(1, "entity without beginning", "orphan-inside")]),
        ("B-LOC I-PER", "IOB2", [(1, "entity without beginning", "orphan-inside")]),
        ("B-PER O", "BIOES", [(0, "entity without end", "open-end")]),
        ("B-PER I-PER", "BILOU", [(1, "entity without end", "open-end")]),
        (
            "I-PER O L-PER",
            "BILOU",
            [
                (0, "entity without beginning", "orphan-inside"),
                (0, "entity without end", "open-end"),
                (2, "entity without beginning", "orphan-inside"),
            ],
        ),
    ],
)
def test_issues_name_place_kind_and_repair(tags: str, scheme: str, issues: list[tuple[int, str, str]]) -> None:
    assert issues_of(tags.split(" "), scheme) == issues


@pytest.mark.parametrize("tag", ["", "B", "o", "B–PER", "É-PER", "B-PER ", "B- PER", "B-P\nR", "B-\u3000"])
def test_never_reads_other_strings_as_tags(tag: str) -> None:
    entities, issues = decode([tag, "O"], "IOB2")
    assert entities == ()
    assert [issue.kind for issue in issues] == ["unknown tag"]


def test_messages_say_what_is_legal() -> None:
    (issue,) = decode(["O", "E-PER"], "BIOES")[1]
    assert "'E-PER'" in issue.message
    assert "after 'O'" in issue.message
    assert "expected O, B-PER or S-PER" in issue.message
    (issue,) = decode(["I-A", "O"], "IOB2")[1]
    assert issue.message == (
        "'I-A' continues an entity, but no entity of its type is open after the start of the sentence; expected O, B-A"
    )
    (issue,) = decode(["B-AS", "I-A"], "IOB2")[1]
    assert issue.message.endswith("after 'B-AS'; expected O, B-A, or the same type if both words are one entity")
    messages = [issue.message for tags in ("B-A I-A O", "O S-A B-A") for issue in decode(tags.split(), "BIOES")[1]]
    assert messages == [
        "the entity at 'I-A' is not ended before 'O'; expected I-A or E-A after it",
        "the entity at 'B-A' is not ended before the end of the sentence; expected I-A or E-A after it, or S-A in its "
        "place",
    ]


@pytest.mark.parametrize(
    ("tag", "why"),
    [
        (" B-A", "it begins or ends with a space"),
        ("-", "letter and type are missing"),
        ("-A", "its letter is missing"),
        ("A", "it is not a tag"),
        ("B", "its type is missing"),
        *((tag, "its letter is missing") for tag in ("AB", "व्यक्ति", "人物", "شخص‌ها", "A.b/c:1_d&e-f")),
        *((tag, "it is not a tag") for tag in ("12", "..", "[{'a'}]", '"A"', "A*", "A(b)", "「人」", "A+B")),
        *((tag, "its bracket is nested or has no partner") for tag in ("(GPE*", "((GPE)*", "*)", "(ORG(GPE)")),
        ("B_A", "it has _ instead of -"),
        ("E_A", "it is not a tag"),
        ("E-A", "IOB2 has no letter E"),
        ("B-", "its type is missing"),
        ("B- A", "there is a space beside its hyphen"),
        ("B–A", "it has – (U+2013) instead of -"),
        ("B-A\u3000", "its type begins or ends with white space, or contains a tab or a line break"),
    ],
)
def test_messages_say_what_is_wrong_with_a_tag(tag: str, why: str) -> None:
    (issue,) = decode(["O", tag], "IOB2")[1]
    assert issue.message == f"the tag {tag!r} cannot be read: {why}; expected O, B-TYPE or I-TYPE"


@pytest.mark.parametrize(
    ("name", "scheme", "before", "after"),
    [
        ("outer-space", "IOB2", ["O ", " B-A", "\u00a0O"], ["O", "B-A", "\u00a0O"]),
        (
            "small-letter",
            "IOB2",
            ["b-per", "i-x-y", "o", "B-b", "s-per", "b-"],
            ["B-per", "I-x-y", "O", "B-b", "s-per", "b-"],
        ),
        (
            "letter-last",
            "IOB2",
            ["PER-B", "ab-c-I", "XY_B", "B-I", "O", "PER-S"],
            ["B-PER", "I-ab-c", "B-XY", "B-I", "O", "PER-S"],
        ),
        (
            "outer-space",
            "IOB2",
            ["B- A", "I -A-B", "x - A", "B- ", "B-A -C"],
            ["B-A", "I-A-B", "x - A", "B-", "B-A -C"],
        ),
        ("underscore", "IOB2", ["B–A", "I\u2011A", "B—A", "I\u2212A", "B\uff0dA"], ["B-A", "I-A", "B-A", "I-A", "B-A"]),
        ("underscore", "IOB2", ["B_PER", "I_PER", "x_y", "_", "B-A_B"], ["B-PER", "I-PER", "x_y", "_", "B-A_B"]),
        ("lost-prefix", "IOB2", ["-A", "-A", "-B", "O", "-B", "-"], ["B-A", "I-A", "B-B", "O", "B-B", "-"]),
        ("lost-prefix", "BIOES", ["S-A", "-A", "-A"], ["S-A", "B-A", "I-A"]),
        ("lost-prefix", "BMES", ["B-A", "-A"], ["B-A", "M-A"]),
        (
            "bare-type",
            "IOB2",
            ["LOC", "LOC", "ab-c", "O", "o", "B_A", "-A"],
            ["B-LOC", "I-LOC", "B-ab-c", "O", "o", "B_A", "-A"],
        ),
        ("bare-type", "BIOES", ["LOC", "LOC", "LOC"], ["B-LOC", "I-LOC", "I-LOC"]),
        ("bare-dash", "IOB2", ["-", "-A", "O", "_"], ["O", "-A", "O", "O"]),
        ("orphan-inside", "IOB2", ["I-A", "I-A", "O", "I-B", "I-A"], ["B-A", "I-A", "O", "B-B", "B-A"]),
        ("orphan-inside", "IOB1", ["O", "I-A"], ["O", "I-A"]),
        ("orphan-inside", "BIOES", ["I-A", "E-A", "O", "E-A"], ["B-A", "E-A", "O", "S-A"]),
        ("open-end", "BIOES", ["B-A", "O", "B-A", "I-A", "O", "E-A"], ["S-A", "O", "B-A", "E-A", "O", "S-A"]),
        ("open-end", "BMEWO", ["B-A", "M-A", "B-A"], ["B-A", "E-A", "W-A"]),
        ("open-end", "IOB2", ["B-A", "O"], ["B-A", "O"]),
    ],
)
def test_each_repair_mends_its_own_issue_and_counts_it(
    name: str, scheme: str, before: list[str], after: list[str]
) -> None:
    mended, counts = repair(before, scheme, [name])
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    assert mended == after
    assert counts == ({name: changed} if changed else {})


@given(st.lists(st.sampled_from(BROKEN)), st.permutations(MENDING))
def test_all_repairs_together_fix_all_tags_in_any_order(tags: list[str], names: list[str]) -> None:
    mended, counts = repair(tags, "BIOES", names)
    assert decode(mended, "BIOES")[1] == ()
    assert (mended, counts) == repair(tags, "BIOES", MENDING)
    assert bool(counts) == (list(tags) != mended)


@given(labelled(), st.sampled_from(list(SCHEMES)))
def test_repairs_leave_sound_tags_alone(sentence: Labelled, scheme: str) -> None:
    length, entities = sentence
    tags = encode(entities, length, scheme)
    assert repair(tags, scheme, MENDING) == (tags, {})


def test_scheme_names() -> None:
    assert [scheme_name(name) for name in ("iob2", "BIO", "Iobes", "bmewo")] == ["IOB2", "IOB2", "BIOES", "BMEWO"]
    with pytest.raises(SettingsError, match=r'"BIOS".*did you mean "BIOES"'):
        scheme_name("BIOS")
    with pytest.raises(SettingsError, match='no tag scheme "IO"; IO is read as IOB1; '):
        scheme_name("IO")


@pytest.mark.parametrize(
    ("value", "sure", "perhaps"),
    [
        ("O", True, True),
        ("B-x", True, True),
        ("W-人", True, True),
        ("B_PER", False, True),
        ("-PER", False, True),
        ("-", False, True),
        ("NNP", False, False),
        ("B-", False, False),
        ("", False, False),
    ],
)
def test_recognises_the_form_of_tags(value: str, sure: bool, perhaps: bool) -> None:
    assert (looks_like_tag(value), looks_like_tag(value, broken=True)) == (sure, perhaps)


def test_many_unknown_tags_do_not_fill_the_memory() -> None:
    from nersery.core.tags import meanings_of

    before = len(meanings_of("IOB2"))
    decode([f"junk{number}" for number in range(1000)], "IOB2")
    assert len(meanings_of("IOB2")) == before
