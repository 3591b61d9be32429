"""The files of a grow job: read once, checked, and copied into its folder as JSONL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path

from nersery import io
from nersery.augment.base import made_from
from nersery.core.counting import plural
from nersery.core.errors import DataError, DiskError, Issue, SettingsError, did_you_mean, printable
from nersery.core.random import item_seed
from nersery.core.sentence import Corpus, Sentence
from nersery.core.system.files import content_hash, write_atomic
from nersery.core.text.definitions import check_texts, check_types
from nersery.core.text.text_forms import unspaced
from nersery.core.text.word_lists import read_names
from nersery.experiments.data import corpus_notes
from nersery.experiments.data.text_profile import (
    TextProfile,
    data_notes,
    note_of_language,
    profile,
    refuse_other_language,
)
from nersery.io.text import TextSource
from nersery.io.word_splitting.tokenization import attached_share
from nersery.taggers.base import require_labels

MIN_SENTENCES = 6
"""Minimum number of sentences with entities; fewer cannot be divided into folds that all have some to learn from."""
SAME_LANGUAGE = 0.3
"""Minimum share of the words of raw text that occur in labelled sentences if both surely have the same language: on
MultiCoNER 100, 0.44 to 0.53 in the same language (0.35 on other subjects), 0.02 to 0.21 in another one."""
RAW_ID = "# raw sentence "
"""The start of the comment with the id that a raw sentence has in the user's file."""


@dataclass(frozen=True)
class GrowData:
    """The data that a grow job works with.

    Args:
        raw: Sentences without labels; those in gold or test are left out.
        notes: Notes on the data for the user.
        definitions: The user's own definitions of some types.
        names: The user's files with names of some types.
    """

    gold: Corpus
    raw: Corpus
    test: Corpus
    text: TextProfile
    notes: tuple[str, ...]
    definitions: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


