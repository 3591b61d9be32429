"""ACLM on an encoder-decoder: it turns a template into a whole sentence with its tags, which is read back."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from nersery.augment.denoising.back_end import BackEnd
from nersery.augment.denoising.templates import Template
from nersery.augment.linearized.linearization import apart, linearize, token_descriptions
from nersery.augment.linearized.parsing import UNKNOWN_TYPE, check_kept, child_of, parse
from nersery.augment.masked_lm.model_setup import fine_tuning
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence, types_in
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import GAP
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair, generate_fitting

if TYPE_CHECKING:
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq

TOO_LONG = "template longer than the model"
UNFINISHED = "longer than max_subwords"


class Seq2SeqBackEnd(BackEnd):
    """Writes whole sentences with an encoder-decoder."""

    def check(self) -> None:
        """See `BackEnd`."""
        from nersery.models.loading import pick_device
        from nersery.models.seq2seq.encoder_decoder import check

        own = self._settings
        if own.adapt:
            raise SettingsError(f'adapt is for masked language models, and "{own.model}" is an encoder-decoder')
        check(own.source, [own.language] if own.language else [])
        pick_device(own.device)

    def learn(self, gold: Sequence[Sentence], training: Training, templates: Mapping[Sentence, Template]) -> None:
        """See `BackEnd`."""
        from nersery.models.seq2seq.encoder_decoder import Seq2Seq, fitting_sentences, warn_of_words_apart

        own = self._settings
        keywords = {sentence.id: template.keywords for sentence, template in templates.items()}
        examples, plan, keeping = fine_tuning(own, gold, training, keywords=keywords)
        model = Seq2Seq(own.source, own.device, own.precision, own.language)
        self._types = frozenset(types_in(templates))
        model.add_tokens(token_descriptions(self._types, (), own.descriptions))
        warn_of_words_apart(model, gold)
        keeping["dev"], fit = (
            fitting_sentences(model, those, lambda s: length_issue(model, templates[s]))
            for those in (keeping["dev"], examples)
        )
        model.fine_tune(fit, lambda s, rng: pair(model, templates[s].thinned(rng)), plan, **keeping)
        self._model = model

    def write(self, templates: Sequence[Template], rngs: Sequence[random.Random]) -> Sequence[Sentence | Reject]:
        """See `BackEnd`."""
        own = self._settings
        sampling = Sampling(own.top_k, own.candidates, own.max_subwords, beams=own.decoding == "beams")
        known = [self._types.issuperset(e.type for e in template.sentence.entities) for template in templates]
        sources = [  # the sentence itself is not read, so it may be longer than the model
            replace(pair(self._model, template), target=()) if is_known else None
            for template, is_known in zip(templates, known, strict=True)
        ]
        texts = generate_fitting(self._model, sources, rngs, sampling)
        return [
            Reject(TOO_LONG if is_known else UNKNOWN_TYPE) if text is None else self._read(text, template)
            for text, is_known, template in zip(texts, known, templates, strict=True)
        ]

    def _read(self, text: Generated, template: Template) -> Sentence | Reject:
        """What the model wrote as a sentence that has the template's entities, spelled as they are there."""
        if not text.finished:
            return Reject(UNFINISHED)
        sentence = parse(text.words, self._types)
        if isinstance(sentence, Reject):
            return sentence
        given = template.sentence
        mentions = [(given.mention(entity), entity.type) for entity in given.entities]
        written = [(self._model.written(words), type_) for words, type_ in mentions]
        lost = check_kept(sentence, written)
        if lost is not None:
            return Reject(lost, sentence)
        spelling = {mention: words for mention, (words, _) in zip(written, mentions, strict=True)}
        found = [(entity, (sentence.mention(entity), entity.type)) for entity in sentence.entities]
        edits = [(entity.start, entity.end, spelling[mention]) for entity, mention in found if mention in spelling]
        return child_of(given, sentence.replace_spans(edits))


def source_of_pair(template: Template) -> tuple[str, ...]:
    """The linearized sentence with one mask for each run of words that is taken out."""
    shown = linearize(template.sentence)
    taken = {shown.places[word] for start, end in template.gaps() for word in range(start, end)}
    source: list[str] = []
    for place, word in enumerate(shown.words):
        if place not in taken:
            source.append(word)
        elif source[-1:] != [GAP]:
            source.append(GAP)
    return tuple(source)


def pair(model: Seq2Seq, template: Template) -> TextPair:
    """What the model learns of a template: to write the sentence."""
    template = _apart(model, template)
    return TextPair(source_of_pair(template), linearize(template.sentence).words, template.sentence.language)


def length_issue(model: Seq2Seq, template: Template) -> str:
    """Why a model cannot learn from a template, whichever keywords it loses; empty when it can."""
    return model.length_issue(pair(model, template)) or model.length_issue(pair(model, template.most_torn()))


def _apart(model: Seq2Seq, template: Template) -> Template:
    """The template of the sentence with words such as "10 000" as several; see `apart`."""
    sentence = apart(template.sentence, model.parts)
    if sentence is template.sentence:
        return template
    ends = [0, *accumulate(len(model.parts(word)) for word in template.sentence.words)]
    return Template(sentence, tuple(place for k in template.keywords for place in range(ends[k], ends[k + 1])))
