import random
import warnings
from dataclasses import replace
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError
from nersery.evaluate.scores import Counts, Scores, all_scores, paired, paired_by_order, score, sentence_counts

TYPES = ("LOC", "ORG", "PER")


def sentence(labels, length=6, id="1"):
    return Sentence(tuple(f"w{n}" for n in range(length)), tuple(Entity(*label) for label in labels), id=id)


def iob2(sentence):
    tags = ["O"] * len(sentence)
    for entity in sentence.entities:
        tags[entity.start : entity.end] = [f"B-{entity.type}"] + [f"I-{entity.type}"] * (entity.end - entity.start - 1)
    return tags


def seqeval(gold, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classification_report(
            [iob2(s) for s in gold],
            [iob2(s) for s in predicted],
            mode="strict",
            scheme=IOB2,
            output_dict=True,
            zero_division=0,
        )


def assert_equal_to_seqeval(gold, predicted):
    ours, theirs = score(gold, predicted), seqeval(gold, predicted)
    for type_, counts in ours.per_type.items():
        figures = theirs[type_]
        assert counts.gold == figures["support"]
        assert counts.precision == pytest.approx(figures["precision"])
        assert counts.recall == pytest.approx(figures["recall"])
        assert counts.f1 == pytest.approx(figures["f1-score"])
    micro = theirs["micro avg"]
    assert (ours.micro.precision, ours.micro.recall, ours.micro.f1) == pytest.approx(
        (micro["precision"], micro["recall"], micro["f1-score"])
    )
    assert ours.macro_f1 == pytest.approx(theirs["macro avg"]["f1-score"])


def random_entities(rng, length):
    """Flat entities, many of them side by side and of one type."""
    entities, start = [], rng.randint(0, 3)
    while start < length:
        end = min(length, start + rng.randint(1, 4))
        entities.append(Entity(start, end, rng.choice(TYPES)))
        start = end + rng.choice((0, 0, 1, 2, 5))
    return entities


def gold_corpus(rng, size=300):
    lengths = [rng.randint(1, 25) for _ in range(size)]
    return Corpus(
        Sentence(("w",) * length, tuple(random_entities(rng, length)), id=f"s{number}")
        for number, length in enumerate(lengths)
    )


def noisy(sentence, rng, kinds):
    """What a tagger might predict: some entities are wrong in one of the named ways."""
    entities, position = [], 0
    for entity in sentence.entities:
        kind = rng.choice(kinds)
        start, end, type_ = entity.start, entity.end, entity.type
        if kind == "missed":
            continue
        if kind == "boundary":
            start = max(position, start + rng.choice((-1, 0, 1)))
            end = min(len(sentence), end + rng.choice((-1, 0, 1)))
        if kind == "type":
            type_ = rng.choice([other for other in TYPES if other != type_])
        if kind == "spurious" and position < start:
            entities.append(Entity(position, start, rng.choice(TYPES)))
        start = max(start, position)
        if start < end:
            entities.append(Entity(start, end, type_))
            position = end
    return sentence.with_entities(entities)


@pytest.mark.parametrize("seed", range(5))
def test_equals_seqeval_on_noisy_predictions(seed):
    rng = random.Random(seed)
    gold = gold_corpus(rng)
    kinds = ("right", "right", "boundary", "type", "missed", "spurious")
    predicted = [noisy(s, rng, kinds) for s in gold]
    assert 0.3 < score(gold, predicted).micro.f1 < 0.9, "the noise leaves something right and something wrong"
    assert_equal_to_seqeval(gold, predicted)


labels = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from(TYPES)), max_size=5)


def laid_out(drawn):
    entities, position = [], 0
    for length, gap, type_ in drawn:
        entities.append((position + gap, position + gap + length, type_))
        position += gap + length
    return entities


@settings(deadline=None)
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=4))
def test_equals_seqeval_on_any_labels(drawn):
    gold = [sentence(laid_out(g), 30, f"s{n}") for n, (g, _) in enumerate(drawn)]
    predicted = [sentence(laid_out(p), 30, f"s{n}") for n, (_, p) in enumerate(drawn)]
    if any(s.entities for s in [*gold, *predicted]):  # seqeval stops with an error on none at all
        assert_equal_to_seqeval(gold, predicted)
    else:
        assert score(gold, predicted) == Scores()


def test_equals_nervaluate_strict_for_one_to_one_predictions():
    rng = random.Random(7)
    gold = gold_corpus(rng)
    predicted = [noisy(s, rng, ("right", "type", "missed")) for s in gold]
    tags = [[iob2(s) for s in corpus] for corpus in (gold, predicted)]
    strict = Evaluator(*tags, tags=list(TYPES), loader="list").evaluate()["overall"]["strict"]
    assert score(gold, predicted).micro == Counts(strict.correct, strict.actual, strict.possible)


