import random
from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.core.registry import check, create
from nersery.select.base import select
from nersery.select.duplicates import Duplicates


def corpus(prefix, *texts):
    return Corpus(Sentence(tuple(text.split(" ")), id=f"{prefix}{n}") for n, text in enumerate(texts))


GOLD = corpus("gold", "Ada wrote a program", "she lived in London")
TEST = corpus("test", "Oslo is a city")


def reasons(candidates, gold=GOLD, held_out=TEST, **settings):
    """The reject reason of each candidate, or None if it is kept."""
    result = select(candidates, Duplicates(**settings), gold, held_out=held_out)
    rejected = {reject.sentence.id: reject.reason for reject in result.rejects}
    return [rejected.get(sentence.id) for sentence in candidates]


def test_reject_reason_names_what_a_sentence_duplicates():
    new = corpus("new", "Ada wrote a program", "Oslo is a city", "a new one", "a new one", "another new one")
    assert reasons(new) == [
        "duplicate of gold",
        "duplicate of held-out data",
        None,
        "duplicate of another generated sentence",
        None,
    ]


def test_held_out_duplicates_take_precedence_over_gold_duplicates():
    assert reasons(corpus("new", "a b"), corpus("g", "a b"), corpus("t", "a b")) == ["duplicate of held-out data"]


def test_dev_counts_as_held_out_data_as_on_the_command_line():
    result = select(corpus("new", "the result"), Duplicates(), GOLD, dev=corpus("dev", "the result"))
    assert [reject.reason for reject in result.rejects] == ["duplicate of held-out data"]


def test_works_without_held_out_data():
    assert reasons(corpus("new", "Ada wrote a program", "x", "x"), held_out=()) == [
        "duplicate of gold",
        None,
        "duplicate of another generated sentence",
    ]


def test_scores_are_distances():
    result = select(corpus("new", "Ada wrote a poem", "Ada wrote a program", "x y z"), Duplicates(similarity=0.7), GOLD)
    scores = [*(reject.sentence.scores for reject in result.rejects), *(s.scores for s in result.corpus)]
    assert scores == [{"duplicates": 0.25}, {"duplicates": 0.0}, {"duplicates": 1.0}]


def test_default_rejects_only_exact_duplicates():
    new = corpus("new", "Ada wrote a programme", "Ada wrote program", "wrote Ada a program", "Ada wrote a program .")
    assert reasons(new) == [None] * 4


def test_labels_make_no_difference():
    other = Corpus([replace(GOLD[0], id="n", entities=(Entity(0, 1, "PER"),))])
    assert reasons(other) == ["duplicate of gold"]


@pytest.mark.parametrize("similarity", [1.0, 0.9])
def test_ignores_how_a_text_is_split_into_words(similarity):
    new = corpus("new", "Ada's firm (Oslo), 3 %", "東 京 へ")
    gold = corpus("g", "Ada 's firm ( Oslo ) , 3%", "東京 へ")
    assert reasons(new, gold, (), similarity=similarity) == ["duplicate of gold"] * 2


def test_case_is_ignored_unless_set_otherwise():
    shouted = corpus("new", "ADA WROTE A PROGRAM")
    assert reasons(shouted) == ["duplicate of gold"]
    assert reasons(shouted, ignore_case=False) == [None]
    for text, capitals in (("Straße", "STRASSE"), ("İzmir'in ılıcası", "İZMİR'İN ILICASI")):
        assert reasons(corpus("new", capitals), corpus("g", text)) == ["duplicate of gold"]


@pytest.mark.parametrize("similarity", [1.0, 0.9])
def test_unicode_forms_are_equal_but_joiners_are_kept(similarity):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert reasons(corpus("n", decomposed), corpus("g", composed), similarity=similarity) == ["duplicate of gold"]
    assert reasons(corpus("n", decomposed), corpus("g", composed), ignore_case=False) == ["duplicate of gold"]
    assert reasons(corpus("n", "\u0645\u06cc\u200c\u0631"), corpus("g", "\u0645\u06cc\u0631")) == [None]


