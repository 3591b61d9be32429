from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment import aclm
from nersery.augment.aclm import ACLM, NO_GAP, is_mixed
from nersery.augment.base import NO_ENTITIES, augment
from nersery.augment.linearized.parsing import NEAR_COPY, ONLY_PUNCTUATION, REPEATED
from nersery.augment.templates.masked_writer import MaskedWriter
from nersery.augment.templates.template import Template
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.training_context import Training
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.pretrained.loading import ModelSource
from nersery.taggers.bilstm_crf import BiLSTMCRF
from nersery.taggers.networks import word_attention
from nersery.taggers.transformer import TransformerTagger

QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 4, "precision": "fp32", "candidates": 2, "passes": 2, "top_k": 3}
GOLD = Corpus(
    [
        Sentence(tuple(text.split()), tuple(Entity(*entity) for entity in entities))
        for text, entities in (
            ("Ada Lovelace wrote the first program in London .", [(0, 2, "PER"), (7, 8, "LOC")]),
            ("Grace spoke about compilers in Boston and Oslo .", [(0, 1, "PER"), (5, 6, "LOC")]),
            ("we saw Linus there today .", [(2, 3, "PER")]),
            ("nobody came .", []),
            ("Ada Lovelace", [(0, 2, "PER")]),
        )
    ]
)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Template]:
    """The templates that the language model gets."""
    seen: list[Template] = []
    write = MaskedWriter.write

    def watched(writer: MaskedWriter, templates: Sequence[Template], rngs: Any) -> Any:
        seen.extend(templates)
        return write(writer, templates, rngs)

    monkeypatch.setattr(MaskedWriter, "write", watched)
    return seen


@pytest.fixture(scope="module")
def tagger(tiny_model: str) -> TransformerTagger:
    tagger = TransformerTagger(model=tiny_model, steps=2, precision="fp32")
    tagger.fit(list(GOLD))
    return tagger


def fitted(model: str, tagger: TransformerTagger | None = None, **settings: Any) -> ACLM:
    method = ACLM(model, **{**QUICK, **settings})
    method.fit(GOLD, Training(tagger=(lambda: tagger) if tagger else None))
    return method


def generated(method: ACLM, count: int = 20) -> list[Sentence | Reject]:
    return [method.generate(GOLD[number % 3], random.Random(number)) for number in range(count)]


def test_the_model_gets_entities_and_attention_keywords(
    tiny_masked_lm: str, tagger: TransformerTagger, written: list[Template]
) -> None:
    from nersery.augment.templates.template import attention_keywords

    method = fitted(tiny_masked_lm, tagger, keyword_rate=0.4)
    made = method.generate(GOLD[0], random.Random(0))
    assert isinstance(made, Sentence)
    assert [" ".join(made.mention(entity)) for entity in made.entities] == ["Ada Lovelace", "London"]
    stopped = method._maker.stop_words[""]
    (attended,) = word_attention.word_attention(tagger, [GOLD[0]], 4)
    assert set(written[0].keywords) < set(attention_keywords(GOLD[0], attended, 0.4, stopped))


def test_attention_is_computed_once_for_gold_and_never_without_entities(
    tiny_masked_lm: str, tagger: TransformerTagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sentence] = []
    attend = word_attention.word_attention
    monkeypatch.setattr(
        word_attention, "word_attention", lambda t, s, layers: (asked.extend(s), attend(t, s, layers))[1]
    )
    method, new = fitted(tiny_masked_lm, tagger), replace(GOLD[0], id="new")
    assert asked == sorted([s for s in GOLD if s.entities], key=lambda s: s.id)
    known = [template.keywords for template in method._maker.templates([*GOLD[:4], new, new], [random.Random(0)] * 6)]
    assert asked[4:] == [new]
    assert (known[3], known[4]) == ((), known[0])
    assert all((*known[:3], *known[4:]))


def test_at_a_rate_of_one_every_word_is_a_keyword(
    tiny_masked_lm: str, tagger: TransformerTagger, written: list[Template], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Template, "dynamically_masked", lambda template, rng: template)
    generated(fitted(tiny_masked_lm, tagger, keyword_rate=1.0, stop_words=""), 3)
    assert [len(template.keywords) for template in written][-2:] == [6, 4], "all but the full stop"


