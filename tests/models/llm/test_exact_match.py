import pytest

from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.models.llm.exact_match import occurrences, placed_mentions

TYPES = ("PER", "LOC", "ORG")


def labels(text: str, *mentions: tuple[str, str]) -> object:
    answer = [{"text": mention, "type": type_} for mention, type_ in mentions]
    found = placed_mentions(answer, Sentence(tuple(text.split())), TYPES)
    return found.reason if isinstance(found, Reject) else [(e.start, e.end, e.type) for e in found]


def test_repeated_mentions_match_occurrences_in_order() -> None:
    assert labels("Paris met Paris in Paris", ("Paris", "PER"), ("Paris", "PER"), ("Paris", "LOC")) == [
        (0, 1, "PER"),
        (2, 3, "PER"),
        (4, 5, "LOC"),
    ]


def test_a_mention_listed_once_is_labelled_everywhere() -> None:
    assert labels("Ada saw Ada", ("Ada", "PER")) == [(0, 1, "PER"), (2, 3, "PER")]


def test_a_mention_listed_too_often_counts_once() -> None:
    assert labels("Ada wrote", ("Ada", "PER"), ("Ada", "PER")) == [(0, 1, "PER")]


def test_a_mention_within_another_one_is_not_labelled() -> None:
    found = [(0, 3, "ORG"), (4, 6, "LOC")]
    assert labels("New York Times in New York", ("New York", "LOC"), ("New York Times", "ORG")) == found


def test_ignores_white_space_but_matches_only_whole_words() -> None:
    assert labels("the U.N . met", ("U.N.", "ORG")) == [(1, 3, "ORG")]
    assert labels("北 京 的", ("北京", "LOC")) == [(0, 2, "LOC")]
    assert labels("Annapolis", ("Anna", "PER")) == "an entity is not in the sentence"


@pytest.mark.parametrize("changed", ["ada", "Ada L.", "Adá", "Ada\u200d", "Lovelace"])
def test_a_changed_mention_is_rejected(changed: str) -> None:
    assert labels("Ada wrote", (changed, "PER")) == "an entity is not in the sentence"


@pytest.mark.parametrize(
    ("word", "copied"),
    [
        ("Cafe\u0301", "Caf\u00e9"),
        ("Caf\u00e9", "Cafe\u0301"),
        ("\u095bमीन", "\u091c\u093cमीन"),
        ("가", "\u1100\u1161"),
    ],
)
def test_matches_mentions_in_another_unicode_form(word: str, copied: str) -> None:
    assert labels(f"in {word} .", (copied, "LOC")) == [(1, 2, "LOC")]
    mentions = [(copied * 2, "LOC"), (f"{word} {word} a", "ORG")]
    assert labels(f"{word} {word} a {word} {word}", *mentions) == [(0, 3, "ORG"), (3, 5, "LOC")]


def test_overlaps_and_unknown_types_are_rejected() -> None:
    assert labels("New York Times", ("New York", "LOC"), ("York Times", "ORG")) == "entities overlap"
    assert labels("Ada", ("Ada", "PERSON")) == "an entity has an unknown type"


def test_null_and_placeholders_are_no_entities() -> None:
    assert placed_mentions(None, Sentence(("Ada",)), TYPES) == ()
    assert labels("Ada left", ("N/A", "none"), ("Ada", "PER")) == [(0, 1, "PER")]
    assert labels("Null Island", ("Null Island", "LOC"), ("None", "PER")) == [(0, 2, "LOC")]
    assert labels("Unknown", ("Unknown", "ORG")) == [(0, 1, "ORG")]


def test_types_match_in_any_case() -> None:
    assert labels("Ada", ("Ada", "Per")) == [(0, 1, "PER")]


@pytest.mark.parametrize(
    "answer", [{}, "Ada", [1], [{"text": "Ada"}], [{"text": 1, "type": "PER"}], [{"text": " ", "type": "PER"}]]
)
def test_rejects_answers_of_another_form(answer: object) -> None:
    found = placed_mentions(answer, Sentence(("Ada",)), TYPES)
    assert isinstance(found, Reject)
    assert "form" in found.reason


def test_emoji_with_joiners_are_words() -> None:
    family = "👩‍👩‍👧‍👦"
    assert list(occurrences(family, ["👩", family, "👩‍👩‍👧"])) == [(1, 2)]


def test_words_of_white_space_stay_outside_mentions() -> None:
    words = ["\u3000", "王", "\u3000", "明", "\u3000"]
    assert list(occurrences("王明", words)) == [(1, 4)]
    assert list(occurrences("王", words)) == [(1, 2)]