def test_counts_by_hand():
    gold = [sentence([(0, 1, "PER"), (2, 4, "LOC"), (4, 5, "LOC")], id="a"), sentence([], id="b")]
    predicted = [sentence([(0, 1, "LOC")], id="b"), sentence([(0, 1, "PER"), (2, 5, "LOC"), (5, 6, "ORG")], id="a")]
    scores = score(gold, predicted)
    assert scores.per_type == {"LOC": Counts(0, 2, 2), "ORG": Counts(0, 1, 0), "PER": Counts(1, 1, 1)}
    assert scores.micro == Counts(1, 4, 3)
    assert scores.macro_f1 == pytest.approx(1 / 3)
    assert sentence_counts(gold, predicted).tolist() == [[1, 3, 3], [0, 1, 0]]


def test_the_score_of_an_entity_does_not_matter():
    gold = Sentence(("a",), (Entity(0, 1, "PER"),), id="1")
    assert score([gold], [gold.with_entities([Entity(0, 1, "PER", score=0.1)])]).micro.f1 == 1.0


def test_figures_of_empty_counts_are_zero():
    assert (Counts().precision, Counts().recall, Counts().f1) == (0.0, 0.0, 0.0)
    assert score([], []).as_dict()["micro"]["f1"] == 0.0
    assert score([], []).macro_f1 == 0.0
    assert sentence_counts([], []).shape == (0, 3)


def test_adding_scores_is_scoring_both_corpora():
    rng = random.Random(3)
    gold = gold_corpus(rng, 60)
    predicted = [noisy(s, rng, ("right", "type", "missed")) for s in gold]
    parts = score(gold[:20], predicted[:20]) + score(gold[20:], predicted[20:])
    assert parts == score(gold, predicted)
    assert list(parts.per_type) == sorted(parts.per_type)


def test_as_dict_has_figures_and_counts():
    content = Scores({"PER": Counts(1, 2, 4)}).as_dict()
    figures = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "correct": 1, "predicted": 2, "gold": 4}
    assert content == {"micro": figures, "macro_f1": 1 / 3, "per_type": {"PER": figures}}


def test_sentence_counts_add_up_to_micro_in_any_order_of_the_predictions():
    rng = random.Random(5)
    gold = gold_corpus(rng, 80)
    predicted = [noisy(s, rng, ("right", "boundary", "missed", "spurious")) for s in gold]
    counts = sentence_counts(gold, predicted)
    assert Counts(*counts.sum(axis=0).tolist()) == score(gold, predicted).micro
    assert (sentence_counts(gold, reversed(predicted)) == counts).all()


def test_error_names_the_code_points_of_words_that_look_alike():
    gold, predicted = Sentence(("b", "\u00e9"), id="a"), Sentence(("b", "e\u0301"), id="a")
    with pytest.raises(
        DataError,
        match=r"word 1 is 'e\\u0301' in predicted, '\\xe9' in gold, the same letters in another Unicode form: .*nfc",
    ):
        score([gold], [predicted])


@pytest.mark.parametrize(
    ("truth", "guess"), [("\u03bcg", "\u00b5g"), ("\ufb03x", "ffix"), ("cis\xadplatin", "cisplatin")]
)
def test_error_suggests_nfkc_for_compatible_characters(truth: str, guess: str):
    with pytest.raises(DataError, match="which look alike: convert both files to NFKC") as caught:
        score([Sentence((truth,), id="a")], [Sentence((guess,), id="a")])
    assert f"{guess!a} in predicted, {truth!a} in gold" in str(caught.value)


def test_all_mismatches_are_reported_together():
    gold = [sentence([], id="a"), sentence([], id="b"), sentence([], id="c"), sentence([], id="d")]
    other = replace(gold[1], words=("w0", "W1", "w2", "w3", "w4", "w5"))
    predicted = [gold[0], other, sentence([], 4, id="c"), sentence([], id="x")]
    with pytest.raises(DataError) as caught:
        score(gold, predicted)
    message = str(caught.value)
    assert len(caught.value.issues) == 4
    assert "sentence b: other words: word 1 is 'W1' in predicted, 'w1' in gold" in message
    assert "sentence c: other words: 4 in predicted, 6 in gold" in message
    assert "sentence d: no predicted sentence has this id" in message
    assert "sentence x: predicted, but not in gold" in message
    assert "Fix:" in message


