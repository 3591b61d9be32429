"""Distant supervision: labels from lists of names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from nersery.annotate.base import Annotator
from nersery.core.definitions import check_types
from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.inflection import inflection
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Entity, Sentence
from nersery.core.text_forms import folded, unspaced
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.typed_settings import FileName, hidden
from nersery.core.word_lists import check_file, read_names

AMBIGUOUS, NO_NAME = "a name with several types", "no name"
LONGEST = 30
"""Names with more words are not found."""


@dataclass
class GazetteerLabels(Annotator):
    """Labels the names on your lists (gazetteers) wherever raw text has them, and the mentions of gold, too.

    Of overlapping names, the longest is labelled. How names are split into words does not matter. Names that gold
    uses otherwise at least as often are ignored. Sentences without a name, or with one of several types, are rejected:
    they may have entities that no list has.

    Args:
        files: A file for each type with one name per line, e.g. `{ DRUG = "drugs.txt" }`.
        ignore_case: Also label names with other capitals.

    Reference:
        Liang et al. (2020). BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision. KDD,
        section 2 (matching). In a run, a system with `tagger_labels` on top of this one is its self-training.

    Departures:
        - The paper looks up phrases that a part-of-speech tagger suggests; here any words may be a name.
    """

    files: dict[str, FileName] = field(default_factory=dict)
    ignore_case: bool = False
    _types: dict[str, dict[str, float]] = hidden(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(self.files, "files")
        for path in self.files.values():
            check_file(path)

    def check_types(self, types: Collection[str]) -> None:
        """Refuse lists of types that the labelled sentences lack; see `Annotator.check_types`."""
        if unknown := sorted({*self.files} - {*types}):
            raise SettingsError(
                f"files has a list of {unknown[0]}, a type that the labelled sentences do not have; "
                f"{did_you_mean(unknown[0], sorted(types))}"
            )

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Read the lists, and count how gold uses their names.

        Raises:
            DataError: If a list has no name, or a line is not a name.
            SettingsError: If there is neither a list nor a labelled entity.
        """
        names: dict[str, set[str]] = defaultdict(set)
        for type_, path in self.files.items():
            for name in read_names(path):
                names[self._key(name.split())].add(type_)
        for sentence in gold:
            for entity in sentence.entities:
                names[self._key(sentence.mention(entity))].add(entity.type)
        if not names:
            raise SettingsError(
                "gazetteer_labels has no names to look for. Give a list of names for each type "
                '(files = { PER = "persons.txt" }), or labelled sentences as gold'
            )
        self._types = self._likely(names, gold)

    def _likely(self, names: Mapping[str, set[str]], gold: Iterable[Sentence]) -> dict[str, dict[str, float]]:
        """The types of each name that are more than half of its uses in gold, with that share.

        Being on a list counts as one more use, so a name that gold lacks has a share of 1.
        """
        uses, right = Counter[str](), Counter[tuple[str, str]]()
        for sentence in gold:
            types = {(entity.start, entity.end): entity.type for entity in sentence.entities}
            for start, end, name in self._names_in(sentence, names):
                uses[name] += 1
                right[name, types.get((start, end), "")] += 1
        shares = {
            name: {type_: (right[name, type_] + 1) / (uses[name] + 1) for type_ in sorted(types)}
            for name, types in names.items()
        }
        return {name: {type_: share for type_, share in of.items() if share > 1 / 2} for name, of in shares.items()}

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        """The sentences with the names as entities; an error before `fit`."""
        if not self._types:
            raise unfitted(self, "annotate")
        return [self._labelled(sentence) for sentence in sentences]

    def _labelled(self, sentence: Sentence) -> Sentence | Reject:
        entities = []
        for start, end, name in self._names_in(sentence, self._types):
            if len(types := self._types[name]) > 1:
                return Reject(AMBIGUOUS)
            entities += [Entity(start, end, type_, share) for type_, share in types.items()]
        return sentence.with_entities(entities) if entities else Reject(NO_NAME)

    def _names_in(self, sentence: Sentence, names: Collection[str]) -> Iterator[tuple[int, int, str]]:
        """The names in a sentence, as words ``[start, end)``, from left to right and the longest first."""
        words = [self._key((word,)) for word in sentence.words]
        endings = [self._key((inflection(word, sentence.language),)) for word in sentence.words]
        free = 0
        for start in range(len(words)):
            if start >= free:
                texts = zip(accumulate(words[start : start + LONGEST]), endings[start:], strict=False)
                found = [
                    (n, name)
                    for n, (text, ending) in enumerate(texts, 1)
                    if (name := text.removesuffix(ending)) in names
                ]
                if found:
                    length, name = found[-1]
                    free = start + length
                    yield start, free, name

    def _key(self, words: Iterable[str]) -> str:
        """A text that two spellings of a name share."""
        return folded(unspaced(words)) if self.ignore_case else unspaced(words)
