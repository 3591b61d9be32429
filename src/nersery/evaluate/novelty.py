"""The number of new entities in generated sentences, and the number of these that an oracle tagger confirms."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from nersery.core.batched import batched
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import composed
from nersery.io.temporary_tables.ids import naming_the_temporary_folder, temporary_table
from nersery.pipeline.job import BATCH_SIZE
from nersery.taggers.base import Tagger, load_tagger

LabelledMention = tuple[tuple[str, ...], str]
"""The words of an entity and its type."""


@dataclass(frozen=True, slots=True)
class MentionCounts:
    """Numbers of distinct mentions.

    Args:
        distinct: Mentions that are distinct by words and type.
        new: Mentions that do not occur in gold with this type.
        valid: New mentions that the oracle finds, with boundaries and type, in a sentence; None without an oracle.
    """

    distinct: int = 0
    new: int = 0
    valid: int | None = None

    def __add__(self, other: MentionCounts) -> MentionCounts:
        valid = None if self.valid is None or other.valid is None else self.valid + other.valid
        return MentionCounts(self.distinct + other.distinct, self.new + other.new, valid)


@dataclass(frozen=True, slots=True)
class Novelty:
    """Counts of mentions by type, sorted by the name of the type.

    Args:
        judged: Whether there was an oracle.
    """

    per_type: Mapping[str, MentionCounts]
    judged: bool

    @property
    def total(self) -> MentionCounts:
        """All types together."""
        return sum(self.per_type.values(), MentionCounts(valid=0 if self.judged else None))

    def as_dict(self) -> dict[str, Any]:
        """The counts for JSON."""
        per_type = {type_: asdict(counts) for type_, counts in self.per_type.items()}
        return {"total": asdict(self.total), "per_type": per_type}


def novelty(
    generated: Iterable[Sentence],
    gold: Iterable[Sentence],
    oracle: Tagger | None = None,
    progress: Progress | None = None,
) -> Novelty:
    """Count the mentions of generated sentences: the distinct ones, the new ones of these, and the valid ones of those.

    Args:
        generated: Read once. They may include gold sentences, which contain nothing new.
        oracle: A tagger that labels the sentences with new mentions.

    Reference:
        Zhou et al. (2022). MELM: Data Augmentation with Masked Entity Language Modeling for Low-Resource NER. ACL,
        section 4.2, "number of unique valid entities".

    >>> from nersery.core.sentence import Entity
    >>> gold = [Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),))]
    >>> new = [Sentence(("Grace", "wrote"), (Entity(0, 1, "PER"),)), *gold]
    >>> novelty(new, gold).total
    MentionCounts(distinct=2, new=1, valid=None)
    """
    table = _MentionTable()
    for sentence in gold:
        table.mark("is_known", _mentions(sentence))
    for batch in batched(generated, BATCH_SIZE):
        table.mark("is_generated", (mention for sentence in batch for mention in _mentions(sentence)))
        if oracle is not None:
            table.mark("is_valid", _mentions_found_by(batch, table, oracle))
        if progress is not None:
            progress.advance(len(batch))
    counts = {
        type_: MentionCounts(distinct, new, None if oracle is None else valid)
        for type_, distinct, new, valid in table.counts()
    }
    return Novelty(counts, oracle is not None)


def load_oracle(name: str, types: Collection[str]) -> tuple[Tagger, list[str]]:
    """Load an oracle: an accurate tagger that judges mentions of the given types.

    Args:
        name: The folder of a tagger, or a Hugging Face token-classification model.

    Returns:
        The tagger, and the given types that it cannot predict.

    Raises:
        MissingResourceError: If there is no such tagger.
        SettingsError: If the tagger cannot predict any of the given types.
    """
    oracle = load_tagger(name)
    unknown = sorted(set(types) - set(oracle.types))
    if unknown and len(unknown) == len(set(types)):
        raise SettingsError(
            f"the oracle {name} predicts {', '.join(oracle.types) or 'no type'}, but not the types to judge: "
            f"{', '.join(unknown)}. Name a tagger that was trained on them"
        )
    return oracle, unknown


class _MentionTable:
    """A table on disk with the marks of each distinct mention (known, generated, valid), by its hash."""

    def __init__(self) -> None:
        with naming_the_temporary_folder():
            marks = "is_known integer default 0, is_generated integer default 0, is_valid integer default 0"
            self._table = temporary_table(f"mentions (hash blob primary key, type text, {marks}) without rowid")

    def mark(self, column: str, mentions: Iterable[LabelledMention]) -> None:
        """Mark mentions as known, generated or valid."""
        command = f"insert into mentions (hash, type, {column}) values (?, ?, 1) on conflict do update set {column} = 1"
        with naming_the_temporary_folder():
            self._table.executemany(command, ((_hash(mention), mention[1]) for mention in mentions))

    def is_settled(self, mention: LabelledMention) -> bool:
        """Whether a mention is known or valid, so that the oracle need not judge it."""
        with naming_the_temporary_folder():
            query = "select is_known or is_valid from mentions where hash = ?"
            row = self._table.execute(query, (_hash(mention),)).fetchone()
        return bool(row and row[0])

    def counts(self) -> list[tuple[str, int, int, int]]:
        """Each generated type with its numbers of distinct generated mentions, new mentions and valid new mentions."""
        new = "sum(is_generated and not is_known), sum(is_generated and is_valid and not is_known)"
        query = f"select type, sum(is_generated), {new} from mentions group by type having sum(is_generated)"
        with naming_the_temporary_folder():
            return sorted(self._table.execute(query))


def _hash(mention: LabelledMention) -> bytes:
    words, type_ = mention
    return blake2b(composed("\n".join((*words, type_))).encode(), digest_size=16).digest()


def _mentions_found_by(batch: list[Sentence], table: _MentionTable, oracle: Tagger) -> set[LabelledMention]:
    """The mentions of a batch that the oracle finds. Sentences without undecided mentions are skipped."""
    valid = set[LabelledMention]()
    undecided = [sentence for sentence in batch if not all(map(table.is_settled, _mentions(sentence)))]
    for sentence, guess in zip(undecided, oracle.predict(undecided) if undecided else [], strict=True):
        confirmed = {*sentence.entities} & {*guess.entities}
        valid.update((sentence.mention(entity), entity.type) for entity in confirmed)
    return valid


def _mentions(sentence: Sentence) -> list[LabelledMention]:
    return [(sentence.mention(entity), entity.type) for entity in sentence.entities]