def test_files_of_other_sentences_get_one_message_with_both_names():
    one, other = [sentence([], id="a"), sentence([], id="b")], [sentence([], id="c")]
    for words, same in ((other[0].words, "; in file order, the words match up to sentence 1"), (("x",), "")):
        with pytest.raises(DataError) as caught:
            list(paired(one, [replace(other[0], words=words)], ("first", "second")))
        (issue,) = caught.value.issues
        assert issue.message == f"no id is in both the 2 first and the 1 second ids{same}"
    assert "give both with the same sentences" in str(caught.value)
    with pytest.raises(DataError, match="sentence c: second, but not in first"):
        list(paired([], other, ("first", "second")))
    with pytest.raises(DataError, match="sentence b: no second sentence has this id"):
        list(paired(one, one[:1], ("first", "second")))


def test_pairs_come_in_the_order_of_the_first():
    one = [sentence([], id=id_) for id_ in "bca"]
    other = [sentence([(0, 1, "PER")], id=id_) for id_ in "abc"]
    assert [(truth.id, guess.id, guess.labels) for truth, guess in paired(one, other)] == [
        (id_, id_, ((0, 1, "PER"),)) for id_ in "bca"
    ]


@pytest.mark.parametrize(
    ("ids", "words", "is_paired"),
    [
        ("ab", "xy", False),  # by their ids
        ("ba", "yx", False),
        ("12", "xy", True),
        ("12", "xz", True),  # with other words, which `paired` then reports
        ("a2", "xy", True),
        ("2a", "xy", True),
        ("a2", "xz", False),
        ("2a", "zx", False),
        ("1", "x", False),
        ("123", "xyz", False),
    ],
)
def test_pairs_by_order_only_without_common_ids_or_with_the_same_words(ids, words, is_paired):
    """Both must have equally many sentences, and no common ids, or some other ids and the same words in order."""
    one = Corpus([Sentence(("x",), id="a"), Sentence(("y",), id="b")])
    other = Corpus(Sentence((word,), (Entity(0, 1, "PER"),), id=id_) for id_, word in zip(ids, words, strict=True))
    found = paired_by_order(one, other)
    assert [sentence.id for sentence in found] == (["a", "b"] if is_paired else [*ids])
    assert [(s.words, s.labels) for s in found] == [(s.words, s.labels) for s in other]


def test_each_language_has_its_own_scores():
    gold = [replace(sentence([(0, 1, "PER")], id=id_), language=id_[:-1]) for id_ in ("hi1", "en1", "hi2", "1")]
    predicted = [gold[0], gold[1].with_entities([]), gold[2].with_entities([]), gold[3]]
    by_language = {"": Counts(1, 1, 1), "en": Counts(0, 0, 1), "hi": Counts(1, 1, 2)}
    found = all_scores(gold, reversed(predicted))
    assert list(found["per_language"]) == [*by_language]
    assert found == score(gold, predicted).as_dict() | {
        "per_language": {language: counts.as_dict() for language, counts in by_language.items()}
    }
    assert all_scores(Corpus(gold[:1]), Corpus(predicted[:1])) == score(gold[:1], predicted[:1]).as_dict()


def test_scores_as_text():
    assert str(Scores({"A": Counts(1200, 2000, 1500), "B": Counts(0, 0, 4)})) == (
        "F1 68.5, precision 60.0, recall 79.8 (1,504 gold entities)"
    )


def test_scores_of_other_types_add_up():
    one, other = Scores({"B": Counts(1, 2, 3)}), Scores({"A": Counts(4, 5, 6), "B": Counts(1, 1, 1)})
    for both in (one + other, other + one):
        assert list(both.per_type.items()) == [("A", Counts(4, 5, 6)), ("B", Counts(2, 3, 4))]


def test_words_that_only_look_alike_are_different_words():
    gold = Sentence(("caf\u00e9",), id="1")
    with pytest.raises(DataError, match="other words"):
        score([gold], [Sentence(("cafe\u0301",), id="1")])


def test_repeated_ids_are_an_error_on_either_side():
    one = sentence([], id="a")
    with pytest.raises(DataError, match="2 predicted sentences share the id 'a'"):
        score([one], [one, one])
    with pytest.raises(DataError, match="2 gold sentences share the id 'a'"):
        sentence_counts([one, one], [one])


def test_a_notebook_shows_figures():
    printer = Mock()
    scores = score([sentence([(0, 1, "PER")])], [sentence([(0, 1, "PER")])])
    scores._repr_pretty_(printer, False)
    printer.text.assert_called_once_with("F1 100.0, precision 100.0, recall 100.0 (1 gold entity)")
