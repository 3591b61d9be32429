"""The core classes `Entity`, `Sentence` and `Corpus`. An invalid sentence or corpus cannot be built."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Any, overload

from nersery.core.conversions import Conversions, conversion_hint
from nersery.core.edits import Edit, checked_edits, checked_order, moved, spaces_after, spliced
from nersery.core.entity import Entity, Origin, SoftLabel
from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.notebook_view import SHOWN, corpus_html, sentence_html
from nersery.core.sentence_validation import NORMALIZERS, edit_issue, identity_issue, issue_in
from nersery.core.text.spacing import Offsets, offsets_in_text, offsets_of, spaces_in

__all__ = ["UNKNOWN_COLUMN", "Corpus", "Edit", "Entity", "Origin", "Sentence", "SoftLabel", "checked_sentences"]

UNKNOWN_COLUMN = "_"
"""The value of an extra column for a word that was added later."""

NO_SPACING: Mapping[tuple[str, ...], Sequence[bool]] = MappingProxyType({})
"""No words whose spacing is known."""
SHOWN_IDS = 3
"""The number of repeated ids that an error names."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words, and the entities that they form.

    Args:
        words: At least one. Words are not empty and have no tabs, line breaks or outer spaces.
        entities: Entities without nesting or overlap, sorted by start.
        id: Unique in a corpus; empty until a corpus or job assigns one.
        language: A BCP 47 tag such as ``en``; empty if unknown.
        origin: None for sentences that were not generated.
        scores: Scores of selectors; higher is better.
        columns: Extra columns of the source file, ``len(words)`` values each, without tabs and line breaks.
        comments: Comment lines before the sentence in its file.
        soft_labels: Sorted probabilities for words with uncertain labels of a tagger; see
            `nersery.taggers.base.Tagger.predict_soft`. They are dropped if entities or words are replaced.
        document: Id of the text that the words come from, if known.
        offsets: Characters ``[start, end)`` of each word in that text, if known; after edits, in the new text.

    Raises:
        DataError: If the parts do not fit together, or a text cannot be stored.

    >>> sentence = Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),))
    >>> sentence.replace_span(0, 2, ["Grace"]).entities
    (Entity(start=0, end=1, type='PER', score=None),)
    """

    words: tuple[str, ...]
    entities: tuple[Entity, ...] = ()
    id: str = ""
    language: str = ""
    origin: Origin | None = None
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    columns: tuple[tuple[str, ...], ...] = ()
    comments: tuple[str, ...] = ()
    soft_labels: tuple[SoftLabel, ...] = ()
    document: str = ""
    offsets: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if (message := issue_in(self)) is None:
            return
        for name, normalize in NORMALIZERS.items():  # convert lists and NumPy numbers only now, because they are rare
            with contextlib.suppress(AttributeError, TypeError, ValueError):
                object.__setattr__(self, name, normalize(getattr(self, name)))
        if (message := issue_in(self)) is not None:
            raise DataError(Issue(message, sentence=str(self.id)))

    @classmethod
    def unchecked(
        cls,
        words: tuple[str, ...],
        entities: tuple[Entity, ...],
        id: str,
        *,
        language: str,
        origin: Origin | None,
        scores: Mapping[str, float],
        columns: tuple[tuple[str, ...], ...],
        comments: tuple[str, ...] = (),
        soft_labels: tuple[SoftLabel, ...] = (),
        document: str = "",
        offsets: tuple[tuple[int, int], ...] = (),
    ) -> Sentence:
        """Build a sentence from parts that were already checked: checks take most of the time."""
        # Building a frozen class takes five times as long, which would be a tenth of the time of a rule-based method.
        values = words, entities, id, language, origin, scores, columns, comments, soft_labels, document, offsets
        sentence: Sentence = _Unfrozen(*values)
        sentence.__class__ = cls
        return sentence

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def _repr_html_(self) -> str:
        """The words with their entities highlighted, for notebooks."""
        return sentence_html(self.words, self.entities, self.id, self.language)

    @property
    def text(self) -> str:
        """The words joined by single spaces, for people to read."""
        return " ".join(self.words)

    @property
    def labels(self) -> tuple[tuple[int, int, str], ...]:
        """The entities as plain ``(start, end, type)``, for comparing two readings of the same words."""
        return tuple((entity.start, entity.end, entity.type) for entity in self.entities)

    @property
    def character_offsets(self) -> tuple[tuple[int, int], ...]:
        """The characters ``[start, end)`` of each word: in the document if known, else in `text`."""
        if self.offsets and (self.document or not (self.origin and self.origin.copy)):  # generated text is in no file
            return self.offsets
        ends = list(accumulate(len(word) + 1 for word in self.words))
        return tuple((end - 1 - len(word), end - 1) for word, end in zip(self.words, ends, strict=True))

    @property
    def character_spans(self) -> tuple[tuple[int, int, str], ...]:
        """The entities as ``(start, end, type)`` in characters of the document if known, else of `text`.

        >>> Sentence(("in", "Oslo"), (Entity(1, 2, "LOC"),), offsets=((7, 9), (10, 14))).character_spans
        ((10, 14, 'LOC'),)
        """
        offsets = self.character_offsets
        return tuple((offsets[start][0], offsets[end - 1][1], type_) for start, end, type_ in self.labels)

    @property
    def inside(self) -> frozenset[int]:
        """The positions of the words in entities."""
        return frozenset(position for entity in self.entities for position in entity.positions)

    @property
    def outside(self) -> list[int]:
        """The positions of the words in no entity, in order."""
        inside = self.inside
        return [position for position in range(len(self)) if position not in inside]

    def mention(self, entity: Entity) -> tuple[str, ...]:
        """The words of an entity."""
        if not isinstance(entity, Entity):
            raise SettingsError(f"the entity is {shown(entity)}, expected an Entity")
        return self.words[entity.start : entity.end]

    def with_entities(self, entities: Iterable[Entity]) -> Sentence:
        """The sentence with other entities."""
        parts: Any = tuple(entities) if isinstance(entities, Iterable) else entities
        return replace(self, entities=parts, soft_labels=())

    def with_types(self, names: Mapping[str, str]) -> Sentence:
        """Rename types; an empty name drops the entities of the type.

        >>> Sentence(("Ada", "saw", "it"), (Entity(0, 1, "PER"), Entity(2, 3, "MISC"))).with_types({"MISC": ""}).labels
        ((0, 1, 'PER'),)
        """
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
            raise SettingsError(f'the names of types are {shown(names)}, expected new names by old, {{"OLD": "NEW"}}')
        renamed = [replace(entity, type=names.get(entity.type, entity.type)) for entity in self.entities]
        soft = [replace(label, type=names.get(label.type, label.type)) for label in self.soft_labels]
        kept = tuple(sorted(label for label in soft if label.type))
        return replace(self, entities=tuple(entity for entity in renamed if entity.type), soft_labels=kept)

    def generated(self, id: str, origin: Origin, parent: Sentence | None = None) -> Sentence:
        """A new sentence with the content of this one: with its entities, without scores, comments and soft labels.

        Only id and origin are checked; the content was checked when this sentence was built.

        Args:
            parent: If it has offsets, so has the new sentence. Unknown spacing is like that of the parent.

        Raises:
            DataError: If a text cannot be stored.
        """
        if (message := identity_issue(id, origin)) is not None:
            raise DataError(Issue(message, sentence=str(id)))
        entities = self.entities
        for entity in entities:
            if entity.score is not None:
                entities = tuple([Entity(entity.start, entity.end, entity.type) for entity in entities])
                break
        offsets: Offsets = ()
        if parent is not None and parent.offsets:
            offsets = offsets_in_text(self.words, self.offsets, parent.words, parent.offsets)
        return Sentence.unchecked(
            self.words,
            entities,
            id,
            language=self.language,
            origin=origin,
            scores={},
            columns=self.columns,
            offsets=offsets,
        )

    def with_scores(self, **scores: float) -> Sentence:
        """The sentence with more scores; they replace scores of the same name."""
        return replace(self, scores={**self.scores, **scores})

    def replace_span(self, start: int, end: int, words: Sequence[str]) -> Sentence:
        """Put other words in place of ``[start, end)``; see `replace_spans`."""
        return self.replace_spans([(start, end, words)])

    def replace_spans(
        self, edits: Iterable[Edit], spaces: Mapping[tuple[str, ...], Sequence[bool]] = NO_SPACING
    ) -> Sentence:
        """Replace several spans at once; entities move with their words.

        An entity that contains an edited span grows or shrinks with it. An empty span ``[start, start)`` inserts words;
        they belong to an entity only if the position is strictly inside it. New words have ``_`` in extra columns.
        Offsets become those in the new text: words keep the spacing of this sentence, also new words of the same kind.

        Args:
            edits: ``(start, end, words)``, in positions of *this* sentence, without overlap.
            spaces: Whether a space follows each word but the last of some of the new words, for sentences with offsets.

        Raises:
            DataError: If a span is outside, overlaps another, crosses the border of an entity, or empties an entity.
        """
        edits = checked_edits(edits, len(self.words), self.id)
        if not edits:
            return self
        unknown = [(start, end, [UNKNOWN_COLUMN] * len(new)) for start, end, new in edits] if self.columns else []
        words, columns = spliced(self.words, edits), tuple([spliced(column, unknown) for column in self.columns])
        edited = self._with_words(words, tuple([moved(entity, edits, self.id) for entity in self.entities]), columns)
        if edit_issue(edited.words, edited.entities) is not None:  # the other parts were checked with this sentence
            edited.__post_init__()
        if self.offsets:
            spacing = spaces_after(self.words, spaces_in(self.offsets), edits, edited.words, spaces)
            object.__setattr__(edited, "offsets", offsets_of(edited.words, spacing))
        return edited

    def reordered(self, order: Sequence[int]) -> Sentence:
        """The words, with their extra columns, in another order; entities stay at their positions.

        Soft labels, document and offsets are dropped, because they describe the old order.

        Args:
            order: The position in this sentence of the new first word, second word and so on; each position once.

        Raises:
            DataError: If a position is missing or occurs twice.
        """
        order = checked_order(order, len(self.words), self.id)
        words = tuple([self.words[position] for position in order])
        columns = tuple([tuple([column[position] for position in order]) for column in self.columns])
        return self._with_words(words, self.entities, columns)  # all parts were checked with this sentence

    def _with_words(
        self, words: tuple[str, ...], entities: tuple[Entity, ...], columns: tuple[tuple[str, ...], ...]
    ) -> Sentence:
        """The sentence with other words, unchecked, and without soft labels, document and offsets of the old words."""
        return Sentence.unchecked(
            words,
            entities,
            self.id,
            language=self.language,
            origin=self.origin,
            scores=self.scores,
            columns=columns,
            comments=self.comments,
        )


_Unfrozen = make_dataclass("_Unfrozen", [field.name for field in fields(Sentence)], repr=False, eq=False, slots=True)
"""A `Sentence` during `Sentence.unchecked`."""


def types_in(sentences: Iterable[Sentence]) -> set[str]:
    """The types of all entities."""
    return {entity.type for sentence in sentences for entity in sentence.entities}


def checked_sentences(rows: Iterable[Any], name: str = "the corpus") -> Iterator[Sentence]:
    """Yield the sentences that a user of the library gave, and check that they are sentences.

    Args:
        name: Name of the sentences in messages.

    Raises:
        SettingsError: If an item is not a sentence, or the rows cannot be iterated.
    """
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise SettingsError(f"{name} is {shown(rows)}, expected sentences, such as a list or a Corpus")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Sentence):
            advice = conversion_hint(rows, row)
            raise SettingsError(f"item {number} of {name} is {shown(row)}, expected a Sentence{advice}")
        yield row


def _repeated_ids(counts: Mapping[str, int]) -> list[Issue]:
    """An issue for each id that occurs more than once; for many ids, a single issue."""
    repeated = [(id_, n) for id_, n in counts.items() if n > 1]
    if len(repeated) <= SHOWN_IDS:
        return [Issue(f"{n} sentences share the id {id_!r}") for id_, n in repeated]
    shown = ", ".join(repr(id_) for id_, _ in repeated[:SHOWN_IDS])
    return [Issue(f"sentences share {len(repeated):,} ids: {shown} and {len(repeated) - SHOWN_IDS:,} more")]


class Corpus(Conversions, Sequence[Sentence]):
    """Sentences in order, with unique ids. A sentence without an id gets its number.

    Raises:
        DataError: If two sentences have the same id.

    >>> corpus = Corpus([Sentence(("Oslo",), (Entity(0, 1, "LOC"),))])
    >>> corpus.types, corpus[0].id
    (('LOC',), '1')
    """

    def __init__(self, sentences: Iterable[Sentence] = ()) -> None:
        self.sentences: tuple[Sentence, ...] = tuple(
            sentence if sentence.id else replace(sentence, id=str(number))
            for number, sentence in enumerate(checked_sentences(sentences), start=1)
        )
        self._by_id = {sentence.id: sentence for sentence in self.sentences}
        if len(self._by_id) < len(self.sentences):
            raise DataError(
                _repeated_ids(Counter(sentence.id for sentence in self.sentences)),
                fix="leave out sentences that are in the corpus already, and give every other sentence its own id; for "
                'those of a second corpus, use Corpus(dataclasses.replace(s, id=f"b:{s.id}") for s in second)',
            )

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Corpus: ...
    def __getitem__(self, index: int | slice) -> Sentence | Corpus:
        """The sentence at a position, or the corpus of a slice."""
        try:
            found = self.sentences[index]
        except TypeError:  # also of a NumPy mask, whose `__index__` raises it
            message = f"the position is {shown(index)}, expected a whole number or a slice"
            raise SettingsError(f"{message}; corpus.by_id finds sentences by id") from None
        return found if isinstance(found, Sentence) else Corpus(found)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)

    def __contains__(self, item: object) -> bool:
        """Whether the sentence is in the corpus."""
        return isinstance(item, Sentence) and self._by_id.get(item.id) == item

    def __iter__(self) -> Iterator[Sentence]:
        """The sentences in order."""
        return iter(self.sentences)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same sentences in the same order."""
        return isinstance(other, Corpus) and self.sentences == other.sentences

    def __hash__(self) -> int:
        """The hash of the sentences: equal corpora have equal hashes."""
        return hash(self.sentences)

    def __repr__(self) -> str:
        """A short description without the sentences, which may be many."""
        return f"Corpus({len(self)} sentences, types: {', '.join(self.types) or 'none'})"

    def _repr_html_(self, description: str = "") -> str:
        """The first sentences with their entities highlighted, for notebooks."""
        rows = [sentence._repr_html_() for sentence in self.sentences[:SHOWN]]
        return corpus_html(description or repr(self), rows, len(self) - len(rows))

    def __add__(self, other: Iterable[Sentence]) -> Corpus:
        """Both corpora, one after the other; ``other`` may also be a result or a list. The ids must be distinct."""
        return Corpus([*self.sentences, *checked_sentences(other, "what is added")])

    @property
    def by_id(self) -> Mapping[str, Sentence]:
        """The sentences by their ids."""
        return MappingProxyType(self._by_id)

    @property
    def types(self) -> tuple[str, ...]:
        """The entity types that occur, sorted."""
        return tuple(sorted(types_in(self.sentences)))
