import random
from collections import Counter
from dataclasses import replace

import pytest

from nersery import Origin, Sentence
from nersery.core.errors import DataError, SettingsError
from nersery.publish.splits import SPLITS, Division, divide


def sentence(id: str, text: str = "", language: str = "", parent: str = "") -> Sentence:
    origin = Origin("m", (parent,), 1) if parent else None
    return Sentence(tuple((text or f"only {id} says this").split()), id=id, language=language, origin=origin)


def many(count: int, language: str = "") -> list[Sentence]:
    return [sentence(f"{language}{n}", f"{language}{n} {language}{n}b", language) for n in range(count)]


def ids(divided) -> dict[str, list[str]]:
    return {split: [s.id for s in corpus] for split, corpus in divided.splits.items()}


def test_shares_are_met_in_each_language():
    divided = divide([*many(200, "en"), *many(50, "hi")], {}, Division(0.1, 0.2))
    assert list(divided.splits) == list(SPLITS)
    counts = {split: Counter(s.language for s in corpus) for split, corpus in divided.splits.items()}
    assert counts == {"train": {"en": 140, "hi": 35}, "validation": {"en": 20, "hi": 5}, "test": {"en": 40, "hi": 10}}


@pytest.mark.parametrize("each", [3, 5, 8, 14])
@pytest.mark.parametrize("copies", [0, 1])
def test_shares_are_met_over_many_small_languages(each: int, copies: int):
    made = [s for n in range(20) for s in many(each, f"l{n}_")]
    made += [replace(sentence(f"{s.id}~1", parent=s.id), language=s.language) for s in made if copies]
    divided = divide(made, {}, Division())
    counts = {split: len(corpus) for split, corpus in divided.splits.items()}
    expected = {split: share * 20 * each for split, share in zip(SPLITS, (0.8, 0.1, 0.1), strict=True)}
    expected["train"] *= 1 + copies
    assert counts == pytest.approx(expected, abs=1 + copies)
    assert len(divided.generated) == copies * (counts["validation"] + counts["test"])
    backwards = divide(made[::-1], {}, Division())
    assert {split: len(corpus) for split, corpus in backwards.splits.items()} == counts


def test_shares_unmet_in_one_language_do_not_affect_the_next():
    big = [replace(sentence(f"big{n}", parent="one"), language="a") for n in range(300)]
    divided = divide([*big, *many(50, "b")], {}, Division())
    counts = {split: Counter(s.language for s in corpus) for split, corpus in divided.splits.items()}
    assert [counts[split]["b"] for split in SPLITS] == pytest.approx([40, 5, 5], abs=1)


def test_keeps_groups_together_and_nearly_meets_the_shares():
    made = many(300)
    made += [sentence(f"{n}~1", parent=str(n)) for n in range(0, 300, 3)]
    divided = divide(made, {}, Division())
    where = {s.id: split for split, corpus in divided.splits.items() for s in corpus}
    assert all(where[f"{n}~1"] == where[str(n)] for n in range(0, 300, 3))
    assert {split: len(corpus) for split, corpus in divided.splits.items()} == pytest.approx(
        {"train": 340, "validation": 30, "test": 30}, abs=2
    )
    assert (divided.groups, divided.largest) == (300, 2)
    assert not any(s.origin for split in ("validation", "test") for s in divided.splits[split])
    assert divided.generated == (), "train has room for all"


def test_leaves_out_generated_sentences_with_parents_in_test():
    made = [*many(40), *(sentence(f"{n}~{copy}", parent=str(n)) for n in range(40) for copy in (1, 2))]
    made.append(sentence("free", parent="elsewhere"))
    divided = divide(made, {}, Division())
    found = ids(divided)
    assert {split: len(own) for split, own in found.items()} == {"train": 32 * 3 + 1, "validation": 4, "test": 4}
    out = [f"{id}~{copy}" for split in ("validation", "test") for id in found[split] for copy in (1, 2)]
    assert sorted(divided.generated) == sorted(out)


def test_a_corpus_that_is_all_generated_is_divided():
    made = [sentence(f"{n}~1", parent=str(n)) for n in range(40)]
    divided = divide(made, {}, Division())
    assert {split: len(own) for split, own in divided.splits.items()} == {"train": 32, "validation": 4, "test": 4}
    assert divided.generated == ()


def test_keeps_documents_together_if_there_are_enough():
    made = [replace(s, document=f"d{n % 20}") for n, s in enumerate(many(100))]
    divided = divide(made, {}, Division())
    documents = {split: {s.document for s in corpus} for split, corpus in divided.splits.items()}
    assert {split: len(own) for split, own in documents.items()} == {"train": 16, "validation": 2, "test": 2}
    assert (divided.groups, divided.largest, divided.documents, divided.parted) == (20, 5, 20, 0)


def test_few_documents_are_divided_and_counted():
    plain = many(100)
    made = [replace(s, document=f"d{n % 5}") for n, s in enumerate(plain)]
    divided = divide(made, {}, Division())
    assert ids(divided) == ids(divide(plain, {}, Division()))
    assert (divided.documents, divided.parted) == (5, 5)
    large = [replace(s, document=f"d{n}" if n > 90 else "large") for n, s in enumerate(plain)]
    assert divide(large, {}, Division()).parted == 1


