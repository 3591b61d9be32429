"""The folder of a run: the paths of its files, and the samples of each seed.

The folder::

    run.json                            the recipe, hashes of the inputs, versions; run.json.bak is a copy
    seed-0/sample/{train,dev}.jsonl     the samples, and their ids in .ids.txt
    grid/SYSTEM.json                    settings of the tagger that were tried on dev, if there is a grid
    seed-0/gold/…                       the baseline: the tagger on gold sentences alone
    seed-0/teachers/…                   the teachers of systems with one of their own
    seed-0/SYSTEM/generated.jsonl       sentences that the method made, with a file of rejects
    seed-0/SYSTEM/teacher.json          how the teacher of these sentences was trained, if they have one of their own
    seed-0/SYSTEM/1-agreement.jsonl     sentences that each selector kept, with scores and a file of rejects
    seed-0/SYSTEM/1-agreement.history.json  how the selector chose, if it reports that
    seed-0/SYSTEM/train.jsonl           gold and kept sentences: the training corpus
    seed-0/SYSTEM/tagger/               the trained tagger
    seed-0/SYSTEM/predicted.jsonl, result.json
    run_time.json                       how long each system took
    report.{json,md,html}, tables/      the report, and its tables as CSV
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from nersery import io
from nersery.core.progress import print_line
from nersery.core.sentence import Corpus
from nersery.core.system.files import write_atomic
from nersery.experiments.data.folds import fold
from nersery.experiments.data.sampling import id_list, sample, sample_languages
from nersery.experiments.recipe import Recipe
from nersery.experiments.run_state.inputs import read_inputs, refuse_changed
from nersery.experiments.run_state.made_files import read_made
from nersery.experiments.systems import System

NOTHING_LEARNT = "no training sentence has an entity, so the tagger learnt nothing and finds no entity in test"
"""The note on a system that had nothing to train on."""


@dataclass
class RunFolder:
    """A recipe and the folder that holds its results.

    Args:
        recipe: Checked by `nersery.experiments.recipe.load`.
        folder: Created if missing; the folder of another run is refused.
        quiet: Show no progress.
        jobs: Processes that share the cells, see `nersery.experiments.execution.jobs`.
        threads: Threads of each job; None takes those of this process, or for several jobs `threads_of_jobs`.
        is_part: Whether the parent folder is that of a sweep.
        inputs: Hashes of the data files by split when the run or sweep began; empty before that.
        done: Number of cells that have begun before, for the lines of progress.
    """

    recipe: Recipe
    folder: Path
    quiet: bool = False
    jobs: int = 1
    threads: int | None = None
    is_part: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    done: int = field(default=0, init=False)
    corpora: dict[str, Corpus] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    _whole_recipe: Recipe | None = field(default=None, init=False)
    _last_sample: tuple[int, tuple[Corpus, Corpus]] | None = field(default=None, init=False)

    def restricted_to(self, seeds: Sequence[int], systems: Sequence[System] | None = None) -> Self:
        """The same folder with some seeds and systems only; None takes all systems."""
        run = copy.copy(self)
        run._whole_recipe = self._whole_recipe or self.recipe
        run.recipe = replace(self.recipe, seeds=list(seeds), systems=list(systems or self.recipe.systems))
        return run

    def read_corpora(self) -> None:
        """Read all files and report suspicious data.

        Raises:
            DataError: If they cannot be used, or have changed since the run began.
        """
        self.corpora, self.notes = read_inputs(self.recipe, self.say)
        refuse_changed(self.recipe, self.inputs)
        for note in self.notes:
            self.say(f"note: {note}")

    def say(self, text: str) -> None:
        """Print a line on standard error, unless the run is quiet."""
        if not self.quiet:
            print_line(text, end="\n")

    def path(self, seed: int, system: System, *names: str) -> Path:
        """The path of a system's file for one seed."""
        return self.folder.joinpath(f"seed-{seed}", system.name, *names)

    def test(self, seed: int) -> Corpus:
        """The sentences that a seed is scored on: its fold in cross-validation, else the test file."""
        folds = self.recipe.sample.folds
        return fold(self.corpora["train"], folds, seed) if folds and seed < folds else self.corpora["test"]

    def sampled(self, seed: int) -> tuple[Corpus, Corpus]:
        """The gold and dev sentences of a seed, drawn once and saved."""
        if self._last_sample is None or self._last_sample[0] != seed:  # samples of all seeds would take memory
            self._last_sample = seed, self._draw_sample(seed)
        return self._last_sample[1]

    def _draw_sample(self, seed: int) -> tuple[Corpus, Corpus]:
        folder = self.folder / f"seed-{seed}" / "sample"
        settings = self.recipe.sample
        drawn = {}
        for split, size, protocol in (
            ("train", settings.size, settings.protocol),
            ("dev", settings.dev_size, "random"),
        ):
            path, ids = (folder / f"{split}{ending}" for ending in (".jsonl", ".ids.txt"))
            if not path.exists():
                corpus = self.corpora[split]
                if settings.folds and split == "train":
                    held_out = fold(corpus, settings.folds, seed).by_id
                    corpus = Corpus(sentence for sentence in corpus if sentence.id not in held_out)
                if size is not None and size < len(corpus):
                    draw = sample_languages if self.recipe.data.has_languages(split) else sample
                    corpus = draw(corpus, size, protocol, seed)
                folder.mkdir(parents=True, exist_ok=True)
                write_atomic(ids, id_list(corpus))
                io.write(corpus, path)  # last, because an existing file is not drawn again
            drawn[split] = read_made(path, ids.read_bytes().count(b"\n") if ids.exists() else None)
        return drawn["train"], drawn["dev"]

    def generated(self, seed: int, system: System) -> Path:
        """The sentences that a system's method made; systems that generate the same share one file."""
        systems = (self._whole_recipe or self.recipe).systems
        same = [other for other in systems if other.makes_the_same_as(system)]
        paths = [self.path(seed, other, "generated.jsonl") for other in same]
        return next((path for path in paths if path.exists()), paths[0])
