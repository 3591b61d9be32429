"""Labels projected from a translation by word alignment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from nersery import io
from nersery.annotate.base import Annotator
from nersery.core.alignments import Pair
from nersery.core.errors import DataError, Issue, MissingResourceError, NerseryError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.registry import create_nested, name_of
from nersery.core.sentence import Corpus, Sentence
from nersery.core.settings.typed_settings import FileName, ModelName, hidden, validated
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.crosslingual.aligners.base import Aligner, checked_alignments
from nersery.crosslingual.label_projection.projection import Projection, Translation
from nersery.crosslingual.parallel_corpus.bitext import LINE_BY_LINE
from nersery.crosslingual.parallel_corpus.divergence import Features, differing_blank_lines, first_divergence
from nersery.crosslingual.parallel_corpus.sides import quoted
from nersery.io.base import ReadOptions, Source
from nersery.io.text import TextSource
from nersery.io.word_splitting.tokenization import Splitting, attached_share
from nersery.taggers.training.gold_tagger import gold_tagger


@dataclass
class ProjectedLabels(Annotator):
    """Projects the labels of a translation onto the sentence by word alignment.

    An aligner learns from all pairs. A sentence gets the entities of its translation, or is rejected if one cannot be
    projected. Filter the output with `alignment_quality`. For text larger than memory, use `nersery crosslingual align`
    and `project`.

    Args:
        source: File of translations, paired by ids if both files have the same, else by order.
        source_language: Language of the translations.
        split: How plain text in these files is split; None: like gold, or as it looks. For raw text: `--split`,
            `data.split`.
        labels: ``given``: those in `source`; ``predicted``: those of `tagger`.
        tagger: Folder or Hugging Face name of a tagger. None: in a run, that of the system's base; elsewhere the
            default tagger, trained on gold first.
        aligner: The aligner's ``method`` (``nersery list align``) and settings.
        more_source: More text in the source language, to train the aligner.
        more_target: The translation of `more_source`, sentence by sentence.
        projection: Settings of `nersery.crosslingual.label_projection.projection.Projection`, e.g.
            ``{ max_gap = 2, drop = ["MISC"] }``.

    Reference:
        Mhaske et al. (2023). Naamapadam: A Large-Scale Named Entity Annotated Data for Indic Languages. ACL, section 3.

    Departures:
        Rules for gaps and punctuation are on by default. More:
        `nersery.crosslingual.label_projection.projection.Projection` and the aligner.
    """

    source: FileName
    source_language: str = ""
    split: Splitting | None = None
    labels: Literal["given", "predicted"] = "given"
    tagger: ModelName | None = None
    aligner: dict[str, Any] = field(default_factory=lambda: {"method": "statistical"})
    more_source: FileName = ""
    more_target: FileName = ""
    projection: dict[str, Any] = field(default_factory=dict)
    _projection: Projection = hidden(default_factory=Projection)
    _gold: Sequence[Sentence] = hidden(default=())
    _training: Training = hidden(default=NO_TRAINING)
    _translations: Mapping[str, Translation | Reject] | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        values, issues = validated(Projection, "projection", self.projection)
        if bool(self.more_source) != bool(self.more_target):
            issues.append("more_source and more_target go together: name both files, or neither")
        if self.tagger is not None and self.labels == "given":
            issues.append('tagger is for labels = "predicted", but labels is "given"')
        if issues:
            raise SettingsError("\n".join(issues))
        self._projection = Projection(**values)
        self._new_aligner()

    def _new_aligner(self) -> Aligner:
        return create_nested("aligner", self.aligner)

    def check(self) -> None:
        for name in filter(None, (self.source, self.more_source, self.more_target)):
            if not Path(name).exists():
                raise MissingResourceError(
                    f"{name} does not exist: expected a file of translations, one for each sentence"
                )
        self._new_aligner().check()

    def check_raw(self, raw: Sequence[Sentence]) -> None:
        """Read the translations and check that they match the sentences; see `Annotator.check_raw`."""
        self._sources(raw)
        self._more_pairs(raw)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Keep gold to train a tagger on. The aligner is trained in `fit_candidates`, which gets the sentences."""
        self._gold, self._training, self._translations = gold, training, None

    def fit_candidates(self, corpus: Iterable[Sentence]) -> None:
        """Read the translations of the sentences, label them if ``labels`` is ``predicted``, and align both.

        Raises:
            DataError: When there are more or fewer translations than sentences.
            NerseryError: When a sentence has no id.
        """
        targets = list(corpus)
        if not all(target.id for target in targets):
            raise NerseryError(
                "projected_labels finds translations by id: use the sentences of a Corpus, which assigns ids"
            )
        sources: Sequence[Sentence] = self._sources(targets)
        if self.labels == "predicted":
            sources = gold_tagger(name_of(self), self.tagger, self._gold, self._training).predict(sources)
        pairs = [Pair(s.words, t.words, t.id) for s, t in zip(sources, targets, strict=True)]
        aligner = self._new_aligner()
        aligner.fit([*pairs, *self._more_pairs(targets)], replace(self._training.within("aligner"), dev=()))
        self._translations = {
            pair.id: replace(alignment, sentence=None)
            if isinstance(alignment, Reject)
            else Translation(source, alignment)
            for pair, source, alignment in zip(pairs, sources, checked_alignments(aligner, pairs), strict=True)
        }

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        """The sentences with the labels of their translations; an error for one that `fit_candidates` did not get."""
        if self._translations is None or any(sentence.id not in self._translations for sentence in sentences):
            raise NerseryError("projected_labels was given unknown sentences: call fit_candidates first")
        return [self._projected(sentence, self._translations[sentence.id]) for sentence in sentences]

    def _projected(self, sentence: Sentence, translation: Translation | Reject) -> Sentence | Reject:
        if isinstance(translation, Reject):
            return translation
        return self._projection.project(translation.source, sentence, translation.alignment)

    def _opened(self, name: str, language: str, *, labelled: bool = False) -> Source:
        options = ReadOptions(language=language, split=self.split)
        return io.open_corpus(name, options) if labelled else io.open_text(name, options, attached_share(self._gold))

    def _read(self, name: str, others: Sequence[Sentence], *, labelled: bool = False) -> Corpus:
        """The translations of other sentences in a file, in the order of those sentences."""
        file = self._opened(name, self.source_language, labelled=labelled)
        corpus = Corpus(file)
        if len(corpus) != len(others):
            raise DataError(
                Issue(f"{len(corpus):,} sentences here, but {len(others):,} in the text that they translate", name),
                fix="give one translation per sentence, in the same order and without empty lines; "
                "`nersery crosslingual align` shows where the files stop matching",
            )
        ids = [sentence.id for sentence in others]
        if {*ids} == {*corpus.by_id}:
            return Corpus(corpus.by_id[id] for id in ids)
        if isinstance(file, TextSource) and (difference := differing_blank_lines(corpus, others)):
            raise DataError(
                Issue(difference, name),
                fix="give one translation per sentence, in the same order and without empty lines; "
                "`nersery crosslingual align` pairs the files line by line",
            )
        divergence = first_divergence(*(Features(sentence.words for sentence in side) for side in (corpus, others)))
        if divergence is not None:
            first = divergence.line
            warn(
                f"{name} has as many sentences as the text that it translates, but they seem to stop matching near "
                f"sentence {first + 1:,}: {quoted(corpus[first].words)} here, {quoted(others[first].words)} there; "
                f"if so, {LINE_BY_LINE}"
            )
        return corpus

    def _sources(self, targets: Sequence[Sentence]) -> Corpus:
        """The translations of sentences; a `DataError` if they do not match or lack labels that they should have."""
        labelled = self.labels == "given"
        sources = self._read(self.source, targets, labelled=labelled)
        if labelled and sources and not sources.types:
            raise DataError(
                Issue("no sentence has an entity", self.source),
                fix='name a labelled file, or let a tagger label it: labels = "predicted"',
            )
        return sources

    def _more_pairs(self, targets: Sequence[Sentence]) -> list[Pair]:
        """Additional pairs for the aligner to learn from. Their targets have the language of ``targets``."""
        if not self.more_source:
            return []
        language = targets[0].language if targets else ""
        more_targets = Corpus(self._opened(self.more_target, language))
        more_sources = self._read(self.more_source, more_targets)
        return [Pair(s.words, t.words, f"more/{t.id}") for s, t in zip(more_sources, more_targets, strict=True)]
