import random
from collections import Counter
from dataclasses import replace

import pytest

import nersery
from nersery import Corpus, Entity, Sentence
from nersery.augment.mention_replacement import MentionReplacement
from nersery.core.outcome import Reject
from nersery.io.annotation_tools.standoff import layout

CORPUS = Corpus(
    [
        Sentence(("Ada", "met", "Alan", "Mathison", "Turing"), (Entity(0, 1, "PER"), Entity(2, 5, "PER"))),
        Sentence(("Ada", "left", "Oslo"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC"))),
        Sentence(("Grace", "Hopper", "left"), (Entity(0, 2, "PER"),)),
        Sentence(("nobody", "came")),
    ]
)
MENTIONS = {("Ada",), ("Alan", "Mathison", "Turing"), ("Grace", "Hopper")}


@pytest.fixture
def method() -> MentionReplacement:
    method = MentionReplacement(rate=1.0)
    method.fit(CORPUS)
    return method


def drawn(method: MentionReplacement, sentence: Sentence, times: int = 3000) -> Counter[tuple[str, ...]]:
    rng = random.Random(0)
    generated = [method.generate(sentence, rng) for _ in range(times)]
    return Counter(each.mention(each.entities[0]) for each in generated)


def test_mentions_are_drawn_evenly_and_never_themselves(method: MentionReplacement):
    counts = drawn(method, CORPUS[0])
    assert set(counts) == MENTIONS - {("Ada",)}
    assert counts[("Grace", "Hopper")] / 3000 == pytest.approx(0.5, abs=0.03)


def test_a_mention_that_is_not_in_gold_may_become_any(method: MentionReplacement):
    counts = drawn(method, Sentence(("Marie", "sang"), (Entity(0, 1, "PER"),)))
    assert set(counts) == MENTIONS
    assert min(counts.values()) / 3000 == pytest.approx(1 / 3, abs=0.03)


def test_all_mentions_may_change_length_at_once(method: MentionReplacement):
    sentence = CORPUS[0]
    new = method.generate(sentence, random.Random(3))
    assert new.words[new.entities[0].end : new.entities[1].start] == ("met",)
    assert all(entity.type == "PER" and new.mention(entity) in MENTIONS for entity in new.entities)


def test_the_only_mention_of_its_type_stays(method: MentionReplacement):
    new = method.generate(CORPUS[1], random.Random(0))
    assert new.mention(new.entities[1]) == ("Oslo",)


@pytest.mark.parametrize(
    ("before", "language", "fits"),
    [
        ("l'", "fr", True),
        ("qu’", "", True),
        ("An", "", True),
        ("an", "en", True),
        ("an", "de", False),
        ("en", "fr", False),
        ("'", "fr", False),
    ],
)
def test_a_mention_after_an_elision_or_a_begins_like_the_one_before(before: str, language: str, fits: bool):
    names = ("Italie", "Étretat", "Oslo", "Paris", "Hérault", "Rome")
    gold = [Sentence((before, name), (Entity(1, 2, "LOC"),), language=language) for name in names]
    method = MentionReplacement(rate=1.0)
    method.fit(gold)
    others = {name for (name,) in drawn(method, gold[0], 200)}
    assert others == ({"Étretat", "Oslo"} if fits else {*names[1:]})
    assert {name for (name,) in drawn(method, gold[4], 200)} == ({"Hérault"} if fits else {*names} - {"Hérault"})


def test_new_mentions_keep_their_own_spacing():
    """In chemistry, many words are written without spaces between them."""
    texts = [("in 1,4-dioxane (wet)", "1,4-dioxane"), ("THF's smell", "THF"), ("at NaCl (aq).", "NaCl (aq)")]
    gold = Corpus([labelled(text, mention) for text, mention in texts])
    method = MentionReplacement(rate=1.0)
    made = nersery.augment(gold, method, copies=9).corpus
    expected = {text.replace(mention, other) for text, mention in texts for _, other in texts if other != mention}
    assert {layout(sentence)[0] for sentence in made} == expected


def labelled(text: str, mention: str) -> Sentence:
    """The words of a text, split at each sign, with one mention."""
    (sentence,) = Corpus.from_texts([text], split="signs")
    start = next(n for n, (first, _) in enumerate(sentence.offsets) if first == text.index(mention))
    last = text.index(mention) + len(mention)
    end = next(n for n, (_, end) in enumerate(sentence.offsets, 1) if end == last)
    return replace(sentence, entities=(Entity(start, end, "CHEM"),), id=mention)


def test_rate_is_the_share_of_mentions_replaced():
    method = MentionReplacement(rate=0.3)
    method.fit(CORPUS)
    assert drawn(method, CORPUS[1])[("Ada",)] / 3000 == pytest.approx(0.7, abs=0.03)


def test_a_sentence_without_entities_is_rejected(method: MentionReplacement):
    assert method.generate(CORPUS[3], random.Random(0)) == Reject("no entities")


def test_mentions_stay_in_their_language():
    names = [("en", "Ada"), ("en", "Alan"), ("hi", "राम"), ("hi", "सीता"), ("ta", "குமார்")]
    gold = [Sentence((name,), (Entity(0, 1, "PER"),), id=name, language=language) for language, name in names]
    method = MentionReplacement(rate=1.0)
    method.fit(gold)
    assert set(drawn(method, gold[0], 100)) == {("Alan",)}
    assert set(drawn(method, replace(gold[0], language="eng"), 100)) == {("Alan",)}, "another code of English"
    assert set(drawn(method, gold[2], 100)) == {("सीता",)}
    assert set(drawn(method, gold[4], 100)) == {("குமார்",)}, "the only one of its language"
    french = Sentence(("Marie",), (Entity(0, 1, "PER"),), language="fr")
    assert set(drawn(method, french, 300)) == {(name,) for _, name in names}, "gold has none of its language"


def test_the_ending_after_an_apostrophe_is_kept_and_harmonized():
    texts = [("Ankara'da", "kaldı"), ("Ankara'nın", "tarihi"), ("Yeni", "Delhi’ye", "gitti"), ("Berlin", "güzel")]
    gold = [Sentence(words, (Entity(0, len(words) - 1, "LOC"),), language="tr") for words in texts]
    method = MentionReplacement(rate=1.0)
    method.fit(gold)
    assert set(drawn(method, gold[0], 50)) == {("Yeni", "Delhi'de"), ("Berlin'de",)}
    assert set(drawn(method, gold[1], 50)) == {("Yeni", "Delhi'nin"), ("Berlin'in",)}
    assert set(drawn(method, gold[2], 50)) == {("Ankara’ya",), ("Berlin’e",)}
    assert set(drawn(method, gold[3], 50)) == {("Ankara",), ("Yeni", "Delhi")}
