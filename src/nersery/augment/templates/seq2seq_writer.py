"""ACLM on an encoder-decoder, which turns a template into a whole sentence with its tags, which is then parsed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from nersery.augment.linearized.linearization import linearize, with_split_words
from nersery.augment.linearized.parsing import LOST, child_of, has_mentions, parse, rejected
from nersery.augment.linearized.tagged_writing import fine_tuned_writer, write_sentences
from nersery.augment.templates.template import Template
from nersery.augment.templates.template_writer import TemplateWriter
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence, types_in
from nersery.core.training_context import Training
from nersery.models.seq2seq.seq2seq_inputs import Sampling, TextPair
from nersery.models.tokens import GAP

if TYPE_CHECKING:
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq

TOO_LONG = "template longer than the model"


class Seq2SeqWriter(TemplateWriter):
    """Writes whole sentences with an encoder-decoder."""

    def learn(self, gold: Sequence[Sentence], training: Training, templates: Mapping[Sentence, Template]) -> None:
        self._types = frozenset(types_in(templates))
        self._model = fine_tuned_writer(
            self._settings,
            gold,
            training,
            self._types,
            lambda model, sentence, rng: training_pair(model, templates[sentence].dynamically_masked(rng)),
            lambda model, sentence: length_issue(model, templates[sentence]),
            keywords={sentence.id: template.keywords for sentence, template in templates.items()},
        )

    def write(self, templates: Sequence[Template], rngs: Sequence[random.Random]) -> Sequence[Sentence | Reject]:
        options, model = self._settings, self._model
        sampling = Sampling(options.top_k, options.candidates, options.max_subwords, beams=options.decoding == "beams")
        sentences = [template.sentence for template in templates]
        pairs = (training_pair(model, template) for template in templates)
        return write_sentences(model, self._types, sentences, pairs, rngs, sampling, self._read, too_long=TOO_LONG)

    def _read(self, words: Sequence[str], given: Sentence) -> Sentence | Reject:
        """The sentence that the model wrote, if it has the given one's entities; they get the given spelling."""
        sentence = parse(words, self._types)
        if isinstance(sentence, Reject):
            return rejected(sentence.reason, words, given)
        mentions = [(given.mention(entity), entity.type) for entity in given.entities]
        # Not every vocabulary can write all words, so mentions are compared as the model writes them.
        expected = [(self._model.written(words), type_) for words, type_ in mentions]
        if not has_mentions(sentence, expected):
            return Reject(LOST, child_of(given, sentence))
        spelling = {mention: words for mention, (words, _) in zip(expected, mentions, strict=True)}
        entities = [(entity, (sentence.mention(entity), entity.type)) for entity in sentence.entities]
        edits = [(entity.start, entity.end, spelling[mention]) for entity, mention in entities if mention in spelling]
        return child_of(given, sentence.replace_spans(edits))


def masked_source(template: Template) -> tuple[str, ...]:
    """The linearized sentence with one mask for each run of removed words."""
    shown = linearize(template.sentence)
    removed = {shown.positions[word] for start, end in template.gaps() for word in range(start, end)}
    source: list[str] = []
    for position, word in enumerate(shown.words):
        if position not in removed:
            source.append(word)
        elif source[-1:] != [GAP]:
            source.append(GAP)
    return tuple(source)


def training_pair(model: Seq2Seq, template: Template) -> TextPair:
    """The training pair of a template: the model learns to write the sentence from it."""
    template = _with_split_words(model, template)
    return TextPair(masked_source(template), linearize(template.sentence).words, template.sentence.language)


def length_issue(model: Seq2Seq, template: Template) -> str:
    """Why a model cannot learn from a template, whichever keywords it loses; empty if it can."""
    return model.length_issue(training_pair(model, template)) or model.length_issue(
        training_pair(model, template.with_most_gaps())
    )


def _with_split_words(model: Seq2Seq, template: Template) -> Template:
    """The template of the sentence with words such as "10 000" split; see `with_split_words`."""
    sentence = with_split_words(template.sentence, model.parts)
    if sentence is template.sentence:
        return template
    ends = [0, *accumulate(len(model.parts(word)) for word in template.sentence.words)]
    return Template(sentence, tuple(position for k in template.keywords for position in range(ends[k], ends[k + 1])))
