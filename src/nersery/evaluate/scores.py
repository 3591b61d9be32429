"""Strict entity scores: a predicted entity is correct if its first word, last word and type are correct."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Corpus, Sentence
from nersery.core.text.text_forms import composed, is_invisible
from nersery.core.warnings import note
from nersery.evaluate.score_notes import note_of_scores
from nersery.io.reading import opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SAME_SENTENCES = (
    "give both with the same sentences. They are paired by id; CoNLL and text have no ids, so both files need "
    "all sentences in the same order. If some are missing, use JSONL, which keeps the ids of the original sentences"
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of correct, predicted and gold entities.

    Precision is 0.0 without predicted entities, recall without gold entities, and F1 if both are missing.

    >>> counts = Counts(correct=1, predicted=2, gold=4)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.5, 0.25, 0.333)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    @property
    def precision(self) -> float:
        """The share of predicted entities that are correct, in [0, 1]."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold entities that were found, in [0, 1]."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in [0, 1]."""
        return 2 * self.correct / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    def as_dict(self) -> dict[str, float]:
        """The figures and counts for JSON."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts per type, from which all figures are computed.

    Args:
        per_type: The counts of each type that occurs in gold or predicted sentences, sorted by name.

    >>> scores = Scores({"LOC": Counts(1, 1, 1), "PER": Counts(0, 1, 2)})
    >>> scores.micro, scores.macro_f1
    (Counts(correct=1, predicted=2, gold=3), 0.5)
    >>> (scores + scores).per_type["PER"]
    Counts(correct=0, predicted=2, gold=4)
    """

    per_type: Mapping[str, Counts] = field(default_factory=dict, hash=False)

    @property
    def micro(self) -> Counts:
        """The counts of all types together. Papers report its F1."""
        return sum(self.per_type.values(), Counts())

    @property
    def macro_f1(self) -> float:
        """The unweighted mean of F1 over the types; 0.0 without types."""
        return statistics.fmean(counts.f1 for counts in self.per_type.values()) if self.per_type else 0.0

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the figures in a notebook, not the counts."""
        printer.text(str(self))

    def __str__(self) -> str:
        """Micro figures in percent points, e.g. ``F1 61.5, precision 60.0, recall 63.1 (120 gold entities)``."""
        micro = self.micro
        figures = f"precision {100 * micro.precision:.1f}, recall {100 * micro.recall:.1f}"
        return f"F1 {100 * micro.f1:.1f}, {figures} ({plural(micro.gold, 'gold entity')})"

    def __add__(self, other: Scores) -> Scores:
        types = sorted({*self.per_type, *other.per_type})
        zero = Counts()
        return Scores({type_: self.per_type.get(type_, zero) + other.per_type.get(type_, zero) for type_ in types})

    def as_dict(self) -> dict[str, Any]:
        """The figures and counts for JSON."""
        return {
            "micro": self.micro.as_dict(),
            "macro_f1": self.macro_f1,
            "per_type": {type_: counts.as_dict() for type_, counts in self.per_type.items()},
        }


@dataclass
class PairCounter:
    """Counts the entities of pairs of sentences. Each pair takes 12 bytes.

    >>> from nersery.core.sentence import Entity
    >>> counter, gold = PairCounter(), Sentence(("Oslo",), (Entity(0, 1, "LOC"),))
    >>> counter.add(gold, gold)
    >>> counter.add(gold, gold.with_entities([]))
    >>> counter.scores.micro, counter.sentence_counts.tolist()
    (Counts(correct=1, predicted=1, gold=2), [[1, 1, 1], [0, 0, 1]])
    """

    _by_type: tuple[Counter[str], ...] = field(default_factory=lambda: (Counter(), Counter(), Counter()))
    _by_sentence: array[int] = field(default_factory=lambda: array("i"))

    def add(self, truth: Sentence, guess: Sentence) -> None:
        """Count a sentence with its gold and its predicted entities."""
        parts = ({*truth.labels} & {*guess.labels}, guess.labels, truth.labels)
        for counter, labels in zip(self._by_type, parts, strict=True):
            counter.update([type_ for _, _, type_ in labels])
            self._by_sentence.append(len(labels))

    @property
    def scores(self) -> Scores:
        """The scores of all sentences together."""
        types = sorted({*self._by_type[1], *self._by_type[2]})
        return Scores({type_: Counts(*(counter[type_] for counter in self._by_type)) for type_ in types})

    @property
    def sentence_counts(self) -> NDArray[np.int64]:
        """See the function `sentence_counts`."""
        import numpy as np

        return np.array(self._by_sentence, dtype=np.int64).reshape(-1, 3)