def test_a_group_that_is_larger_than_a_split_goes_into_train():
    big = [sentence(f"big{n}", parent="one") for n in range(30)]
    for seed in range(5):
        divided = divide([*many(170), *big], {}, Division(seed=seed))
        assert {f"big{n}" for n in range(30)} <= {*ids(divided)["train"]}
        assert {split: len(corpus) for split, corpus in divided.splits.items()} == {
            "train": 166, "validation": 17, "test": 17
        }  # fmt: skip


def test_the_seed_decides_and_the_order_does_not():
    made = many(60)
    shuffled = random.Random(0).sample(made, 60)
    one, other = divide(made, {}, Division(seed=1)), divide(shuffled, {}, Division(seed=1))
    assert {k: sorted(v) for k, v in ids(one).items()} == {k: sorted(v) for k, v in ids(other).items()}
    assert ids(one) != ids(divide(made, {}, Division(seed=2)))


def test_division_ignores_order_of_equal_sentences_in_two_languages():
    made = [
        sentence(f"{n} {language}", f"only {n} says this", language) for n in range(30) for language in ("en", "hi")
    ]
    one, other = (divide(order, {}, Division(0.2, 0.2, 1.0)) for order in (made, random.Random(0).sample(made, 60)))
    assert {k: sorted(v) for k, v in ids(one).items()} == {k: sorted(v) for k, v in ids(other).items()}


def test_splits_without_a_share_are_left_out():
    assert list(divide(many(20), {}, Division(0, 0.2)).splits) == ["train", "test"]
    assert list(divide(many(20), {}, Division(0, 0)).splits) == ["train"]


def test_given_splits_stay_and_the_others_are_divided_among_the_rest():
    made = many(40)
    given = {**{str(n): "train" for n in range(10)}, **{str(n): "test" for n in range(10, 20)}}
    divided = divide(made, given, Division(0.25, 0.25))
    found = ids(divided)
    assert found["test"] == [str(n) for n in range(10, 20)]
    assert {str(n) for n in range(10)} < {*found["train"]}
    assert (len(found["train"]), len(found["validation"])) == (10 + 15, 5)
    assert divided.leaks == {}


LEAKY = [sentence("a", "the very same"), sentence("b", "The very same"), sentence("c"), sentence("d", parent="c")]
GIVEN = {"a": "train", "b": "test", "c": "validation"}


def test_leaks_between_given_splits_are_refused_and_all_named():
    with pytest.raises(DataError) as caught:
        divide(LEAKY, GIVEN, Division())
    assert [issue.sentence for issue in caught.value.issues] == ["a", "d"]
    assert "train has this sentence, and test has a similar one or one made from the same parent" in str(caught.value)
    assert "--leaks drop" in str(caught.value)


def test_leaks_may_be_dropped():
    divided = divide([*LEAKY, sentence("e")], {**GIVEN, "e": "train"}, Division(leaks="drop"))
    assert ids(divided) == {"train": ["e"], "validation": ["c"], "test": ["b"]}
    assert divided.leaks == {("train", "test"): 1, ("train", "validation"): 1}
    assert divided.dropped == ("a", "d")
    with pytest.raises(DataError, match="train would be empty: a later split has all its sentences or similar"):
        divide(LEAKY, GIVEN, Division(leaks="drop"))


def test_leaks_may_be_kept():
    divided = divide(LEAKY, GIVEN, Division(leaks="keep"))
    assert ids(divided) == {"train": ["a", "d"], "validation": ["c"], "test": ["b"]}
    assert divided.leaks == {("train", "test"): 1, ("train", "validation"): 1}
    assert divided.dropped == ()


def test_sentences_with_relatives_in_train_join_it():
    divided = divide([*LEAKY[2:], *many(9)], {"c": "train"}, Division(0.4, 0.4))
    assert {"c", "d"} <= {*ids(divided)["train"]}


def test_equal_sentences_within_a_split_are_not_a_leak():
    made = [sentence("a", "same"), sentence("b", "same")]
    divided = divide(made, dict.fromkeys("ab", "test"), Division())
    assert ids(divided) == {"test": ["a", "b"]}
    assert divided.leaks == {}


def test_sentences_are_not_changed_and_keep_their_order():
    made = [replace(s, scores={"x": 1.0}) for s in many(30)]
    divided = divide(made, {}, Division())
    for corpus in divided.splits.values():
        assert [s for s in made if s in corpus] == list(corpus)
    assert sum(len(corpus) for corpus in divided.splits.values()) == 30
    assert divided.splits["train"][:2][1] == divided.splits["train"][1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dev_share": 0.5, "test_share": 0.5}, "leave something for train"),
        ({"dev_share": -0.1}, "leave something for train"),
        ({"test_share": float("nan")}, "leave something for train"),
        ({"leaks": "dorp"}, "leaks is 'dorp': expected 'refuse', 'drop' or 'keep'"),
        ({"similarity": 0.0}, "similarity is 0"),
        ({"similarity": 1.1}, "similarity is 1.1"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SettingsError, match=message):
        Division(**settings)
