from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import NO_ENTITIES, batch_augmentation, tasks
from nersery.augment.linearized.linearization import tag_token
from nersery.augment.linearized.parsing import NEAR_COPY, ONLY_PUNCTUATION, UNKNOWN_TYPE, UNSTORABLE, WITHOUT_WORD
from nersery.augment.linearized.tagged_writing import UNFINISHED
from nersery.augment.mulda import TOO_LONG, MulDA, _pair
from nersery.core.errors import MissingResourceError
from nersery.core.outcome import Reject, collect
from nersery.core.training_context import Training
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP
from nersery.pipeline.job import run

B_PER, I_PER, B_LOC = tag_token("PER", begins=True), tag_token("PER", begins=False), tag_token("LOC", begins=True)
PARENT = Sentence(("we", "saw", "Ada", "Lo", "there", "today"), (Entity(2, 4, "PER"),), id="a", language="en")
GOLD = Corpus([PARENT, Sentence(("Linus", "won"), (Entity(0, 1, "PER"),), id="b", language="en")])
FULL = ("we", "saw", B_PER, "Ada", I_PER, "Lo", "there", "today")


class Wrote:
    """Replaces a model, and always writes the same text."""

    def __init__(self, *text: str, finished: bool = True, longest: int = 100) -> None:
        self.text, self.finished, self.longest = text, finished, longest
        self.sources: list[tuple[str, ...]] = []
        self.tokens: set[str] = set()

    def length_issue(self, pair: TextPair) -> str:
        return ""

    def parts(self, word: str) -> tuple[str, ...]:
        return tuple(word.split())

    def written(self, words: Any) -> tuple[str, ...]:
        return tuple(words)

    def add_tokens(self, descriptions: dict[str, str]) -> None:
        self.tokens |= set(descriptions)

    def generate(self, sources: list[TextPair | None], rngs: Any, sampling: Sampling) -> list[Generated | None]:
        read = [pair if pair and len(pair.source) <= self.longest else None for pair in sources]
        self.sources += [pair.source for pair in read if pair]
        self.sampling, self.languages = sampling, [pair.language for pair in read if pair]
        return [Generated(self.text, -1.0, self.finished) if pair else None for pair in read]


def fitted(model: Wrote, **settings: Any) -> MulDA:
    method: Any = MulDA(**settings)
    method._lm, method._types = model, frozenset({"PER"})
    return method


def outcome(model: Wrote, parent: Sentence = PARENT) -> Sentence | Reject:
    return fitted(model).generate(parent, random.Random(0))


def test_a_new_sentence_has_the_written_entities_and_the_parent_s_language() -> None:
    sentence = outcome(Wrote("we", "met", B_PER, "Jo", "again"), replace(PARENT, columns=(("x",) * 6,)))
    assert sentence == Sentence(
        ("we", "met", "Jo", "again"), (Entity(2, 3, "PER"),), language="en", columns=(("_",) * 4,)
    )


def test_a_word_with_a_space_is_split_under_tags_of_one_entity() -> None:
    """The model's text is split at spaces, so half of a mention would be outside its entity."""
    model = Wrote(B_PER, "Hà", I_PER, "Nội", "won")
    method = fitted(model, shown_rate=1.0)
    parent = Sentence(("Hà Nội", "lives", "there"), (Entity(0, 1, "PER"),), id="a")
    made = [method.generate(parent, random.Random(seed)) for seed in range(20)]
    assert max(model.sources, key=len)[:-1] == (B_PER, "Hà", I_PER, "Nội", "lives")
    assert all(isinstance(sentence, Sentence) and sentence.labels == ((0, 2, "PER"),) for sentence in made)


def test_a_model_that_splits_words_learns_tags_for_all_their_parts(word_splitting_seq2seq: str) -> None:
    learnt = MulDA(model=word_splitting_seq2seq, epochs=1, device="cpu")
    learnt.fit([Sentence(("in", "東京", "."), (Entity(1, 2, "LOC"),), id="a")])
    i_loc = tag_token("LOC", begins=False)
    pair = _pair(learnt._lm, Sentence(("we", "saw", "東京", "today"), (Entity(2, 3, "LOC"),)), 3)
    assert pair.target == ("we", "saw", B_LOC, "東", i_loc, "京", "today")
    assert learnt._lm.written(pair.target) == pair.target


def test_does_not_learn_from_a_sentence_that_reads_back_differently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model: Any = Wrote()
    model.source = SimpleNamespace(name="glue")
    model.written = lambda words: ("wesaw", *words[2:]) if words[:2] == ("we", "saw") else tuple(words)
    model.fine_tune = lambda items, *_, **__: learnt.extend(items)
    learnt: list[Sentence] = []
    monkeypatch.setattr("nersery.models.seq2seq.encoder_decoder.Seq2Seq", lambda *_: model)
    MulDA().fit(GOLD)
    assert learnt == [GOLD[1]]
    warning = capsys.readouterr().err
    assert 'e.g. a: the model writes it as "wesaw Ada Lo there today", under which its labels would be wrong' in warning


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Wrote(B_PER, "Jo", finished=False), UNFINISHED),
        (Wrote(B_PER, "Jo", longest=0), TOO_LONG),
        (Wrote("Jo", B_PER), WITHOUT_WORD),
        (Wrote("we", "won"), NO_ENTITIES),
        (Wrote(*FULL), NEAR_COPY),
    ],
)
def test_rejects_have_their_reasons(model: Wrote, reason: str) -> None:
    rejected = outcome(model)
    assert isinstance(rejected, Reject)
    assert rejected.reason == reason


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (Wrote(B_PER, "Jo", finished=False), "<b-PER> Jo"),
        (Wrote("Jo", B_PER), "Jo <b-PER>"),
        (Wrote("Jo", GAP, ""), "Jo <gap>"),
    ],
)
def test_a_reject_shows_what_the_model_wrote(model: Wrote, shown: str) -> None:
    """The words of its parent are not shown, because they are right."""
    rejected = outcome(model)
    assert isinstance(rejected, Reject)
    assert rejected.sentence is not None
    assert (rejected.sentence.text, rejected.sentence.language) == (shown, "en")