def test_near_duplicates_are_rejected_at_the_similarity_and_kept_below_it():
    parent = corpus("g", "a b c d e f g h i j")
    changed = corpus("n", "a b c d e f g h i X")  # 9 words of 10 in common: 2 * 9 / 20
    assert reasons(changed, parent, similarity=0.9) == ["near-duplicate of gold"]
    assert reasons(changed, parent, similarity=0.91) == [None]
    assert reasons(changed, parent) == [None]


def test_finds_near_duplicates_of_each_source():
    new = corpus("n", "Oslo is a town", "one two three four", "one two three five", "one two three four")
    assert reasons(new, similarity=0.75) == [
        "near-duplicate of held-out data",
        None,
        "near-duplicate of another generated sentence",
        "duplicate of another generated sentence",
    ]


def test_a_lower_threshold_keeps_near_duplicates():
    new = corpus("n", "Ada wrote a poem", "Ada wrote a program")
    assert reasons(new, similarity=0.5, threshold=0.25) == [None, "duplicate of gold"]
    assert reasons(new, similarity=0.5, threshold=0.26) == ["near-duplicate of gold", "duplicate of gold"]
    assert reasons(new, similarity=0.5, threshold=0.0) == [None, None]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=2, max_size=12),
    st.sampled_from([0.3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9, 0.95]),
)
def test_the_index_misses_nothing(texts, similarity):
    """The same as comparing each sentence with all before it."""
    gold, candidates = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    new = Corpus(Sentence(tuple(text), id=f"n{n}") for n, text in enumerate(candidates))
    selector = Duplicates(similarity=similarity)
    selector.fit([Sentence(tuple(text)) for text in gold])
    selector.fit_candidates(new)
    expected = []
    for n, text in enumerate(candidates):
        alike = [Indel.normalized_similarity(text, other) for other in gold + candidates[:n]]
        expected.append(1 - max((value for value in alike if value >= similarity - 1e-6), default=0.0))
    assert selector.score(new) == pytest.approx(expected)


def test_the_index_misses_nothing_among_longer_sentences():
    rng = random.Random(0)
    words = [f"w{n}" for n in range(60)]
    texts = [rng.choices(words, k=rng.randint(5, 30)) for _ in range(40)]
    for _ in range(160):
        text = list(rng.choice(texts))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(text))
            text[place : place + rng.randint(0, 1)] = rng.choices(words, k=rng.randint(1, 2))
        texts.append(text)
    new = Corpus(Sentence(tuple(text)) for text in texts)
    selector = Duplicates(similarity=0.8)
    selector.fit_candidates(new)
    alike = [
        max([0.0, *(s for b in texts[:n] if (s := Indel.normalized_similarity(a, b)) >= 0.8 - 1e-6)])
        for n, a in enumerate(texts)
    ]
    assert sum(value > 0 for value in alike) > 80
    assert selector.score(new) == pytest.approx([1 - value for value in alike])


def test_many_sentences_without_a_common_word_take_no_time():
    new = corpus("new", *map(str, range(5000)))
    began = process_time()
    assert not any(reasons(new, similarity=0.9))
    assert process_time() - began < 10, "with an index for each of them it took a minute"


def test_can_be_fitted_again():
    selector = Duplicates()
    new = corpus("n", "Ada wrote a program")
    assert select(new, selector, GOLD).tally.rejected == 1
    assert select(new, selector, TEST).tally.rejected == 0


def test_scoring_a_sentence_that_is_not_a_candidate_is_an_error():
    selector = Duplicates()
    selector.fit(GOLD)
    with pytest.raises(NerseryError, match="'n0', which is not among its candidates"):
        selector.score(corpus("n", "x"))


def test_candidates_that_share_an_id_are_an_error():
    with pytest.raises(DataError, match="another candidate has the same id"):
        Duplicates().fit_candidates([*corpus("n", "x"), *corpus("n", "y")])


@pytest.mark.parametrize("similarity", [0.0, -1.0, 1.1])
def test_refuses_invalid_settings(similarity):
    with pytest.raises(SettingsError, match="similarity is"):
        Duplicates(similarity=similarity)
    assert check("select", "duplicates", {"similarity": similarity, "treshold": 1})[0].startswith("duplicates has no")


def test_registry_creates_the_selector():
    assert create("select", "duplicates", {"similarity": 0.9}) == Duplicates(similarity=0.9)
    assert "threshold is 2, expected" in check("select", "duplicates", {"threshold": 2.0})[0]
