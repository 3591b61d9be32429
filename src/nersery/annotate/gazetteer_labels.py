"""Distant supervision: labels from lists of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain

from nersery.annotate.base import Annotator
from nersery.core.counting import plural
from nersery.core.errors import SettingsError, did_you_mean, shown
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Entity, Sentence, types_in
from nersery.core.settings.typed_settings import FileName, hidden
from nersery.core.text.definitions import check_types
from nersery.core.text.inflection import inflection
from nersery.core.text.text_forms import composed, folded
from nersery.core.text.word_lists import check_file, read_names
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.io.word_splitting.scripts_without_spaces import is_mark, stands_alone

AMBIGUOUS, NO_NAME = "a name with several types", "no name"
PLAIN = str.maketrans({**dict.fromkeys("’‘ʼ´׳", "'"), **dict.fromkeys("“”„״", '"'), **dict.fromkeys("‐‑‒–−־", "-")})
"""Typographic apostrophes, quotation marks and hyphens, each with the character that is typed in its place."""

CLEARLY_MORE = 1.1
"""Capitals are ignored if the lists then find more than this many times as many mentions of gold."""


@dataclass
class GazetteerLabels(Annotator):
    """Labels the names on your lists (gazetteers) and the mentions of gold in raw text.

    Of overlapping names, the longest is labelled. Spaces beside punctuation or digits and typographic apostrophes or
    hyphens do not matter. A name is ignored if gold mostly uses it as something else. Sentences without a name, or with
    one of several types, are rejected: they may have entities that no list has.

    Args:
        files: A file for each type with one name per line, e.g. `{ DRUG = "drugs.txt" }`.
        ignore_case: Ignore capitals; by default, if that finds clearly more mentions of gold.

    Reference:
        Liang et al. (2020). BOND: BERT-Assisted Open-Domain Named Entity Recognition with Distant Supervision. KDD,
        section 2 (matching). In a run, a system with `tagger_labels` on top of this one is its self-training.

    Departures:
        - The paper looks up phrases that a part-of-speech tagger suggests; here any words may be a name.
    """

    files: dict[str, FileName] = field(default_factory=dict)
    ignore_case: bool | None = None
    _ignores_case: bool = hidden(default=False)
    _types: dict[str, dict[str, float]] = hidden(default_factory=dict)
    _max_length: int = hidden(default=0)
    _is_first_batch_checked: bool = hidden(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(self.files, "files")
        for type_, path in self.files.items():
            if not path:
                raise SettingsError(f"files names no file for {type_}. Name one, or leave {type_} out")
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
        self._ignores_case = self._should_ignore_case(gold) if self.ignore_case is None else self.ignore_case
        mentions = ((self._mention(sentence, entity), entity.type) for sentence in gold for entity in sentence.entities)
        names = _types_of(chain(self._listed_names(), mentions))
        if not names:
            raise SettingsError(
                "gazetteer_labels has no names to look for. Give a list of names for each type "
                '(files = { PER = "persons.txt" }), or labelled sentences as gold'
            )
        types, listed = {*types_in(gold)}, {*self.files}
        if listed and (unlisted := sorted(types - listed)):
            for unknown in sorted(listed - types):  # perhaps a typo
                warn(f"files has a list of {unknown}, which gold does not have; {did_you_mean(unknown, unlisted)}")
            warn(
                f"gazetteer_labels has no list of {', '.join(unlisted)}. It labels only the mentions of gold, so a "
                "tagger learns that all others are no entities. Add lists (files), or use another method"
            )
        self._max_length = max(map(len, names))
        self._types = self._likely_types(names, gold)

    def _listed_names(self) -> Iterator[tuple[str, str]]:
        """The names on the lists, each with its type."""
        return ((self._key(name.split()), type_) for type_, path in self.files.items() for name in read_names(path))

    def _should_ignore_case(self, gold: Sequence[Sentence]) -> bool:
        """Whether gold has clearly more mentions that are on the lists if capitals do not matter."""
        if not (self.files and gold):
            return False
        case, no_case = (GazetteerLabels(self.files, ignored)._count_found(gold) for ignored in (False, True))
        if is_clear := no_case > CLEARLY_MORE * case + 1:
            warn(f"capitals are ignored: {no_case} mentions of gold are then on the lists, and {case} with capitals")
        return is_clear

    def _count_found(self, gold: Sequence[Sentence]) -> int:
        """The number of mentions of gold that are on the lists, less other uses of the same names."""
        self._ignores_case = bool(self.ignore_case)
        names = _types_of(self._listed_names())
        self._max_length = max(map(len, names))
        uses, correct = self._uses(names, gold)
        most_correct = {name: max(correct[name, type_] for type_ in names[name]) for name in uses}
        return sum(max(0, count - (uses[name] - count)) for name, count in most_correct.items())

    def _uses(self, names: Collection[str], gold: Iterable[Sentence]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
        """How often gold has each name, and how often with each type."""
        uses, by_type = Counter[str](), Counter[tuple[str, str]]()
        for sentence in gold:
            types = {(entity.start, entity.end): entity.type for entity in sentence.entities}
            for start, end, name in self._names_in(sentence, names):
                uses[name] += 1
                by_type[name, types.get((start, end), "")] += 1
        return uses, by_type

    def _likely_types(
        self, names: Mapping[str, tuple[str, ...]], gold: Iterable[Sentence]
    ) -> dict[str, dict[str, float]]:
        """The types of each name that are more than half of its uses in gold, with that share.

        Being on a list counts as one more use, so a name that gold lacks has a share of 1.
        """
        uses, by_type = self._uses(names, gold)
        unused = {types: dict.fromkeys(types, 1.0) for types in {*names.values()}}  # shared by millions of names
        shares = {name: unused[types] for name, types in names.items()}
        for name in uses:
            share_of = {type_: (by_type[name, type_] + 1) / (uses[name] + 1) for type_ in names[name]}
            shares[name] = {type_: share for type_, share in share_of.items() if share > 1 / 2}
        return shares

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        if not self._types:
            raise unfitted(self, "annotate")
        outcomes = [self._labelled(sentence) for sentence in sentences]
        if not self._is_first_batch_checked and len(sentences) > 1:
            self._is_first_batch_checked = True
            if all(outcome == Reject(NO_NAME) for outcome in outcomes):
                name, text = next(iter(self._types)), sentences[0].text
                warn(
                    f"no name is in the first {len(sentences)} sentences, such as {shown(text)}. Known: "
                    f"{plural(len(self._types), 'name')}, such as {shown(name)}. List names as they are in the text"
                )
        return outcomes

    def _labelled(self, sentence: Sentence) -> Sentence | Reject:
        entities = []
        for start, end, name in self._names_in(sentence, self._types):
            if len(types := self._types[name]) > 1:
                return Reject(AMBIGUOUS)
            entities += [Entity(start, end, type_, share) for type_, share in types.items()]
        return sentence.with_entities(entities) if entities else Reject(NO_NAME)

    def _names_in(self, sentence: Sentence, names: Collection[str]) -> Iterator[tuple[int, int, str]]:
        """The names in a sentence, as words ``[start, end)``, from left to right and the longest first."""
        words = [self._normalized(word) for word in _with_spaces(sentence.words)]
        endings = [self._normalized(inflection(word, sentence.language)) for word in sentence.words]
        end_of_last = 0
        for start in range(len(words)):
            if start >= end_of_last and (found := self._longest_name(words[start:], endings[start:], names)):
                length, name = found
                end_of_last = start + length
                yield start, end_of_last, name

    def _longest_name(
        self, words: Sequence[str], endings: Sequence[str], names: Collection[str]
    ) -> tuple[int, str] | None:
        """The number of words of the longest name that words begin with, and the name; None if there is none."""
        longest = None
        texts = accumulate([words[0].lstrip(), *words[1:]])
        for length, (text, ending) in enumerate(zip(texts, endings, strict=True), start=1):
            if len(text) - len(ending) > self._max_length:
                break
            name = text if text in names else text.removesuffix(ending)
            if name in names:
                longest = length, name
        return longest

    def _mention(self, sentence: Sentence, entity: Entity) -> str:
        """The key of a mention of gold without its ending, so that it is found with other endings, too."""
        words = sentence.mention(entity)
        return self._key(words).removesuffix(self._normalized(inflection(words[-1], sentence.language)))

    def _key(self, words: Iterable[str]) -> str:
        """A text that two spellings of a name share."""
        return self._normalized("".join(_with_spaces([*words])))

    def _normalized(self, text: str) -> str:
        plain = text if text.isascii() else text.translate(PLAIN)
        return folded(plain) if self._ignores_case else composed(plain)


def _types_of(names: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The types of each name, in order."""
    types: dict[str, tuple[str, ...]] = {}
    one_type: dict[str, tuple[str, ...]] = {}  # millions of names share these
    for name, type_ in names:
        earlier = types.setdefault(name, one_type.setdefault(type_, (type_,)))
        if type_ not in earlier:
            types[name] = (*earlier, type_)
    return types


def _with_spaces(words: Sequence[str]) -> Iterator[str]:
    """The words, each with a space before it if it would run into the word before it, as *in a* into *Ina*.

    Other spaces depend on who splits the text, e.g. *IL-2* and *IL - 2*.
    """
    for before, word in zip(("", *words), words, strict=False):
        runs_into = before and word[0].isalpha() and (before[-1].isalpha() or is_mark(before[-1]))
        yield f" {word}" if runs_into and not (stands_alone(before[-1]) or stands_alone(word[0])) else word
