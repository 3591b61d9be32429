"""Code-mixing: replace mentions with entities of their type in another language."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from nersery.augment.base import NO_ENTITIES, Augmenter
from nersery.augment.words.gazetteer import (
    Gazetteer,
    Mention,
    has_embedding,
    spaces_in_mentions,
    with_ending,
    without_ending,
)
from nersery.core.errors import DataError, Issue, NerseryError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Entity, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.settings.typed_settings import FileName, ModelName, hidden
from nersery.core.text.languages import canonical
from nersery.core.text.word_lists import check_file
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.models.bundled_models import bundled
from nersery.models.pretrained.model_settings import ModelSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embeddings = NDArray[np.float32]

LanguageAndType = tuple[str, str]
Nearest = Mapping[str, Mention]
"""The most similar entity of the type in each other language."""

SENTENCE_ENCODER = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
"""A model that is made for the mean over subwords, which we use."""
WITHOUT_LANGUAGE = "no language"
NO_FOREIGN_ENTITY = "no entity of its types in another language"
UNKNOWN = "no known word in its mentions"
NAME_THE_LANGUAGES = (
    'name the language of each sentence: in a recipe, with a file per language, train = { en = "en.conll", hi = '
    '"hi.conll" } under [data]; elsewhere, with one JSONL file of all languages, whose sentences have the field '
    '"language" (to add it to a file: nersery dataset convert hi.conll hi.jsonl --language hi)'
)


@dataclass
class CodeMixing(Augmenter, ModelSettings):
    """Replaces mentions with entities of their type from gold sentences in other languages.

    With probability `rate`, a mention becomes an entity of its type from another language, drawn at random. Its words
    always change; the sentence keeps its language. Gold needs at least two languages, and every sentence must name its
    own.

    Args:
        rate: Probability of replacing a mention.
        similarity: ``ess`` (entity similarity search) inserts the most similar entity, ``random`` any.
        vectors: File of word vectors per language for `ess`, in fastText's text format, all in one space, e.g. `{ en =
            "wiki.en.align.vec", hi = … }`.
        model: Multilingual sentence encoder for `ess`, by name or folder, instead of `vectors` (without either:
            `bundled-multilingual`).

    Reference:
        Zhou et al. (2022), MELM, ACL, section 2.5, "entity similarity search"; section 3.4.2, "Code-Mix-ess" and
        "Code-Mix-random".

    Departures:
        - The paper does not say whether all mentions are replaced. By default, ours are, each from a language of its
          own.
        - The paper aligns languages in pairs; here all share one space.
        - The paper draws from all other languages, and may insert the same words. We skip languages without an entity
          of the type, and entities without word vectors; a mention's vector averages its known words.
        - The sentence encoder is our addition.
    """

    rate: Rate = 1.0
    similarity: Literal["ess", "random"] = "ess"
    vectors: dict[str, FileName] = field(default_factory=dict)
    model: ModelName = ""
    _gazetteers: dict[LanguageAndType, Gazetteer] = hidden(default_factory=dict)
    _languages: Sequence[str] = hidden(default=())
    _spaces: dict[Mention, list[bool]] = hidden(default_factory=dict)
    _nearest: dict[LanguageAndType, dict[Mention, Nearest]] = hidden(default_factory=dict)
    _indexes: dict[str, Any] = hidden(default_factory=dict)
    _encoder: Any = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._uses_search and not self.vectors:
            self.model = self.model or bundled.MULTILINGUAL
        elif self._uses_search and self.model:
            raise SettingsError(
                'similarity "ess" reads either vectors or a model, but both are given. Remove one: vectors are files '
                f'of aligned word vectors, a model is a multilingual sentence encoder, such as "{bundled.MULTILINGUAL}"'
            )
        for language, path in self.vectors.items():
            if not path:
                raise SettingsError(f"vectors.{language} is empty, expected a file of word vectors")
            check_file(path)

    @property
    def _vector_files(self) -> dict[str, str]:
        """The file of vectors of each language."""
        return {canonical(language): path for language, path in self.vectors.items()}

    @property
    def _uses_search(self) -> bool:
        return self.similarity == "ess"

    def check(self) -> None:
        """Check the model, or the beginning of each file of vectors; see `Augmenter.check`.

        Raises:
            DataError: If a file holds no vectors, or the files differ in the dimension.
        """
        if not self._uses_search:
            return
        if self.model:
            from nersery.models.pretrained.loading import pick_device

            self.source.config()
            pick_device(self.device)
            return
        from nersery.models.embeddings.word_vectors import read_head

        (first, expected), *rest = {path: read_head(path).dimension for path in self.vectors.values()}.items()
        for path, dimension in rest:
            if dimension != expected:
                raise DataError(
                    f"{first} has vectors of {expected} numbers, but {path} of {dimension}, so they are not aligned",
                    fix="use the files of one set of aligned vectors",
                )

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Collect the entities of each language and type; for ess, find the nearest of each in the other languages.

        Raises:
            DataError: If the sentences are in fewer than two languages, no type occurs in two of them, or a file of
                vectors is broken.
            MissingResourceError: If the model cannot be found.
            SettingsError: If a language has no vectors.
        """
        gold = list(gold)
        mentions, languages = _mentions(gold)
        _require_shared_type(mentions, languages)
        matrices: dict[LanguageAndType, Embeddings] = {}
        self._indexes = {}
        if self._uses_search:
            self._check_resources(mentions)
            matrices = self._embed_all(mentions)
            self._warn_of_unembedded(matrices)
        gazetteers = {key: Gazetteer.of(members, matrices.get(key)) for key, members in mentions.items()}
        gazetteers = {key: gazetteer for key, gazetteer in gazetteers.items() if gazetteer.mentions}
        _require_shared_type(gazetteers, languages, "with a word that has a vector ")
        self._gazetteers, self._languages, self._spaces = gazetteers, languages, spaces_in_mentions(gold)
        self._nearest = {key: self._search(key, mentions[key], rows) for key, rows in matrices.items()}

    def _check_resources(self, mentions: Mapping[LanguageAndType, Sequence[Mention]]) -> None:
        """Load the model, or check that there are vectors for all languages, before the first file is read."""
        if self.model:
            self._load_encoder(mentions)
            return
        missing = sorted({language for language, _ in mentions} - self._vector_files.keys())
        if missing:
            raise SettingsError(
                f"gold sentences have entities in {', '.join(missing)}, but there are vectors only for "
                f"{', '.join(sorted(self.vectors))}. Add a file for each language to the setting vectors, "
                f'e.g. vectors = {{ {missing[0]} = "wiki.{missing[0]}.align.vec", … }}'
            )
        self.check()

    def _load_encoder(self, mentions: Mapping[LanguageAndType, Sequence[Mention]]) -> None:
        from nersery.models.bundled_models.known_languages import warn_if_unsuited
        from nersery.models.embeddings.text_encoder import TextEncoder

        self._encoder = TextEncoder(self.source, device=self.device, precision=self.precision)
        words: dict[str, list[str]] = {}
        for (language, _), members in mentions.items():
            words.setdefault(language, []).extend(word for mention in members for word in mention)
        advice = "Name a multilingual sentence encoder in the setting model, e.g. {}"
        for language in sorted(words):
            issue = self._encoder.subwords.vocabulary_issue(words[language])
            warn_if_unsuited(
                self.model, issue, [language], advice, SENTENCE_ENCODER, text=language, words=words[language]
            )

    def _embed_all(self, mentions: Mapping[LanguageAndType, Sequence[Mention]]) -> dict[LanguageAndType, Embeddings]:
        """The embeddings of mentions, language by language, so that each file of vectors is read only once."""
        matrices = {}
        for language in sorted({language for language, _ in mentions}):
            of_language = {key: members for key, members in mentions.items() if key[0] == language}
            distinct = sorted({mention for members in of_language.values() for mention in members})
            rows = {mention: row for row, mention in enumerate(distinct)}
            matrix = self._embed(language, distinct)
            for key, members in of_language.items():
                matrices[key] = matrix[[rows[mention] for mention in members]]
        return matrices

    def _embed(self, language: str, mentions: Sequence[Mention]) -> Embeddings:
        """A vector of length 1 for each mention, zeros where no word is known. Shape: (mentions, dimension)."""
        if self.model:
            return self._encoder.sentences(mentions)
        import numpy as np

        from nersery.models.embeddings.word_vectors import VectorIndex

        if language not in self._indexes:
            self._indexes[language] = VectorIndex(self._vector_files[language])
        vectors = self._indexes[language].read({word for mention in mentions for word in mention})
        for issue in vectors.issues:
            warn(f"{self._vector_files[language]}: {issue}")
        return np.stack([vectors.mean(mention) for mention in mentions])

    def _warn_of_unembedded(self, matrices: Mapping[LanguageAndType, Embeddings]) -> None:
        for language in sorted({language for language, _ in matrices}):
            is_known = [
                bool(row) for key, rows in matrices.items() if key[0] == language for row in has_embedding(rows)
            ]
            if not all(is_known):
                source = self._vector_files.get(language, self.model)
                warn(
                    f"{source} has no word of {is_known.count(False)} of the {len(is_known)} different mentions in "
                    f"{language}: these are neither replaced nor inserted"
                )

    def _search(self, key: LanguageAndType, mentions: Sequence[Mention], matrix: Embeddings) -> dict[Mention, Nearest]:
        """The nearest entity in each other language, for each mention of a language and type."""
        nearest: dict[Mention, dict[str, Mention]] = {mention: {} for mention in mentions}
        for target, gazetteer in self._others(key):
            for mention, entity in zip(mentions, gazetteer.nearest(mentions, matrix), strict=True):
                if entity is not None:
                    nearest[mention][target] = entity
        return dict(nearest)

    def _others(self, key: LanguageAndType) -> list[tuple[str, Gazetteer]]:
        """The entities of a type in all languages but one, by language."""
        excluded, type_ = key
        others = [language for language in self._languages if (language, type_) in self._gazetteers]
        return [(language, self._gazetteers[language, type_]) for language in others if language != excluded]

    def generate_batch(
        self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]
    ) -> Sequence[Sentence | Reject]:
        """One outcome for each sentence; mentions that `fit` has not seen are searched for together."""
        if not self._gazetteers:
            raise unfitted(self, "generate")
        try:
            unseen = self._search_unseen(sentences) if self._uses_search else {}
        except DataError as error:  # an issue of the vectors, not of a sentence
            raise NerseryError(str(error)) from error
        return [self._code_mixed(sentence, rng, unseen) for sentence, rng in zip(sentences, rngs, strict=True)]

    def _search_unseen(self, sentences: Sequence[Sentence]) -> dict[LanguageAndType, dict[Mention, Nearest]]:
        """The nearest entities of mentions that do not occur in gold sentences, for this batch only."""
        unseen: dict[LanguageAndType, set[Mention]] = {}
        for sentence in sentences:
            for entity in sentence.entities if self._can_embed(sentence.language) else ():
                key, (mention, _) = _key(sentence, entity), without_ending(sentence, entity)
                if mention not in self._nearest.get(key, {}) and self._others(key):
                    unseen.setdefault(key, set()).add(mention)
        mentions = {key: sorted(members) for key, members in unseen.items()}
        matrices = self._embed_all(mentions)
        return {key: self._search(key, mentions[key], rows) for key, rows in matrices.items()}

    def _can_embed(self, language: str) -> bool:
        return bool(language) and (bool(self.model) or canonical(language) in self._vector_files)

    def _code_mixed(
        self, sentence: Sentence, rng: random.Random, unseen: Mapping[LanguageAndType, Mapping[Mention, Nearest]]
    ) -> Sentence | Reject:
        if not sentence.entities:
            return Reject(NO_ENTITIES)
        if not sentence.language:
            return Reject(WITHOUT_LANGUAGE)
        edits, spaces = list[Edit](), dict[Mention, list[bool]]()
        replaceable = False
        for entity in sentence.entities:
            chosen = rng.random() < self.rate
            key, (mention, ending) = _key(sentence, entity), without_ending(sentence, entity)
            if self._uses_search:
                nearest = self._nearest.get(key, {}).get(mention) or unseen.get(key, {}).get(mention, {})
                choices: Sequence[Mention | Gazetteer] = [*nearest.values()]
            else:
                choices = [gazetteer for _, gazetteer in self._others(key) if gazetteer.has_other(mention)]
            replaceable = replaceable or bool(choices)
            if chosen and choices:
                choice = choices[int(rng.random() * len(choices))]
                replacement = choice.draw_other(mention, rng) if isinstance(choice, Gazetteer) else choice
                inserted = with_ending(replacement, ending, sentence.language)
                edits.append((entity.start, entity.end, inserted))
                if replacement in self._spaces:
                    spaces[inserted] = self._spaces[replacement]
        return sentence.replace_spans(edits, spaces) if replaceable else Reject(self._reject_reason(sentence))

    def _reject_reason(self, sentence: Sentence) -> str:
        """Why no mention can be replaced."""
        if not any(
            gazetteer.has_other(without_ending(sentence, entity)[0])
            for entity in sentence.entities
            for _, gazetteer in self._others(_key(sentence, entity))
        ):
            return NO_FOREIGN_ENTITY
        return UNKNOWN if self._can_embed(sentence.language) else f"no vectors for its language, {sentence.language}"


def _key(sentence: Sentence, entity: Entity) -> LanguageAndType:
    return canonical(sentence.language), entity.type


def _mentions(sentences: Iterable[Sentence]) -> tuple[dict[LanguageAndType, list[Mention]], list[str]]:
    """The distinct mentions of the gold sentences by language and type, sorted, and all languages.

    Raises:
        DataError: If a sentence does not name its language, or all sentences name the same.
    """
    mentions: dict[LanguageAndType, set[Mention]] = {}
    ids: dict[str, list[str]] = {}
    for sentence in sentences:
        ids.setdefault(canonical(sentence.language), []).append(sentence.id)
        for entity in sentence.entities:
            mentions.setdefault(_key(sentence, entity), set()).add(without_ending(sentence, entity)[0])
    total = sum(map(len, ids.values()))
    if "" in ids:
        message = f"{len(ids[''])} of {total} sentences do not name their language, including this one"
        raise DataError(Issue(message, sentence=ids[""][0] or None), fix=NAME_THE_LANGUAGES)
    if len(ids) < 2:
        seen = f"all {total} are in {next(iter(ids))}" if ids else "there are none"
        raise DataError(
            f"code_mixing needs gold sentences in two languages or more, but {seen}", fix=NAME_THE_LANGUAGES
        )
    return {key: sorted(mentions[key]) for key in sorted(mentions)}, sorted(ids)


def _require_shared_type(keys: Iterable[LanguageAndType], languages: Sequence[str], which: str = "") -> None:
    """Raise `DataError` if each type occurs in only one language, so that no mention could be replaced."""
    if all(count < 2 for count in Counter(type_ for _, type_ in keys).values()):
        raise DataError(
            f"no type has entities {which}in two of the languages {', '.join(languages)}: no mention can be replaced",
            fix="label the languages with the same types" + (", and check the files of vectors" if which else ""),
        )