def read_data(
    train: Sequence[str],
    raw: str | Path | None,
    test: str | Path | None,
    options: io.ReadOptions,
    most_raw: int,
    definitions: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> GrowData:
    """Read and check all files.

    Args:
        train: One or more files. If several have the same text, its labels in the last one count.
        most_raw: If there are more raw sentences, this number is drawn.
        names: Files with one name per line, by type.

    Raises:
        DataError: If the files cannot be used.
    """
    gold, relabelled = _joined(train, options)
    _require_enough(gold, train)
    check_texts(definitions or {}, "definitions")
    _check_types("a definition", definitions or {}, gold)
    _check_types("a list of names", names or {}, gold)
    for path in (names or {}).values():
        read_names(path)
    test_corpus, test_notes = _tested(test, options, gold) if test else (Corpus([]), [])
    text = profile(gold, options.language)
    oddities = [
        corpus_notes.note_of_types("test", test_corpus, gold.types),
        corpus_notes.note_of_overlap("test", test_corpus, "train", gold),
        note_of_language("train", gold),
        corpus_notes.note_of_labellings("train", gold),
        corpus_notes.note_of_length("train", sum(map(len, gold)), len(gold)),
    ]
    notes = [*relabelled, *test_notes, *data_notes(gold.sentences), *filter(None, oddities)]
    unlabelled = Corpus([])
    if definitions and not raw:
        notes.append("there is no raw text to ask questions about: definitions are not used")
    if names and not raw:
        notes.append("there is no raw text to look for names in: lists of names are not used")
    if raw:
        check_types(gold.types, "train")  # questions ask for each
        unlabelled, raw_notes = _raw(raw, options, gold, test_corpus, most_raw)
        notes += raw_notes
        # Corpora that share words have the same language, even if one of them mixes it with more English.
        if corpus_notes.shared_words(gold.sentences, unlabelled)[1] < SAME_LANGUAGE:
            refuse_other_language(text, profile(unlabelled, options.language), ", ".join([*train, str(raw)]))
        text = replace(text, language=profile(chain(gold, unlabelled), options.language).language)
    return GrowData(gold, unlabelled, test_corpus, text, tuple(notes), definitions or {}, names or {})


def _require_enough(gold: Corpus, train: Sequence[str]) -> None:
    """Raise `DataError` if there are too few labelled sentences."""
    if not gold:
        message = f"the {'file has' if len(train) == 1 else 'files have'} no usable sentence"
        raise DataError(Issue(message, ", ".join(train)), fix="give labelled sentences")
    require_labels(gold.sentences, ", ".join(train))
    texts = [unspaced(sentence.words) for sentence in gold if sentence.entities]
    if (useful := len({*texts})) < MIN_SENTENCES:
        noun = "sentences" if useful == len(texts) else "different sentences"
        raise DataError(
            Issue(f"the number of {noun} with entities is {useful}, expected at least {MIN_SENTENCES}", train[0]),
            fix="label more, or label raw text by `nersery annotate` with the method qa_prompting",
        )


def _check_types(what: str, types: Iterable[str], gold: Corpus) -> None:
    """Raise `SettingsError` if the user has given something for a type that gold lacks."""
    if unknown := [type_ for type_ in types if type_ not in gold.types]:
        raise SettingsError(
            f"{what} is for the type {printable(unknown[0])}, which no labelled sentence has; "
            f"{did_you_mean(unknown[0], gold.types)}"
        )


def _tested(test: str | Path, options: io.ReadOptions, gold: Corpus) -> tuple[Corpus, list[str]]:
    """The sentences of test, and notes on how they were read; a `DataError` if nothing can be scored on them."""
    source = io.open_corpus(test, options)
    corpus = Corpus(source)
    if not corpus:
        raise DataError(
            Issue("the file has no usable sentence", str(test)), fix="give labelled sentences, or leave out --test"
        )
    if not corpus.types:
        raise DataError(Issue(f"no sentence of {len(corpus)} has an entity", str(test)), fix="give labelled sentences")
    if not {*corpus.types} & {*gold.types}:
        types = ", ".join(map(printable, corpus.types))
        message = f"the types of train ({', '.join(map(printable, gold.types))}) do not occur, only {types}"
        raise DataError(Issue(message, str(test)), fix="give sentences with the types of train, or leave out --test")
    return corpus, corpus_notes.notes_of_reading("test", source)


def _joined(train: Sequence[str], options: io.ReadOptions) -> tuple[Corpus, list[str]]:
    """The sentences of all files. Ids that an earlier file has, or a method would give, get the file's name in front.

    Raises:
        DataError: If a file is plain text.
    """
    sources = [io.open_corpus(name, options) for name in train]
    texts = [source.file.name for source in sources if isinstance(source, TextSource)]
    if issues := [Issue("this is plain text, which has no labels", name) for name in texts]:
        raise DataError(issues, fix="give labelled sentences, and raw text as one file with --raw")
    corpora = [*map(Corpus, sources)]
    known_ids = {sentence.id for corpus in corpora for sentence in corpus}
    last_file = {unspaced(sentence.words): number for number, corpus in enumerate(corpora) for sentence in corpus}
    kept: dict[str, Sentence] = {}
    ids: set[str] = set()
    for number, (name, corpus) in enumerate(zip(train, corpora, strict=True)):
        stem, new_ids = Path(name).stem, dict[str, str]()
        for id in corpus.by_id:
            free = chain([id, f"{stem}/{id}"], (f"{stem}/{id}/{n}" for n in count(2)))
            new_ids[id] = next(id for id in free if id not in ids and made_from(id)[0] not in known_ids)
            ids.add(new_ids[id])
        for sentence in corpus:
            if last_file[unspaced(sentence.words)] == number:
                kept[new_ids[sentence.id]] = _with_new_ids(sentence, new_ids)
    notes = [
        note
        for name, source in zip(train, sources, strict=True)
        for note in corpus_notes.notes_of_reading(name, source)
    ]
    if left_out := len(ids) - len(kept):
        counted = plural(left_out, "sentence")
        notes.append(f"{counted} left out, because a later train file has the same text: its labels are used")
    files = dict(zip(train, corpora, strict=True))
    notes += filter(None, [corpus_notes.note_of_unlabelled(files), corpus_notes.note_of_tag_sets(files)])
    return Corpus(kept.values()), notes


def _with_new_ids(sentence: Sentence, new_ids: Mapping[str, str]) -> Sentence:
    """The sentence with its new id, and with the new ids of its parents in the same file."""
    origin = sentence.origin
    if origin is not None:
        origin = replace(origin, parents=tuple(new_ids.get(parent, parent) for parent in origin.parents))
    return replace(sentence, id=new_ids[sentence.id], origin=origin)


def _raw(raw: str | Path, options: io.ReadOptions, gold: Corpus, test: Corpus, limit: int) -> tuple[Corpus, list[str]]:
    """The raw sentences that are in neither gold nor test, and notes on them; a `DataError` if there is none."""
    source = io.open_text(raw, replace(options, format=io.AUTO), attached_share(gold))  # the format is that of gold
    known_texts = {unspaced(sentence.words) for corpus in (gold, test) for sentence in corpus}
    corpus, notes = _raw_corpus(source, known_texts, limit, {*gold.by_id, *test.by_id})
    if not corpus:
        message = "all sentences are also in train or test" if notes else "the file has no usable sentence"
        raise DataError(Issue(message, str(raw)), fix="give other raw text")
    oddities = (
        corpus_notes.note_of_splitting(gold, corpus),
        corpus_notes.note_of_length("raw text", sum(map(len, corpus)), len(corpus)),
    )
    return corpus, [*corpus_notes.notes_of_reading("raw text", source), *notes, *filter(None, oddities)]


def _raw_corpus(
    source: Iterable[Sentence], known_texts: set[str], limit: int, ids: set[str]
) -> tuple[Corpus, list[str]]:
    """Raw sentences with ids that no labelled sentence has, in the order of the file, each text once.

    A comment keeps the id from the user's file.
    """
    distinct: dict[tuple[str, ...], tuple[int, str, str]] = {}
    total = 0
    for number, sentence in enumerate(source):
        total += 1
        if unspaced(sentence.words) not in known_texts:
            distinct.setdefault(sentence.words, (number, sentence.id, sentence.language))
    shuffled = sorted(distinct.items(), key=lambda pair: item_seed(0, "raw", str(pair[1][0])))
    drawn = sorted(shuffled[:limit], key=lambda pair: pair[1])
    notes = []
    if len(distinct) < total:
        left_out = plural(total - len(distinct), "raw sentence")
        notes.append(f"{left_out} left out: repeated, or also in train or test")
    if len(drawn) < len(distinct):
        notes.append(f"{len(drawn):,} of {len(distinct):,} raw sentences were drawn at random: grow uses no more")
    taken = {id.partition("/")[0] for id in ids}
    folder = next(name for name in chain(["raw"], (f"raw{n}" for n in count(2))) if name not in taken)
    renamed = (
        Sentence(words, id=f"{folder}/{number}", language=language, comments=(f"{RAW_ID}{printable(id)}",))
        for words, (number, id, language) in drawn
    )
    return Corpus(renamed), notes


def save_data(data: GrowData, folder: Path) -> dict[str, str]:
    """Write the files that the recipe names, and return their hashes.

    For the ids of methods, gold must have no ids of generated sentences.
    """
    folder.mkdir(parents=True, exist_ok=True)
    language = data.text.language
    corpora = {"train": data.gold, "raw": data.raw, "test": data.test}
    for name, corpus in corpora.items():
        if corpus:
            io.write([replace(s, language=s.language or language) for s in corpus], folder / f"{name}.jsonl")
    copies = copies_of(data.names)
    for type_, path in data.names.items():
        write_atomic(folder / copies[type_], Path(path).read_bytes().decode())
    written = [*(f"{name}.jsonl" for name, corpus in corpora.items() if corpus), *copies.values()]
    return {name: content_hash(folder / name) for name in written}


def copies_of(names: Mapping[str, str]) -> dict[str, str]:
    """The names that `save_data` gives its copies of the lists, by type. A type itself may be no file name."""
    return {type_: f"names-{number}.txt" for number, type_ in enumerate(names, start=1)}


def refuse_damaged(folder: Path, hashes: Mapping[str, str]) -> None:
    """Raise `DiskError` for a file that was removed or changed: a plan and its data cannot be made a second time."""
    for name, content in hashes.items():
        if not (folder / name).is_file() or content_hash(folder / name) != content:
            problem = f"{folder / name} was removed or has changed, so this job cannot resume"
            advice = "Restore it from a backup, or choose another folder (--out) to begin again"
            raise DiskError(f"{problem}. {advice}. What this folder holds stays and can be used")