def test_words_that_no_file_can_store_are_rejected() -> None:
    assert outcome(Wrote("J\0o")) == Reject(UNSTORABLE)


def test_an_entity_of_only_signs_is_rejected_unless_gold_has_it() -> None:
    model = Wrote("we", "saw", B_PER, "Jo", B_PER, ".")
    rejected = outcome(model)
    assert isinstance(rejected, Reject)
    assert (rejected.reason, rejected.sentence and rejected.sentence.text) == (ONLY_PUNCTUATION, "we saw Jo .")
    method: Any = fitted(model)
    method._punctuation_mentions = frozenset({(".",)})
    assert isinstance(method.generate(PARENT, random.Random(0)), Sentence)


def test_a_sentence_that_is_too_long_does_not_move_others() -> None:
    model = Wrote(B_PER, "Jo", "won", longest=4)
    made = fitted(model, shown_rate=1.0).generate_batch([PARENT, GOLD[1]] * 9, [random.Random(n) for n in range(18)])
    assert all(isinstance(one, Sentence) for one in made[1::2])
    assert {one.reason for one in made if isinstance(one, Reject)} == {TOO_LONG}
    assert any(isinstance(one, Sentence) for one in made[::2])


def test_beginnings_have_at_most_the_largest_share_and_never_end_in_a_tag() -> None:
    starts = {(*FULL[:end], GAP) for end in (0, 1, 2, 4, 6, 7, 8)}
    for rate, expected in ((1.0, starts), (0.5, {s for s in starts if len(s) <= 5}), (0.0, {(GAP,)})):
        model = Wrote(B_PER, "Jo")
        fitted(model, shown_rate=rate).generate_batch([PARENT] * 60, [random.Random(n) for n in range(60)])
        assert set(model.sources) == expected
        assert model.languages == ["en"] * 60


def test_types_that_are_not_in_gold_are_rejected_and_add_no_tokens() -> None:
    model = Wrote(B_LOC, "Oslo")
    parent = replace(PARENT, entities=(Entity(2, 4, "LOC"),))
    assert outcome(model, parent) == Reject(UNKNOWN_TYPE)
    assert B_LOC not in model.tokens
    assert not model.sources


def test_fine_tuning_maps_every_beginning_to_the_whole_sentence(monkeypatch) -> None:
    pairs: list[TextPair] = []

    class Learns(Wrote):
        def __init__(self, *anything: Any) -> None:
            super().__init__()

        def fine_tune(self, items: Any, pair: Any, plan: Any, **keeping: Any) -> None:
            assert self.tokens >= {B_PER, I_PER, B_LOC}, "dev's types too"
            assert keeping["seed"] == 7
            pairs.extend(pair(item, random.Random(n)) for item in items for n in range(60))

    monkeypatch.setattr("nersery.models.seq2seq.encoder_decoder.Seq2Seq", Learns)
    dev = [Sentence(("Oslo",), (Entity(0, 1, "LOC"),), id="d")]
    MulDA().fit(GOLD, Training(dev, seed=7))
    assert {pair.source for pair in pairs if pair.target == FULL} == {(*FULL[:end], GAP) for end in (0, 1, 2, 4, 6, 7)}
    assert {pair.language for pair in pairs} == {"en"}


def test_a_sentence_too_long_to_learn_from_is_left_out(tiny_seq2seq: str, capsys: pytest.CaptureFixture[str]) -> None:
    long = Sentence(("Ada", *["saw"] * 99), (Entity(0, 1, "PER"),), id="gold:3")
    MulDA(model=tiny_seq2seq, epochs=1, device="cpu").fit([*GOLD, long], Training(dev=[long]))
    assert "1 of 3 sentences do not fit" in (warning := capsys.readouterr().err)
    assert "gold:3: the source has 103 subwords" in warning


def test_a_tiny_model_learns_to_write_gold_with_its_labels(tiny_seq2seq: str) -> None:
    """Without a beginning, it writes one of the two sentences; that of the parent is a near-copy."""
    method = MulDA(model=tiny_seq2seq, shown_rate=0.0, top_k=3, epochs=40, learning_rate=1e-2, device="cpu")
    method.check()
    method.fit(GOLD)
    results = [collect(run(tasks(GOLD, 8), batch_augmentation(method, 1), batch_size=size)) for size in (1, 16)]
    assert repr(results[0].corpus.sentences) == repr(results[1].corpus.sentences)
    assert (GOLD[1].words, GOLD[1].labels) in {(sentence.words, sentence.labels) for sentence in results[0].corpus}
    assert NEAR_COPY in results[0].tally.reasons


def test_a_model_that_is_not_an_encoder_decoder_is_refused(tiny_masked_lm: str) -> None:
    with pytest.raises(MissingResourceError, match="encoder-decoder"):
        MulDA(model=tiny_masked_lm).check()