def test_random_keywords_differ_from_round_to_round(tiny_masked_lm: str, written: list[Template]) -> None:
    generated(fitted(tiny_masked_lm, keywords="random"), 60)
    assert len({template.keywords for template in written if template.sentence.id == GOLD[0].id}) > 3


def test_without_keywords_only_the_entities_are_given(tiny_masked_lm: str, written: list[Template]) -> None:
    generated(fitted(tiny_masked_lm, keywords="none"))
    assert {template.keywords for template in written} == {()}


def test_sentences_that_cannot_be_rewritten_are_rejected(tiny_masked_lm: str) -> None:
    method = fitted(tiny_masked_lm, keywords="none")
    outcomes = method.generate_batch(GOLD[3:], [random.Random(0), random.Random(1)])
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Reject)] == [NO_ENTITIES, NO_GAP]


def test_a_near_copy_is_rejected(tiny_masked_lm: str) -> None:
    outcomes = generated(fitted(tiny_masked_lm, keywords="none", similarity=0.1))
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Reject)} == {NEAR_COPY}
    assert all(isinstance(outcome, Reject) and outcome.sentence is not None for outcome in outcomes)


def test_a_copy_of_two_joined_sentences_is_a_near_copy(
    tiny_masked_lm: str, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aclm, "is_mixed", lambda rng: True)
    monkeypatch.setattr(MaskedWriter, "write", lambda own, templates, rngs: [t.sentence for t in templates])
    method = fitted(tiny_masked_lm, keywords="none", mixner=True, sentence_encoder=tiny_model)
    outcomes = [method.generate(sentence, random.Random(0)) for sentence in GOLD[:3]]
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Reject)] == [NEAR_COPY] * 3


