from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from nersery import Entity, Sentence
from nersery.augment.linearized.linearization import tag_token, token_descriptions
from nersery.augment.linearized.parsing import LEFT_OVER, LOST, UNBALANCED, UNKNOWN_TYPE
from nersery.augment.linearized.tagged_writing import UNFINISHED
from nersery.augment.templates.seq2seq_writer import TOO_LONG, Seq2SeqWriter, training_pair
from nersery.augment.templates.template import Template
from nersery.core.outcome import Reject
from nersery.models.pretrained.loading import ModelSource
from nersery.models.seq2seq.encoder_decoder import Seq2Seq
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP

SENTENCE = Sentence(
    tuple("the poet Jo Li was born .".split()), (Entity(2, 4, "PER"),), id="a", language="en", columns=(("x",) * 7,)
)
TEMPLATE = Template(SENTENCE, (1, 5))
B, I = tag_token("PER", begins=True), tag_token("PER", begins=False)  # noqa: E741
NAME = (B, "Jo", B, I, "Li", I)


class Writer:
    """Writes the given words for any source."""

    def __init__(self, *words: str, finished: bool = True, longest: int = 100) -> None:
        self.words, self.finished, self.longest = words, finished, longest
        self.source = SimpleNamespace(name="writer")
        self.asked: list[tuple[tuple[str, ...], str]] = []

    def written(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(words)

    def parts(self, word: str) -> tuple[str, ...]:
        return tuple(word.split())

    def generate(
        self, sources: Sequence[TextPair | None], rngs: Sequence[Any], sampling: Sampling
    ) -> list[Generated | None]:
        assert len(sources) == len(rngs)
        fit = [pair is not None and len(pair.source) <= self.longest for pair in sources]
        self.asked += [(pair.source, pair.language) for pair, fits in zip(sources, fit, strict=True) if pair and fits]
        return [Generated(self.words, -1.0, self.finished) if fits else None for fits in fit]


def denoise(
    model: Any, templates: list[Template], rngs: list[random.Random], sampling: Sampling, types: set[str]
) -> Sequence[Sentence | Reject]:
    numbers = {name: getattr(sampling, name) for name in ("top_k", "candidates", "max_subwords")}
    writer = Seq2SeqWriter(SimpleNamespace(decoding="sample", **numbers))
    writer._model, writer._types = model, frozenset(types)
    return writer.write(templates, rngs)


def read(writer: Writer, template: Template = TEMPLATE) -> Sentence | Reject:
    (made,) = denoise(cast(Any, writer), [template], [random.Random(0)], Sampling(), {"PER", "LOC"})
    return made


def shown(template: Template) -> TextPair:
    return training_pair(cast(Any, Writer()), template)


def test_each_run_of_removed_words_is_one_mask() -> None:
    learnt = shown(TEMPLATE)
    assert learnt.source == (GAP, "poet", *NAME, GAP, "born", GAP)
    assert learnt.target == ("the", "poet", *NAME, "was", "born", ".")
    assert learnt.language == "en"
    assert shown(Template(SENTENCE)).source == (GAP, *NAME, GAP)


def test_a_word_with_a_space_is_split_and_kept_together_by_its_tag_tokens() -> None:
    """A model's text is split at spaces, so half of a mention would be outside its entity."""
    sentence = Sentence(("in", "Hà Nội", "10\u00a0000", "people", "live"), (Entity(1, 2, "PER"),), id="a")
    name = (B, "Hà", B, I, "Nội", I)
    assert shown(Template(sentence, (2,))).source == (GAP, *name, "10", "000", GAP)
    assert shown(Template(sentence, (2, 4))).target == ("in", *name, "10", "000", "people", "live")
    writer = Writer("from", *name)
    writer.written = lambda words: tuple(" ".join(words).split())  # type: ignore[method-assign]
    made = read(writer, Template(sentence))
    assert isinstance(made, Sentence)
    assert (made.words, made.labels) == (("from", "Hà Nội"), ((1, 2, "PER"),))


def test_a_model_that_splits_words_reads_its_mentions_back_whole(word_splitting_seq2seq: str) -> None:
    model = Seq2Seq(ModelSource(word_splitting_seq2seq), "cpu", "fp32")
    model.add_tokens(token_descriptions({"PER"}, (), {}))
    sentence = Sentence(("we", "saw", "日本", "Oslo&York", "today", "."), (Entity(2, 4, "PER"),), id="a")
    writer = Writer(*model.written(training_pair(model, Template(sentence, (4,))).target))
    writer.parts, writer.written = model.parts, model.written  # type: ignore[method-assign]
    made = read(writer, Template(sentence, (4,)))
    assert isinstance(made, Sentence)
    assert (made.words, made.labels) == (sentence.words, sentence.labels)


def test_the_text_becomes_a_sentence_in_the_language_of_its_parent() -> None:
    writer = Writer("a", "young", "poet", *NAME, "sang")
    made = read(writer)
    assert isinstance(made, Sentence)
    assert (made.text, made.labels, made.language) == ("a young poet Jo Li sang", ((3, 5, "PER"),), "en")
    assert made.columns == (("_",) * 6,)
    assert writer.asked == [(shown(TEMPLATE).source, "en")]


def test_entities_are_spelled_as_in_the_template_with_any_vocabulary() -> None:
    writer = Writer("jo", "saw", B, "jo", B, "and", B, "jo", B, I, "li", I)
    writer.written = lambda words: tuple(word.lower() for word in words)  # type: ignore[method-assign]
    made = read(writer)
    assert isinstance(made, Sentence)
    assert (made.text, made.labels) == ("jo saw jo and Jo Li", ((2, 3, "PER"), (4, 6, "PER")))


def test_rejects_name_their_reasons() -> None:
    def reason(made: Sentence | Reject) -> str:
        assert isinstance(made, Reject)
        return made.reason

    assert reason(read(Writer("poet", *NAME, finished=False))) == UNFINISHED
    assert reason(read(Writer("poet", longest=3))) == TOO_LONG
    assert reason(read(Writer("poet", B, "Jo", "sang"))) == UNBALANCED
    assert reason(read(Writer("poet", GAP, *NAME))) == LEFT_OVER
    assert reason(read(Writer("poet", B, "Jo", B, "sang"))) == LOST
    poem = Template(SENTENCE.with_entities([Entity(2, 4, "POEM")]), (1, 5))
    assert reason(read(Writer("poet", *NAME), poem)) == UNKNOWN_TYPE
    other = tag_token("LOC", begins=True)
    assert reason(read(Writer("poet", other, "Jo", other, "sang"))) == LOST


def test_rejects_show_the_text_and_its_language() -> None:
    made = [read(Writer("poet", B, "Jo", "sang")), read(Writer("poet", B, "Jo", B, "sang"))]
    shown = [reject.sentence for reject in made if isinstance(reject, Reject) and reject.sentence]
    assert [(sentence.text, sentence.language) for sentence in shown] == [
        ("poet <b-PER> Jo sang", "en"),
        ("poet Jo sang", "en"),
    ]


def test_a_template_of_a_long_sentence_is_not_too_long(tiny_seq2seqs: dict[str, Path]) -> None:
    model = Seq2Seq(ModelSource(str(tiny_seq2seqs["t5"])), "cpu", "fp32")
    model.add_tokens(token_descriptions({"PER"}, (), {}))
    sentence = Sentence(("Ada", *["wrote", "the", "program"] * 25), (Entity(0, 1, "PER"),), id="a")
    (made,) = denoise(model, [Template(sentence)], [random.Random(0)], Sampling(max_subwords=4), {"PER"})
    assert isinstance(made, Reject)
    assert made.reason == UNFINISHED


def test_templates_that_fit_are_written_next_to_one_that_does_not() -> None:
    long = Template(SENTENCE.replace_span(0, 1, ("very",) * 9), tuple(range(9)))
    writer = Writer(*NAME, longest=12)
    rngs = [random.Random(n) for n in range(3)]
    first, second, third = denoise(cast(Any, writer), [TEMPLATE, long, TEMPLATE], rngs, Sampling(), {"PER"})
    assert isinstance(first, Sentence)
    assert isinstance(third, Sentence)
    assert isinstance(second, Reject)
    assert second.reason == TOO_LONG