def score(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Scores:
    """Compare predicted entities with gold entities, sentence by sentence.

    Args:
        gold: Sentences with distinct ids.
        predicted: Sentences with the same ids and words, in any order.

    Raises:
        DataError: Naming every sentence that is missing, is not in gold, or has other words.

    >>> from nersery.core.sentence import Entity
    >>> words = ("Ada", "Lovelace", "wrote")
    >>> gold = Sentence(words, (Entity(0, 2, "PER"),), id="1")
    >>> score([gold], [gold.with_entities([Entity(0, 1, "PER")])]).micro.f1
    0.0
    """
    return _scored(gold, predicted).scores


def _scored(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> PairCounter:
    counter = PairCounter()
    for truth, guess in paired(gold, predicted):
        counter.add(truth, guess)
    return counter


def evaluate(gold: Iterable[Sentence] | str | Path, predicted: Iterable[Sentence] | str | Path) -> Scores:
    """Score predicted entities: strict precision, recall and F1.

    Args:
        gold: The gold sentences, or a file of them.
        predicted: The same sentences with predicted labels, in any order, or a file of them. If their ids differ from
            gold, as in plain text, sentences are paired by their order.

    Raises:
        DataError: Naming every sentence that is missing, is not in gold, or has other words.

    >>> import nersery
    >>> gold = [nersery.Sentence(("Oslo",), (nersery.Entity(0, 1, "LOC"),), id="1")]
    >>> nersery.evaluate(gold, gold).micro.f1
    1.0
    """
    truth = Corpus(opened(gold, "gold"))
    scores = score(truth, paired_by_order(truth, Corpus(opened(predicted, "predicted"))))
    note(note_of_scores(scores.as_dict()))
    return scores


def paired_by_order(first: Corpus, other: Corpus) -> Corpus:
    """The other sentences with the ids of the first corpus, if they can be paired by order but not by id.

    This requires equal numbers of sentences and different ids. If some ids are in both, all words must be the same in
    order, too.
    """
    if len(first) != len(other) or first.by_id.keys() == other.by_id.keys():
        return other
    same_words = all(left.words == right.words for left, right in zip(first, other, strict=True))
    if not same_words and first.by_id.keys() & other.by_id.keys():
        return other
    return Corpus(replace(right, id=left.id) for left, right in zip(first, other, strict=True))


def all_scores(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> dict[str, Any]:
    """The scores as JSON values, also by language if there are several. Sentences without a language have the name "".

    Raises:
        DataError: See `score`.
    """
    counters: dict[str, PairCounter] = {}
    for truth, guess in paired(gold, predicted):
        counters.setdefault(truth.language, PairCounter()).add(truth, guess)
    languages = {language: counters[language].scores for language in sorted(counters)}
    scores = sum(languages.values(), Scores()).as_dict()
    if len(languages) > 1:
        scores["per_language"] = {language: part.micro.as_dict() for language, part in languages.items()}
    return scores


def sentence_counts(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> NDArray[np.int64]:
    """The counts of each sentence, for resampling sentences.

    Returns:
        The numbers of correct, predicted and gold entities, in the order of ``gold``. Shape: (sentences, 3)

    Raises:
        DataError: See `score`.
    """
    return _scored(gold, predicted).sentence_counts


def paired(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], names: tuple[str, str] = ("gold", "predicted")
) -> Iterator[tuple[Sentence, Sentence]]:
    """Pair each gold sentence with the predicted sentence of the same id, after checking all of them.

    Args:
        names: The names of the two corpora in errors.

    Raises:
        DataError: Naming every sentence that one corpus lacks, has twice, or has with other words.
    """
    first, second = names
    gold, predicted = tuple(gold), tuple(predicted)
    issues = [*_repeated_ids(gold, first), *_repeated_ids(predicted, second)]
    guesses = {sentence.id: sentence for sentence in predicted}
    for truth in gold:
        guess = guesses.get(truth.id)
        if guess is None:
            issues.append(Issue(f"no {second} sentence has this id", sentence=truth.id))
        elif guess.words != truth.words:
            issues.append(Issue(_first_difference(truth.words, guess.words, names), sentence=truth.id))
    if gold and len(issues) >= len(gold) and not guesses.keys() & {truth.id for truth in gold}:
        message = f"no id is in both the {len(gold)} {first} and the {len(predicted)} {second} ids"
        in_order = zip(gold, predicted, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0].words == pair[1].words, in_order))
        hint = f"; in file order, the words match up to sentence {same}" if same else ""
        raise DataError(Issue(message + hint), fix=SAME_SENTENCES)
    known = {sentence.id for sentence in gold}
    issues += [Issue(f"{second}, but not in {first}", sentence=id_) for id_ in guesses if id_ not in known]
    if issues:
        fix = "give the same sentences with two labellings: with the same ids, or without ids in the same order"
        raise DataError(issues, fix=fix)
    return ((truth, guesses[truth.id]) for truth in gold)


def _repeated_ids(sentences: Sequence[Sentence], name: str) -> Iterator[Issue]:
    ids = Counter(sentence.id for sentence in sentences)
    if len(ids) < len(sentences):
        yield from (Issue(f"{n} {name} sentences share the id {id_!r}") for id_, n in ids.items() if n > 1)


def _visible_text(word: str) -> str:
    """A word as a reader sees it: in NFKC (without ligatures, for example), without invisible characters."""
    return "".join(character for character in normalize("NFKC", word) if not is_invisible(character))


def _first_difference(gold: Sequence[str], predicted: Sequence[str], names: tuple[str, str]) -> str:
    first, second = names
    for position, (truth, guess) in enumerate(zip(gold, predicted, strict=False)):
        if truth != guess:
            word = f"other words: word {position} is"
            if composed(truth) == composed(guess):
                alike = "the same letters in another Unicode form: read both files with --repair nfc"
            elif _visible_text(truth) == _visible_text(guess):
                alike = "which look alike: convert both files to NFKC, without invisible characters"
            else:
                return f"{word} {guess!r} in {second}, {truth!r} in {first}"
            return f"{word} {guess!a} in {second}, {truth!a} in {first}, {alike}"
    return f"other words: {len(predicted)} in {second}, {len(gold)} in {first}"
