"""A folder of files as one corpus: shards, or any other files of a corpus."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Sentence
from nersery.core.system.files import BRAT_LABELS, BRAT_TEXT, DESCRIPTION, advice_for, files_of
from nersery.core.warnings import warn
from nersery.core.wording import either
from nersery.io.annotation_tools.standoff import DOCUMENTS_READ, StandoffSource
from nersery.io.base import AUTO, Findings, ReadOptions, Source
from nersery.io.input_files.text_file import TextFile
from nersery.io.text import TextSource
from nersery.io.word_splitting.tokenization import suggested_splitting

MANIFEST = "manifest.jsonl"
"""The file in a folder of shards that describes them; see `nersery.pipeline.shards`."""
TOTAL = "total"
"""The key in the last line of the manifest of a finished folder."""
MODEL = "config.json"
"""The file that identifies a model of transformers."""
SAVED, SPLITS = "dataset_info.json", "dataset_dict.json"
"""The files that identify a data set saved by Hugging Face's datasets, and one saved in several splits."""
SPANS = "spans"
"""The folder in a published dataset that has all of its sentences in JSONL."""
ABOUT = {"README", "LICENSE", "LICENCE", "COPYING", "NOTICE", "CITATION", "CHANGELOG", "AUTHORS", "ATTRIBUTION"}
"""The names of files that describe a dataset for people; others have one of the extensions."""
ABOUT_EXTENSIONS, PLAIN_EXTENSIONS = (".md", ".rst", ".cff"), ("", ".txt")
SPLIT_NAMES = ("train", "dev", "valid", "validation", "test")
"""The names of files of one dataset that should not be mixed."""
_SHARD = re.compile(r"-\d{5}-of-\d{5}(?:-[0-9a-f]{16})?$")
"""How the Hugging Face hub numbers the files of a split."""
MAX_NUMBER_LENGTH = 20
"""Numbers in file names with at most this many digits are ordered by value."""
READABLE = "allow reading it, or name another folder"
FROM_BIONLP = (
    """make a brat folder of it: mkdir brat; for f in {}/*.a1; do to=brat/$(basename "$f" .a1); cp "${{f%a1}}txt" """
    """"$to.txt"; cat "${{f%1}}"[12] > "$to.ann"; done"""
)
"""The fix for files of the BioNLP shared tasks, which have labels and events in separate files."""

Open = Callable[[Path, ReadOptions], Source]


class FolderSource(Source):
    """The sentences of all files in a folder, ordered by file name, with numbers in names by value: 2 before 10.

    Hidden files, brat's ``.conf``, manifests, rejects and files that describe the dataset for people, such as
    ``README.rst`` and ``LICENSE``, are skipped. In a published dataset, the JSONL files of all splits are read.

    Raises:
        DataError: If the folder holds a model or Arrow files; or if it has no file, a subfolder, two files with the
            same name, an unfinished job, or, with files of brat, a text without its labels.
    """

    def __init__(self, file: TextFile, options: ReadOptions, open_file: Open) -> None:
        super().__init__(file, options)
        if _is_model(file.path):
            order = either(
                "`nersery predict` takes the tagger first, then the sentences",
                "nersery.predict takes the sentences first, then the tagger",
            )
            message = "the folder holds a model, expected a corpus"
            raise file.error(message, f"name a file or folder of sentences; {order}")
        _refuse_saved(file)
        self._open = open_file
        try:
            listed = _listed(file.path)
            as_pairs = options.format in (AUTO, "brat")
            pairs = [files_of(path) for path in listed if path.suffix == BRAT_LABELS]
            others = {text if as_pairs else labels for text, labels in pairs}  # a document is read once
            self.paths = [path for path in listed if path not in others and not _is_left_out(path)]
            self._about = [path.name for path in listed if _is_documentation(path)]
        except OSError as error:
            fix = READABLE if isinstance(error, PermissionError) else advice_for(error)
            raise file.error(f"the folder cannot be read: {error.strerror}", fix) from None
        if issues := list(self._issues()):
            raise DataError(issues, fix=self._advice())
        self.add_advice = self._advice_of_first

    def _issues(self) -> Iterator[Issue]:
        stems: dict[str, Path] = {}
        if not self.paths:
            yield Issue("there is no file in the folder", self.file.name)
        if _is_unfinished(self.file.path / MANIFEST):
            yield Issue("the job that writes the folder is not finished; the same command resumes it", self.file.name)
        is_brat = any(path.suffix == BRAT_LABELS for path in self.paths)
        for path in self.paths:
            if not path.is_file():
                yield Issue("this is not a file", str(path))
            elif (other := stems.setdefault(path.stem, path)) is not path:
                yield Issue(f"sentences without ids would get the same ones as those of {other.name}", str(path))
            elif is_brat and path.suffix == BRAT_TEXT:  # brat writes an empty file if there are no labels
                labels = path.with_suffix(BRAT_LABELS).name
                yield Issue(
                    f"there is no {labels} with its labels: make an empty one if it has none, or give --format text to "
                    "read all texts without labels",
                    str(path),
                )

    def _advice(self) -> str:
        if any(path.suffix == ".a1" for path in self.paths):
            return FROM_BIONLP.format(shlex.quote(str(self.file.path)))
        exported = next((file for path in self.paths if path.is_dir() for file in sorted(path.glob("*.tsv"))), None)
        if exported is None:
            return "name a file, or a folder that holds only files of one corpus, each with its own name"
        name = f"{exported.parent.stem}.tsv"  # INCEpTION has a folder for each document, with a file of each annotator
        return f"copy one file of each folder into a new folder and name it after its document: {exported} to {name}"

    @property
    def description(self) -> str:
        """The number of files, the description of the first one, and the files that are not read."""
        about = f"; not read: {', '.join(self._about)}" if self._about else ""
        files = "1 file" if len(self.paths) == 1 else f"{len(self.paths)} files, the first"
        return f"{files}: {self._first.description}{about}"

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(path.stem for path in self.paths)

    def _advice_of_first(self, error: DataError) -> DataError:
        add_advice = self._first.add_advice
        return add_advice(error) if add_advice else error

    @property
    def _first(self) -> Source:
        return next(self.sources())

    def sources(self) -> Iterator[Source]:
        """The files in order. Each is opened when it is needed."""
        return (self._open(path, self.options) for path in self.paths)

    def changed(self, change: Callable[[Source], Source]) -> FolderSource:
        """The same folder, with a change to each of its files."""
        folder = FolderSource(self.file, self.options, partial(_open_changed, open_file=self._open, change=change))
        folder.labelled = self.labelled
        return folder

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        """One pass over all files, with ids that are distinct among all of them."""
        texts = []
        for path, source in zip(self.paths, self.sources(), strict=True):
            findings.file, source.labelled = source.file, self.labelled
            texts += [path.name] if isinstance(source, TextSource) else []
            if isinstance(source, StandoffSource):
                source.run_on = self._run_on
            yield from source.sentences(findings)
        names = dict.fromkeys(_SHARD.sub("", path.stem) for path in self.paths)
        if self.labelled and len(splits := [name for name in names if name in SPLIT_NAMES]) > 1:
            warn(f"{self.file.name}: {', '.join(splits)} are read together; to keep them separate, name the files")
        if self.labelled and 0 < len(texts) < len(self.paths):
            warn(
                f"{self.file.name}: {', '.join(texts)} is plain text beside labelled files, so its words count as "
                "outside entities: leave out what nobody has labelled"
            )

    @cached_property
    def _run_on(self) -> bool:
        """Whether the first texts with labels run on without spaces, so that all of them are split alike."""
        return self.options.split is None and suggested_splitting(self._first_lines()) == "characters"

    def _first_lines(self) -> Iterator[str]:
        findings = Findings(self.file, self.options)
        for source in islice(self.sources(), DOCUMENTS_READ):
            if isinstance(source, StandoffSource):
                findings.file, source.labelled = source.file, self.labelled
                yield from source.first_lines(findings)


