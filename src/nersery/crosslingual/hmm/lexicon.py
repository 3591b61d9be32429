"""What the statistical aligner learns: which prefixes translate which, how far words jump, what the null word emits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from nersery.core.batched import batched
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.system.files import write_atomic, written_atomically
from nersery.core.system.job_records import differences
from nersery.crosslingual.hmm import hidden_markov
from nersery.crosslingual.hmm.texts import SymbolTable
from nersery.crosslingual.hmm.vocabulary import Numbers

Values = NDArray[np.float64]

TENSORS, FACTS = "lexicon.safetensors", "lexicon.json"
FORMAT = 1
_SHIFT = 32
_CHUNK = 1 << 18
"""Number of pairs of prefixes that are added up at once."""


@dataclass(frozen=True)
class Parameters:
    """What is learnt besides the counts of links. During a step: sums of how often each was seen.

    Args:
        source_null: Emission probability of each source prefix, given the null word. Shape: (source prefixes).
        target_null: The same for target prefixes. Shape: (target prefixes).
        forward: Probabilities of jumps among source words from one target word to the next. Shape: (2 * FURTHEST + 1).
        backward: Probabilities of jumps among target words from one source word to the next. Shape: (2 * FURTHEST + 1).
    """

    source_null: Values
    target_null: Values
    forward: Values
    backward: Values


@dataclass(frozen=True)
class Lexicon(Parameters):
    """Counts of linked prefixes, and the parameters learnt with them.

    Args:
        keys: The pairs of prefixes that occurred in a sentence and its translation, sorted; see `pair_keys`. Shape:
            (pairs).
        counts: How often the prefixes of each pair were linked, plus the prior counts. Shape: (pairs).
        source_uses: How often each source prefix was read. Shape: (source prefixes).
        target_uses: The same for target prefixes. Shape: (target prefixes).
    """

    keys: Numbers
    counts: Values
    source_uses: Values
    target_uses: Values

    @property
    def totals(self) -> tuple[Values, Values]:
        """The sum of the counts of each source prefix, and of each target prefix."""
        sources, targets = np.zeros_like(self.source_uses), np.zeros_like(self.target_uses)
        add_to_totals(self.keys, self.counts, sources, targets)
        return sources, targets

    def look_up(self, source: Numbers, target: Numbers) -> tuple[Values, NDArray[np.bool_]]:
        """The count of each pair of prefixes, 0 if it has none, and whether it has one.

        Args:
            source: Numbers of prefixes, below 0 where there is no prefix. Shape: (sentences, source words).
            target: The same. Shape: (sentences, target words).

        Shape: twice (target words, sentences, source words).
        """
        wanted = pair_keys(source[:, :, None], target[:, None, :])
        return look_up_keys(self.keys, self.counts, np.ascontiguousarray(wanted.transpose(2, 0, 1)))

    def save(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Save the lexicon in a folder, in place of any that is there.

        Args:
            folder: Created if it does not exist.
            facts: The prefixes by number, as ``source`` and ``target``, and JSON values.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with written_atomically(folder / TENSORS) as unfinished:
            save_file(
                {field.name: np.ascontiguousarray(getattr(self, field.name)) for field in fields(self)}, unfinished
            )
            (folder / FACTS).unlink(missing_ok=True)  # without this file, what a kill leaves is no lexicon
        write_atomic(folder / FACTS, _json({"format": FORMAT, **facts}))

    @classmethod
    def load(cls, folder: Path, settings: Mapping[str, Any]) -> tuple[Lexicon, dict[str, Any]]:
        """Load a saved lexicon and its facts.

        Args:
            settings: Facts that must be equal to those saved.

        Raises:
            MissingResourceError: If there is no saved lexicon.
            SettingsError: If it cannot be read, or was learnt with other settings.
        """
        check_folder(folder)
        try:
            facts = json.loads((folder / FACTS).read_text("utf-8"))
            tensors = load_file(folder / TENSORS)
            lexicon = cls(**{field.name: tensors[field.name] for field in fields(cls)})
            if [len(facts["source"]), len(facts["target"])] != [len(lexicon.source_uses), len(lexicon.target_uses)]:
                raise ValueError(f"{FACTS} and {TENSORS} do not belong together")
        except (OSError, ValueError, LookupError, SafetensorError) as error:
            raise SettingsError(
                f"the learnt lexicon in {folder} cannot be read ({error}). Learn and save it again"
            ) from error
        if changed := differences(
            {key: facts.get(key) for key in ("format", *settings)}, {"format": FORMAT, **settings}
        ):
            raise SettingsError(
                f"the lexicon in {folder} was learnt with other settings:\n{changed}\nUse its settings, or learn again"
            )
        return lexicon, facts


def _json(facts: Mapping[str, Any]) -> Iterator[str]:
    """The output of `json.dumps`, part by part. As Python strings, all prefixes at once would fill the memory."""
    before = "{"
    for key, value in facts.items():
        yield f"{before}{json.dumps(key)}: "
        before = ", "
        if isinstance(value, SymbolTable):
            yield "["
            for number, texts in enumerate(batched(value, 1000)):
                yield (", " if number else "") + json.dumps(texts)[1:-1]
            yield "]"
        else:
            yield json.dumps(value)
    yield "}"


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a completely saved lexicon."""
    return all((folder / name).is_file() for name in (FACTS, TENSORS))


def check_folder(folder: Path) -> None:
    """Check that there is a saved lexicon in a folder, without reading it.

    Raises:
        MissingResourceError: If there is none.
    """
    missing = [name for name in (FACTS, TENSORS) if not (folder / name).is_file()]
    if missing:
        raise MissingResourceError(
            f"there is no learnt lexicon in {folder}, which lacks {' and '.join(missing)}. "
            "Name a folder that `nersery crosslingual align --keep` wrote, or leave out priors to learn from the "
            "pairs alone"
        )


def empty_lexicon() -> Lexicon:
    """A lexicon without any prefixes."""
    empty = np.zeros(0)
    jumps = hidden_markov.first_jumps()
    return Lexicon(empty, empty, jumps, jumps, np.zeros(0, np.int64), empty, empty, empty)


def look_up_keys(keys: Numbers, values: Values, wanted: Numbers) -> tuple[Values, NDArray[np.bool_]]:
    """The value of each wanted key, 0 if it has none, and whether it has one. Shape: twice that of ``wanted``.

    Args:
        keys: Sorted keys. Shape: (keys).
        values: Shape: (keys).
    """
    if not len(keys):
        return np.zeros(wanted.shape), np.zeros(wanted.shape, bool)
    indices = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_known = keys[indices] == wanted
    return np.where(is_known, values[indices], 0.0), is_known


def pair_keys(source: Numbers, target: Numbers) -> Numbers:
    """One number for each pair of prefixes; the numbers sort by source prefix, then by target prefix."""
    return (source << _SHIFT) + target


def add_to_totals(keys: Numbers, counts: Values, of_source: Values, of_target: Values) -> None:
    """Add the count of each pair of prefixes to the totals of both prefixes."""
    for start in range(0, len(keys), _CHUNK):
        part = slice(start, start + _CHUNK)
        for prefixes, totals in zip(split_keys(keys[part]), (of_source, of_target), strict=True):
            np.add.at(totals, prefixes, counts[part])


def split_keys(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers of the source prefix and the target prefix of each pair."""
    return keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)