@pytest.mark.parametrize(
    ("text", "entities", "reason"),
    [
        ("Ada Lovelace met Ada Lovelace in London", [(0, 2, "PER"), (6, 7, "LOC")], REPEATED),
        ("Ada Lovelace left London, for London .", [(0, 2, "PER"), (5, 6, "LOC")], REPEATED),
        ("Ada Lovelace left Lovelace in London .", [(0, 2, "PER"), (5, 6, "LOC")], ""),
        ("Ada Lovelace and London met .", [(0, 2, "PER"), (3, 4, "LOC"), (5, 6, "LOC")], ONLY_PUNCTUATION),
    ],
)
def test_a_draft_with_wrong_labels_is_rejected(
    text: str, entities: list[tuple[int, int, str]], reason: str, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second occurrence of a mention without its label would teach a tagger to miss it."""
    draft = Sentence(tuple(text.split()), tuple(Entity(*entity) for entity in entities))
    monkeypatch.setattr(MaskedWriter, "write", lambda own, templates, rngs: [draft] * len(templates))
    made = fitted(tiny_masked_lm, keywords="none").generate(GOLD[0], random.Random(0))
    assert (made.reason if isinstance(made, Reject) else "") == reason


def test_a_mention_that_is_unlabelled_in_gold_may_be_unlabelled(
    tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example is *it*, which is also the name of a film."""
    draft = Sentence(tuple("London is grace in London".split()), (Entity(4, 5, "LOC"),))
    monkeypatch.setattr(MaskedWriter, "write", lambda own, templates, rngs: [draft] * len(templates))
    method = ACLM(tiny_masked_lm, keywords="none", **QUICK)
    method.fit([*GOLD, Sentence(("London", "fog"), id="fog")])
    assert isinstance(method.generate(GOLD[0], random.Random(0)), Sentence)


def test_mixner_joins_two_sentences_and_names_both(
    tiny_masked_lm: str, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aclm, "is_mixed", lambda rng: True)
    method = ACLM(tiny_masked_lm, keywords="none", mixner=True, sentence_encoder=tiny_model, neighbours=4, **QUICK)
    result = augment(GOLD[:3], method, copies=4)
    assert result.tally.written
    partners = set()
    for sentence in result.corpus:
        assert sentence.origin is not None
        first, second = sentence.origin.parents
        partners.add((first, second))
        mentions = [GOLD.by_id[id].mention(entity) for id in (first, second) for entity in GOLD.by_id[id].entities]
        assert [sentence.mention(entity) for entity in sentence.entities] == mentions
    assert all(first != second for first, second in partners)
    assert len(partners) > 4


@pytest.mark.parametrize("neighbours", [1, 4])
def test_mixner_joins_no_sentence_with_its_copy(tiny_model: str, neighbours: int) -> None:
    """Otherwise, copies would be the most similar ones, and leave no room for others."""
    gold = [replace(GOLD[0], id=f"gold:{number}") for number in range(3)] + [GOLD[1]]
    partners = aclm._Partners(TextEncoder(ModelSource(tiny_model)), gold, neighbours)
    assert [[other.id for other in others] for others in partners.of(gold)] == [*[[GOLD[1].id]] * 3, ["gold:0"]]


def test_mixner_encodes_a_sentence_of_gold_once(tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, asked = TextEncoder(ModelSource(tiny_model)), []
    encode = encoder.sentences
    monkeypatch.setattr(encoder, "sentences", lambda texts: (asked.append([*texts]), encode(texts))[1])
    gold, other = GOLD[:3], replace(GOLD[0], words=("Ada", *GOLD[0].words[1:-1], "today"))
    partners = aclm._Partners(encoder, gold, 1)
    found = partners.of([gold[2], other, gold[1]])
    assert asked == [[sentence.words for sentence in gold], [other.words]]
    assert found[1] == [gold[0]]
    assert found == aclm._Partners(encoder, gold, 1).of([gold[2]]) + found[1:2] + partners.of([gold[1]])


def test_two_rounds_in_five_are_mixed() -> None:
    rounds = [is_mixed(random.Random(seed)) for seed in range(4000)]
    assert sum(rounds) / len(rounds) == pytest.approx(0.4, abs=0.025)


def test_the_order_of_gold_does_not_matter(tiny_masked_lm: str) -> None:
    texts = []
    for gold in (list(GOLD), list(GOLD)[::-1]):
        method = ACLM(tiny_masked_lm, keywords="random", **QUICK)
        method.fit(gold)
        texts.append([repr(outcome) for outcome in generated(method, 6)])
    assert texts[0] == texts[1]


def test_types_that_are_not_in_gold_are_kept(tiny_masked_lm: str) -> None:
    method = fitted(tiny_masked_lm, keywords="none")
    sentence = Sentence(tuple("the मुख्य शहर <b-PER> is near".split()), (Entity(1, 4, "a <type>: नया"),), id="new")
    made = method.generate(sentence, random.Random(0))
    assert isinstance(made, Sentence)
    assert made.mention(made.entities[0]) == ("मुख्य", "शहर", "<b-PER>")


def test_entities_longer_than_the_model_are_kept(tiny_masked_lm: str) -> None:
    words = tuple(f"w{number}" for number in range(120))
    made = fitted(tiny_masked_lm, keywords="none", similarity=1.0).generate(
        Sentence(("we", *words, "today"), (Entity(1, 121, "PER"),), id="long"), random.Random(0)
    )
    assert isinstance(made, Sentence)
    assert made.mention(made.entities[0]) == words


def test_learns_the_words_in_gaps(tiny_masked_lm: str) -> None:
    gold = [
        Sentence(("Ada", word, "Oslo"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id=word) for word in ("won", "saw")
    ]
    method = ACLM(tiny_masked_lm, keywords="none", **{**QUICK, "epochs": 150, "learning_rate": 2e-3, "top_k": 2})
    method.fit(gold)
    made = [method.generate(replaced, random.Random(n)) for n, replaced in enumerate(gold * 5)]
    words = {sentence.words[1] for sentence in made if isinstance(sentence, Sentence)}
    assert words <= {"won", "saw"}
    assert words


def test_refuses_a_tagger_without_attention(tiny_masked_lm: str) -> None:
    from tests.standins import Memory

    method = ACLM(tiny_masked_lm, **QUICK)
    with pytest.raises(SettingsError, match="no attention between words"):
        method.fit(GOLD, Training(tagger=lambda: Memory()))


def test_refuses_a_tagger_without_attention_before_any_training(tiny_masked_lm: str) -> None:
    """Otherwise, a run would train the baseline first."""
    with pytest.raises(SettingsError, match="bilstm_crf has no attention"):
        ACLM(tiny_masked_lm).check_tagger(BiLSTMCRF())
    for method in (ACLM(tiny_masked_lm, keywords="none"), ACLM(tiny_masked_lm, tagger="./mine")):
        method.check_tagger(BiLSTMCRF())
    ACLM(tiny_masked_lm).check_tagger(TransformerTagger())
    with pytest.raises(MissingResourceError, match="there is no folder"):
        ACLM(tiny_masked_lm, tagger="./nowhere").check()
    ACLM(tiny_masked_lm, keywords="none", tagger="./nowhere").check()


def test_refuses_a_missing_sentence_encoder_before_any_training(tiny_masked_lm: str) -> None:
    with pytest.raises(MissingResourceError, match="no model folder"):
        ACLM(tiny_masked_lm, mixner=True, sentence_encoder="./nowhere").check()
    ACLM(tiny_masked_lm, sentence_encoder="./nowhere").check()


def test_defaults_are_those_of_the_paper() -> None:
    settings = {field.name: field.default for field in dataclasses.fields(ACLM)}
    assert (settings["keyword_rate"], settings["layers"], settings["top_k"], settings["candidates"]) == (0.3, 4, 10, 5)
    assert (settings["epochs"], settings["batch_size"], settings["neighbours"]) == (10, 32, 2)


@pytest.mark.parametrize("kind", ["mbart", *(pytest.param(kind, marks=pytest.mark.torture) for kind in ("bart", "t5"))])
def test_a_trained_encoder_decoder_writes_the_sentences(kind: str, tiny_seq2seqs: dict[str, Path]) -> None:
    """All steps of the paper; a model without pretraining can only learn its few sentences by heart."""
    settings = {"epochs": 200, "batch_size": 3, "learning_rate": 3e-3, "top_k": 1, "candidates": 1, "precision": "fp32"}
    method = ACLM(str(tiny_seq2seqs[kind]), keywords="none", similarity=1.0, language="en", **settings)
    method.fit(GOLD[:3])
    outcomes = [method.generate(sentence, random.Random(0)) for sentence in GOLD[:3]]
    written = [outcome.sentence if isinstance(outcome, Reject) else outcome for outcome in outcomes]
    assert [(s.words, s.labels) for s in written if s] == [(s.words, s.labels) for s in GOLD[:3]]
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Reject)} == {NEAR_COPY}


def test_text_of_an_untrained_encoder_decoder_is_rejected_with_reasons(tiny_seq2seq: str) -> None:
    result = augment(GOLD, ACLM(tiny_seq2seq, keywords="none", **{**QUICK, "candidates": 1}), copies=2)
    assert result.tally.read == len(result.corpus) + len(result.rejects) == 2 * len(GOLD)
    assert len(result.rejects) > 5
    assert all(reject.reason for reject in result.rejects)


def test_does_not_learn_from_more_gaps_than_t5_has_sentinels(
    tiny_seq2seqs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A template without every second keyword has more gaps than the whole one."""
    (tmp_path / "none.txt").write_text("zzz\n")
    settings = {"keywords": "random", "keyword_rate": 1.0, "stop_words": str(tmp_path / "none.txt")}
    gold = [*(replace(GOLD[0], id=f"gold:{number}") for number in range(6)), replace(GOLD[2], id="short")]
    words = ("Ada", "saw", *"the program in London today we saw there wrote first".split())
    gold += [Sentence(words, (Entity(0, 1, "PER"),), id=f"long:{number}") for number in range(6)]
    ACLM(str(tiny_seq2seqs["t5"]), **{**QUICK, **settings, "epochs": 3}).fit(gold)
    assert "6 of 13 sentences" in (warning := capsys.readouterr().err)
    assert "long:0: the source has more gaps than the model has sentinels" in warning


def test_sentences_are_as_long_as_gold_on_average(tiny_masked_lm: str) -> None:
    """Dropped keywords join the gaps of a template, which become longer than those of whole templates."""
    words = "red blue green cat dog Ada fish tree house river stone bread milk salt iron sand".split()
    gold = Corpus(Sentence(tuple(words), (Entity(5, 6, "PER"),), id=str(n), language="en") for n in range(40))
    method = ACLM(tiny_masked_lm, **{**QUICK, "passes": 1}, keywords="random", keyword_rate=0.9)
    method.fit(gold)
    rngs = [random.Random(n) for n in range(40)]
    whole = method._maker.templates(list(gold), rngs)
    drafts = method._writer.write(
        [template.dynamically_masked(rng) for template, rng in zip(whole, rngs, strict=True)], rngs
    )
    lengths = [len(draft) for draft in drafts if isinstance(draft, Sentence)]
    assert len(lengths) == 40
    assert sum(lengths) / 40 == pytest.approx(16, abs=1.5)