def _open_changed(path: Path, options: ReadOptions, *, open_file: Open, change: Callable[[Source], Source]) -> Source:
    return change(open_file(path, options))


def _listed(folder: Path) -> list[Path]:
    """The contents of a folder, sorted by name; for a published dataset, of its folder of JSONL files."""
    spans = folder / SPANS
    return sorted((spans if spans.is_dir() and (folder / DESCRIPTION).is_file() else folder).iterdir(), key=_in_order)


def _in_order(path: Path) -> tuple[str, str]:
    """A key that sorts files by name, but numbers of different lengths by value.

    >>> sorted(map(Path, ("10.txt", "2.txt", "train2.txt", "train.txt")), key=_in_order) == [
    ...     Path("2.txt"), Path("10.txt"), Path("train.txt"), Path("train2.txt")
    ... ]
    True
    """
    return re.sub("[0-9]+", lambda number: number[0].zfill(MAX_NUMBER_LENGTH), path.name), path.name


def _is_left_out(path: Path) -> bool:
    name = path.name
    if name.startswith(".") or _is_documentation(path) or name.endswith((".rejects.jsonl", ".conf")):
        return True
    return path.with_name(MANIFEST).exists() and (name == MANIFEST or name.startswith("rejects-"))


def _is_documentation(path: Path) -> bool:
    """Whether a file describes the others for people.

    >>> [_is_documentation(Path(name)) for name in ("NOTE.rst", "LICENSE", "README.txt", "license.conll", "readme.txt")]
    [True, True, True, False, False]
    """
    return path.suffix in ABOUT_EXTENSIONS or (path.stem in ABOUT and path.suffix in PLAIN_EXTENSIONS)


def _is_model(folder: Path) -> bool:
    return (folder / MODEL).is_file() or ((folder / DESCRIPTION).is_file() and not (folder / SPANS).is_dir())


def _refuse_saved(folder: TextFile) -> None:
    """Raise `DataError` for a folder that ``save_to_disk`` of Hugging Face's datasets wrote."""
    has_splits = (folder.path / SPLITS).is_file()
    if has_splits or (folder.path / SAVED).is_file():
        split = "['train']" * has_splits
        code = f"datasets.load_from_disk({folder.name!r}){split}.to_parquet('train.parquet')"
        message = "the folder is a data set that Hugging Face's datasets has saved, in Arrow"
        raise folder.error(message, f"save it as Parquet, in Python: {code}")


def _is_unfinished(manifest: Path) -> bool:
    """Whether a manifest lacks the last line of a finished one."""
    if not manifest.is_file():
        return False
    try:
        *_, last = manifest.read_text("utf-8").splitlines() or [""]
        return TOTAL not in json.loads(last)
    except (ValueError, TypeError):  # perhaps another program wrote it
        return True
