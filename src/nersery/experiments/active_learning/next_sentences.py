"""The sentences of raw text that are worth labelling next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nersery.core.errors import DataError, MissingResourceError, SettingsError, shown
from nersery.core.progress import Progress
from nersery.core.random import checked_seed, is_whole, item_seed
from nersery.core.registry import name_of
from nersery.core.sentence import Corpus, Entity, Sentence
from nersery.core.text.text_forms import unspaced
from nersery.core.warnings import warn
from nersery.experiments.active_learning.expected_errors import expected_errors
from nersery.experiments.active_learning.farthest_first import farthest_first
from nersery.io.reading import Sentences, opened, opened_together
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.taggers.base import Tagger, load_tagger
from nersery.taggers.tagger_folder.description import attached_share_for

if TYPE_CHECKING:
    from nersery.models.embeddings.text_encoder import TextEncoder

MAX_READ = 10_000
"""Maximum number of raw sentences that are predicted. If there are more, this number is drawn."""
CANDIDATES = 20
"""Number of sentences with the highest worth that are compared, per sentence to choose."""
BATCH = 256
SCORE = "expected_errors"


@dataclass(frozen=True)
class NextSentences:
    """The sentences to label next, and what they were chosen from.

    Args:
        corpus: The most valuable sentence first, with predicted entities and the score ``expected_errors``.
        read: Sentences that were read.
        known: How many of these repeat another one or are labelled already.
        predicted: How many were predicted and compared.
        types: The types that the taggers can predict.
    """

    corpus: Corpus
    read: int
    known: int
    predicted: int
    types: tuple[str, ...]

    @property
    def not_drawn(self) -> int:
        """Sentences that were neither known nor drawn."""
        return self.read - self.known - self.predicted

    def __str__(self) -> str:
        drawn = f", {self.not_drawn:,} not drawn" if self.not_drawn else ""
        return (
            f"{len(self.corpus)} of {self.read:,} sentences: {self.predicted:,} predicted, {self.known:,} repeated or "
            f"labelled already{drawn}"
        )


@torch_defaults()
def next_sentences(
    raw: Sentences,
    taggers: str | Path | Tagger | Sequence[str | Path | Tagger],
    count: int = 50,
    *,
    labelled: Sentences | Sequence[str | Path] | None = (),
    max_sentences: int = MAX_READ,
    seed: int = 0,
    quiet: bool = False,
) -> NextSentences:
    """Choose the sentences whose labels would teach a tagger most.

    They are uncertain (see `expected_errors`) and unlike each other and the labelled ones (see `farthest_first`).

    Args:
        raw: Sentences, or a file of them; their labels are ignored.
        taggers: The folder of a tagger, what `nersery.train` returned, or several. Sentences on which these disagree
            are worth more.
        count: Sentences to choose.
        labelled: Sentences that are labelled already, or the names of their files.
        max_sentences: If there are more raw sentences, this number is drawn at random, which also limits memory.
        seed: Seed of the draw.
        quiet: Show no progress.

    Raises:
        DataError: If no sentence is left to choose from.
        SettingsError: If a number is below 1, or there is no tagger.
    """
    for name, number in (("count", count), ("max_sentences", max_sentences)):
        if not is_whole(number):
            raise SettingsError(f"{name} is {shown(number)}, expected a whole number")
    seed = checked_seed(seed)
    if count < 1 or max_sentences < count:
        raise SettingsError(
            f"count is {count} and max_sentences is {max_sentences}, expected a count of 1 or more, and max_sentences "
            "at least as large"
        )
    tagger_list = _listed(taggers)
    known_sentences = [*opened_together(labelled, "labelled")]
    known_words = [sentence.words for sentence in known_sentences]
    raw = opened(raw, "raw", raw=True, attached_share=attached_share_for(known_sentences, tagger_list[0]))
    kept, read, known = _sample_of_raw_text(raw, {*map(unspaced, known_words)}, max_sentences, seed)
    drawn = Corpus(kept).sentences  # reports ids that occur twice before the long prediction
    if not drawn:
        raise DataError("all raw sentences are labelled already, or there are none", fix="give more raw text")
    readings, types, encoder = _readings(drawn, tagger_list, quiet=quiet)
    worth = list(map(expected_errors, readings))
    order = sorted(range(len(drawn)), key=worth.__getitem__, reverse=True)[: CANDIDATES * count]
    vectors = encoder.sentences([drawn[position].words for position in order])
    known_vectors = encoder.sentences(known_words)
    chosen = [order[row] for row in farthest_first([worth[p] for p in order], vectors, known_vectors, count)]
    scored = [_shown(readings[position]).with_scores(**{SCORE: worth[position]}) for position in chosen]
    return NextSentences(Corpus(scored), read, known, len(drawn), types)


def _listed(taggers: object) -> list[str | Tagger]:
    """The taggers, as folders or in memory; a `SettingsError` if there are none, or something else is among them."""
    listed = [*taggers] if isinstance(taggers, Iterable) and not isinstance(taggers, str) else [taggers]
    if not listed:
        raise SettingsError("no tagger is named, expected one or more")
    for tagger in listed:
        if not isinstance(tagger, str | Path | Tagger):
            raise SettingsError(
                f"taggers has {shown(tagger)}, expected the folder of a tagger, or a trained tagger in memory"
            )
    return [tagger if isinstance(tagger, Tagger) else str(tagger) for tagger in listed]


def _sample_of_raw_text(
    raw: Iterable[Sentence], labelled: set[str], max_sentences: int, seed: int
) -> tuple[list[Sentence], int, int]:
    """Distinct sentences without labels in the order of the file, how many were read, and how many of these are known.

    The sentences with the smallest random numbers are kept. The number depends on the words, so that a repeated
    sentence is found among the kept ones. A sentence that was not kept needs no memory.
    """
    kept: dict[int, tuple[int, Sentence]] = {}
    read = known = 0
    limit = 1 << 128
    for sentence in raw:
        read += 1
        key = item_seed(seed, "next", *sentence.words)
        if unspaced(sentence.words) in labelled or key in kept:
            known += 1
        elif key < limit:
            kept[key] = read, replace(sentence, id=sentence.id or str(read), entities=(), soft_labels=(), scores={})
            if len(kept) == 2 * max_sentences:  # halve only now and then: sorting for each sentence would take long
                limit = sorted(kept)[max_sentences]
                kept = {key: entry for key, entry in kept.items() if key < limit}
    smallest = sorted(kept)[:max_sentences]
    return [sentence for _, sentence in sorted(kept[key] for key in smallest)], read, known


def _readings(
    sentences: Sequence[Sentence], taggers: Sequence[str | Tagger], *, quiet: bool
) -> tuple[list[list[Sentence]], tuple[str, ...], TextEncoder]:
    """Each sentence as each tagger predicts it, the types that the taggers know, and the encoder of the first tagger
    that has one, else the bundled encoder.
    """
    readings: list[list[Sentence]] = [[] for _ in sentences]
    types: dict[tuple[str, ...], None] = {}
    encoder: TextEncoder | None = None
    for given in taggers:
        name, tagger = (name_of(given), given) if isinstance(given, Tagger) else (given, load_tagger(given))
        encoder = encoder or _encoder(tagger)
        types[tagger.types] = None
        with Progress(f"predict {name}", len(sentences), quiet=quiet) as progress:
            for start in range(0, len(sentences), BATCH):
                predicted = _predicted(name, tagger, sentences[start : start + BATCH])
                for number, reading in enumerate(predicted, start):
                    readings[number].append(reading)
                progress.advance(len(predicted))
    if len(types) > 1:
        listed = "; ".join(", ".join(tagger_types) for tagger_types in types)
        warn(f"the taggers predict different types, which counts as disagreement: {listed}")
    from nersery.models.embeddings.text_encoder import TextEncoder
    from nersery.models.pretrained.loading import ModelSource

    all_types = tuple(sorted({name for tagger_types in types for name in tagger_types}))
    return readings, all_types, encoder or TextEncoder(ModelSource("bundled"))


def _predicted(name: str, tagger: Tagger, sentences: Sequence[Sentence]) -> list[Sentence]:
    try:
        return tagger.predict_soft(sentences)
    except SettingsError:
        warn(f"{name} has probabilities only for entities that it predicts, so entities that it may miss do not count")
        return tagger.predict(sentences)


def _shown(readings: Sequence[Sentence]) -> Sentence:
    """The sentence as the first tagger predicts it, with entities of the others at words where it has none."""
    entities: list[Entity] = []
    for reading in readings:
        taken = {position for entity in entities for position in entity.positions}
        entities += [e for e in reading.entities if taken.isdisjoint(e.positions)]
    return readings[0].with_entities(sorted(entities))


def _encoder(tagger: Tagger) -> TextEncoder | None:
    """The encoder of a tagger, if it has one."""
    from nersery.models.embeddings.text_encoder import TextEncoder
    from nersery.taggers.transformer import TransformerTagger

    if isinstance(tagger, TransformerTagger) and hasattr(tagger.network, "base_model"):  # an export for ONNX has none
        return TextEncoder.of(tagger.network.base_model, tagger.encoder.tokenizer, tagger.source)
    return None


def taggers_of(folder: str | Path) -> list[Path]:
    """The taggers of a run's systems with the first seed that has any, or the tagger that `nersery grow` has left.

    Raises:
        MissingResourceError: If the folder has none.
    """
    root = Path(folder)
    seeds = sorted(root.glob("seed-*"), key=lambda path: (len(path.name), path.name))
    taggers = next((paths for seed in seeds if (paths := sorted(seed.glob("*/tagger")))), [])
    taggers = taggers or [path for path in [root / "tagger"] if path.is_dir() and (root / "grow.json").exists()]
    if not taggers:
        if inner := min(root.glob("*/seed-*/*/tagger"), default=None):
            raise MissingResourceError(f"{folder} is a sweep: name one of its runs, e.g. {inner.parents[2]}")
        raise MissingResourceError(
            f"{folder} holds no tagger: expected the folder of a finished `nersery grow`, or of a run whose recipe "
            "does not say keep_taggers = false"
        )
    if not (root / "report.json").exists():
        found = ", ".join(path.parent.name for path in taggers)
        warn(f"the run in {folder} has not finished, so only these of its systems are used: {found}")
    return taggers
