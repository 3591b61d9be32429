"""The contract of all registered augmentation methods.

Each word of the corpus belongs to one type and contains it (``PER.1 o.2 LOC.3``). After augmentation, each word
must still have that type, so the tests find misplaced labels of any method.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import Augmenter, augment, batch_augmentation, tasks
from nersery.core import registry
from nersery.core.errors import DataError, SettingsError, UnfittedError
from nersery.core.outcome import Reject, Result, collect
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.pipeline.job import run
from tests import fakes

TABLE = object()
"""Stands for the path of the table of synonyms below."""
VECTORS = object()
"""Stands for the word vectors below, which are the same for all languages."""
SETTINGS: dict[str, dict[str, Any]] = {
    "aclm": {"model": fakes.CONTEXT, "keywords": "random", "keyword_rate": 0.2},
    "bda": {"model": fakes.NOTHING},
    "cbt": {"model": fakes.LABELS, "words": 2},
    "code_mixing": {"rate": 0.7, "vectors": VECTORS},
    "daga": {},
    "eda": {"operations": ["synonyms", "insertion", "shuffle", "swap", "deletion"], "table": TABLE},
    "flipda": {"model": fakes.FLIPPED, "tagger": "fake", "candidates": 3},
    "label_conditioned": {"model": fakes.DEFINITIONS, "words": 2},
    "label_wise_token_replacement": {"rate": 0.5},
    "llm_sentences": {"model": "fake", "write": "entities", "split": "spaces"},
    "masked_entity": {"model": fakes.NOTHING},
    "melm": {"model": fakes.TAGS},
    "mention_replacement": {"rate": 0.5},
    "mulda": {"model": fakes.BEGINNINGS},
    "shuffle_within_segments": {"rate": 0.7},
    "synonym_replacement": {"rate": 0.5, "table": TABLE},
}
"""The settings of each method; a missing method fails `test_every_method_is_covered`."""
WRITERS = {"daga", "mulda"}
"""Methods that write sentences with their own entities rather than those of their parents."""
LEARN_WORDS = ("cbt", "label_conditioned", "label_wise_token_replacement")
"""Methods that need gold sentences, with or without entities."""
LEARN_ENTITIES = ("aclm", "daga", "flipda", "llm_sentences", "melm", "mention_replacement", "mulda")
"""Methods that need gold sentences with entities."""
METHODS = registry.names("augment")
TYPES = ("PER", "LOC", "creative work")
LANGUAGES = ("hi", "ta", "zh", "ar", "en", "tr")
"""One for each of the scripts below; other sentences cycle through them."""
COPIES = 3
COUNTS = ("batch_size", "candidates", "epochs", "max_words", "min_count", "neighbours", "passes", "patience", "words")
SHARES = ("flip_rate", "keyword_rate", "mask_rate", "mean_rate", "rate", "shown_rate")
WRONG: list[tuple[str, Any, str]] = [
    *((setting, 0, f"{setting} is 0, expected 1 or more") for setting in (*COUNTS, "top_k")),
    *((setting, share, f"{setting} is {share}, expected a number in") for setting in SHARES for share in (-0.1, 1.5)),
    *((setting, float("nan"), f"{setting} is nan: expected finite") for setting in (*SHARES, "learning_rate")),
    ("learning_rate", float("inf"), "learning_rate is inf: expected finite numbers"),
    ("learning_rate", 0.0, "learning_rate is 0, expected a number above 0"),
    ("layers", -1, "layers is -1, expected 0 or more"),
    ("dropout", 1.0, "dropout is 1, expected a number in"),
    ("similarity", 0.0, "similarity is 0"),
    ("definitions", {"PER": " "}, "definitions has no text for PER: expected a few words"),
    ("descriptions", {"PER": ""}, "descriptions has no text for PER: expected a few words"),
]
"""Values that a setting of this name cannot have, and the expected error."""

Part = tuple[str, str]
"""A type, or ``o``, and its words, separated by spaces."""
SCRIPTS: tuple[tuple[Part, ...], ...] = (
    (("o", "आज"), ("PER", "श्रीमान् क्ष‍मा"), ("o", "ने"), ("LOC", "नई‌दिल्ली"), ("o", "देखा ।")),
    (("PER", "ஸ்ரீ கண்ணன்"), ("o", "நேற்று"), ("LOC", "சென்னை"), ("o", "சென்றார் ।।")),
    (("LOC", "北京"), ("o", "的"), ("PER", "王 小 明"), ("o", "去 了"), ("LOC", "上 海"), ("o", "。")),
    (("o", "زار"), ("PER", "أحمد شوقي"), ("o", "مدينةً"), ("LOC", "القاهرة"), ("o", "،")),
    (("PER", "👩‍👩‍👧‍👦"), ("o", "❤️ n̈ i̇"), ("LOC", "🇮🇳"), ("o", "🏳️‍🌈 a b")),
    (("PER", "ılknur şahin"), ("o", "ging nach"), ("LOC", "großstraße ﬁx"), ("o", "!")),
)


def _of_parts(parts: Iterable[Part], number: int) -> Sentence:
    """A sentence in one of the languages."""
    words: list[str] = []
    entities = []
    for type_, text in parts:
        start = len(words)
        words += text.split(" ")
        if type_ != "o":
            entities.append(Entity(start, len(words), type_))
    language = LANGUAGES[number % len(LANGUAGES)]
    return Sentence(tuple(words), tuple(entities), id=f"s{number}", language=language, columns=(tuple(words),))


def _random_parts(rng: random.Random) -> list[Part]:
    parts = []
    for _ in range(rng.randint(1, 7)):
        type_ = rng.choice([*TYPES, "o", "o"])
        parts.append((type_, " ".join(f"{type_[:3]}.{rng.randrange(10)}" for _ in range(rng.randint(1, 3)))))
    return parts


def make_corpus() -> Corpus:
    """Sixty random sentences with adjacent entities of one type, and edge cases: one word, only or no entities."""
    rng = random.Random(7)
    corners: list[list[Part]] = [
        [("o", "o.1")],
        [("PER", "PER.1")],
        [("PER", "PER.1 PER.2"), ("PER", "PER.3"), ("LOC", "LOC.4")],
        [("o", "o.1 o.2 o.3 o.4")],
    ]
    parts = corners + [_random_parts(rng) for _ in range(60)]
    return Corpus(_of_parts(each, number) for number, each in enumerate(parts))


def make_scripts() -> Corpus:
    """Sentences of six scripts, each also in reverse, so that there is something to draw from."""
    parts = [*SCRIPTS, *(tuple(reversed(each)) for each in SCRIPTS)]
    return Corpus(_of_parts(each, number) for number, each in enumerate(parts))


def owners(corpus: Corpus) -> dict[str, str]:
    """The type of each word, or ``o``."""
    return {
        word: type_ for sentence in corpus for word, type_ in zip(sentence.words, types_over(sentence), strict=True)
    }


def types_over(sentence: Sentence) -> list[str]:
    """The type of the entity of each word, or ``o``."""
    types = ["o"] * len(sentence)
    for entity in sentence.entities:
        types[entity.start : entity.end] = [entity.type] * (entity.end - entity.start)
    return types


def write_table(corpora: Iterable[Corpus], folder: Path) -> Path:
    """For each word, a synonym of one word and one of two words, all of its own type and corpus."""
    path = folder / "synonyms.tsv"
    lines = []
    for corpus in corpora:
        of_type: dict[str, list[str]] = {}
        for word, type_ in owners(corpus).items():
            of_type.setdefault(type_, []).append(word)
        for words in of_type.values():
            for number, word in enumerate(words):
                one, two, three = (words[(number + step) % len(words)] for step in (1, 2, 3))
                lines.append(f"{word}\t{one}\t{two} {three}\n")
    path.write_text("".join(lines), "utf-8")
    return path


def write_vectors(corpora: Iterable[Corpus], table: Path) -> None:
    """A vector for each word, in a file beside the table."""
    rng = random.Random(3)
    words = sorted({word for corpus in corpora for word in owners(corpus)})
    lines = [" ".join([word, *(f"{rng.gauss(0, 1):.3f}" for _ in range(8))]) for word in words]
    vectors_beside(table).write_text("\n".join([f"{len(words)} 8", *lines, ""]), "utf-8")


def vectors_beside(table: Path) -> Path:
    return table.with_name("words.vec")


def settings_of(name: str, table: Path) -> dict[str, Any]:
    values: dict[object, Any] = {TABLE: str(table), VECTORS: dict.fromkeys(LANGUAGES, str(vectors_beside(table)))}
    return {
        key: values[value] if value is TABLE or value is VECTORS else value for key, value in SETTINGS[name].items()
    }


def make(name: str, table: Path) -> Augmenter:
    method = registry.create("augment", name, settings_of(name, table))
    assert isinstance(method, Augmenter)
    return method


def text_of(result: Result) -> str:
    """Everything in a result, item by item."""
    sentences = [*result.corpus, *((reject.reason, reject.sentence) for reject in result.rejects)]
    return json.dumps([repr(each) for each in sentences])


def by_id(result: Result) -> dict[str, Sentence | Reject]:
    found: dict[str, Sentence | Reject] = {sentence.id: sentence for sentence in result.corpus}
    for reject in result.rejects:
        assert reject.sentence is not None
        found[reject.sentence.id] = reject
    return found


@pytest.fixture(scope="module", autouse=True)
def _fake_language_models() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        fakes.install(patch, owners(make_scripts()))
        yield


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpora = [make_corpus(), make_scripts()]
    path = write_table(corpora, tmp_path_factory.mktemp("table"))
    write_vectors(corpora, path)
    return path


Written = Callable[..., Result]


@pytest.fixture(scope="module")
def written(corpus: Corpus, table: Path) -> Written:
    """The output of a method for the corpus, made once for all tests that only read it."""
    return cache(lambda name, copies=COPIES: augment(corpus, make(name, table), copies=copies))


def test_every_method_is_covered() -> None:
    assert set(METHODS) == set(SETTINGS), "give each registered method an entry in SETTINGS, and no other"


@pytest.mark.parametrize("name", METHODS)
class TestMethod:
    def test_words_keep_their_type(self, name: str, corpus: Corpus, written: Written) -> None:
        result = written(name)
        assert result.tally.written > len(corpus) / 4
        for sentence in result.corpus:
            assert [word.split(".")[0] for word in sentence.words] == [type_[:3] for type_ in types_over(sentence)]

    def test_words_of_any_script_keep_every_code_point(self, name: str, table: Path) -> None:
        scripts = make_scripts()
        owner = owners(scripts)
        result = augment(scripts, make(name, table), copies=20)
        assert result.tally.written
        for sentence in result.corpus:
            for word, type_ in zip(sentence.words, types_over(sentence), strict=True):
                assert owner.get(word) == type_, f"{word!r} is new, or has changed its type"

    def test_extra_columns_go_with_their_words(self, name: str, written: Written) -> None:
        for sentence in written(name).corpus:
            (column,) = sentence.columns
            assert len(column) == len(sentence)
            pairs = zip(column, sentence.words, strict=True)
            assert all(value in (word, UNKNOWN_COLUMN) for value, word in pairs), "each column repeats the words"

    def test_every_item_has_one_outcome(self, name: str, corpus: Corpus, written: Written) -> None:
        result = written(name)
        assert result.tally.read == result.tally.written + result.tally.rejected == COPIES * len(corpus)
        assert len(result.corpus) == result.tally.written
        assert len(result.rejects) == result.tally.rejected
        assert len(by_id(result)) == result.tally.read, "ids must be distinct, those of rejects as well"
        assert all(reject.reason.strip() for reject in result.rejects)

    def test_origin_names_method_parent_and_copy(self, name: str, corpus: Corpus, written: Written) -> None:
        result = written(name)
        origins = [sentence.origin for sentence in result.corpus]
        origins += [reject.sentence.origin for reject in result.rejects if reject.sentence]
        assert {(o.method, o.parents, o.copy) for o in origins if o} == {
            (name, (sentence.id,), copy) for sentence in corpus for copy in range(1, COPIES + 1)
        }

    def test_a_written_sentence_differs_from_its_parent(self, name: str, corpus: Corpus, written: Written) -> None:
        for sentence in written(name).corpus:
            assert sentence.origin is not None
            parent = corpus.by_id[sentence.origin.parents[0]]
            assert (sentence.words, sentence.labels) != (parent.words, parent.labels)

    def test_same_seed_same_bytes(self, name: str, corpus: Corpus, table: Path) -> None:
        first, second = (text_of(augment(corpus, make(name, table), seed=3)) for _ in range(2))
        assert first == second

    def test_other_seeds_and_copies_differ(self, name: str, corpus: Corpus, table: Path, written: Written) -> None:
        assert text_of(written(name, 1)) != text_of(augment(corpus, make(name, table), seed=4))
        words: dict[str, set[tuple[str, ...]]] = {}
        for sentence in written(name).corpus:
            assert sentence.origin is not None
            words.setdefault(sentence.origin.parents[0], set()).add(sentence.words)
        assert max(map(len, words.values())) > 1

    def test_batch_size_does_not_matter(self, name: str, corpus: Corpus, table: Path) -> None:
        texts = {text_of(augment(corpus, make(name, table), copies=2, batch_size=n)) for n in (1, 7, 1000)}
        assert len(texts) == 1

    def test_order_of_the_corpus_does_not_matter(
        self, name: str, corpus: Corpus, table: Path, written: Written
    ) -> None:
        shuffled = random.Random(1).sample(list(corpus), len(corpus))
        assert by_id(written(name, 1)) == by_id(augment(shuffled, make(name, table)))

    def test_a_stream_is_enough_to_fit(self, name: str, corpus: Corpus, table: Path, written: Written) -> None:
        method = make(name, table)
        method.fit(iter(corpus))
        streamed = collect(run(tasks(corpus, 1), batch_augmentation(method, 0)))
        assert text_of(streamed) == text_of(written(name, 1))

    def test_accepts_sentences_that_training_has_not_seen(self, name: str, corpus: Corpus, table: Path) -> None:
        method = make(name, table)
        method.fit(corpus)
        unseen = [_of_parts([("o", "never seen"), ("NEW", "NEW.1 NEW.2")], 1000)]
        result = collect(run(tasks(unseen, 20), batch_augmentation(method, 0)))
        assert result.tally.read == 20
        assert name in WRITERS or all(types_over(sentence)[-1] == "NEW" for sentence in result.corpus)

    def test_keeps_the_global_random_state(self, name: str, corpus: Corpus, table: Path) -> None:
        random.seed(0)
        before = random.getstate()
        augment(corpus, make(name, table))
        assert random.getstate() == before

    def test_refuses_unknown_and_wrong_settings(self, name: str, table: Path) -> None:
        settings = settings_of(name, table)
        with pytest.raises(SettingsError, match="no_such_setting"):
            registry.create("augment", name, {**settings, "no_such_setting": 1})
        for field in dataclasses.fields(registry.get("augment", name)):
            if field.init:
                with pytest.raises(SettingsError, match=field.name):
                    registry.create("augment", name, {**settings, field.name: [["wrong"]]})
            else:
                assert field.name.startswith("_")
                assert not field.repr

    def test_values_out_of_range_are_named(self, name: str, table: Path) -> None:
        for setting, value, message in WRONG:
            if setting in registry.defaults("augment", name):
                with pytest.raises(SettingsError, match=message):
                    registry.create("augment", name, {**settings_of(name, table), setting: value})

    def test_module_has_one_public_class(self, name: str) -> None:
        module = inspect.getmodule(registry.get("augment", name))
        classes = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
        assert len([c for c in classes if not c.__name__.startswith("_")]) == 1


@pytest.mark.parametrize("name", [name for name in METHODS if registry.get("augment", name).fit is not Augmenter.fit])
def test_generate_before_fit_is_an_error(name: str, corpus: Corpus, table: Path) -> None:
    with pytest.raises(UnfittedError, match=f"{name} is not fitted: call fit before generate"):
        make(name, table).generate(corpus[0], random.Random(0))


@pytest.mark.parametrize("name", [*LEARN_WORDS, *LEARN_ENTITIES])
def test_refuses_gold_with_nothing_to_learn_from(name: str, table: Path) -> None:
    for gold in ([], [Sentence(("nobody", "came"), id="1")])[: 1 + (name in LEARN_ENTITIES)]:
        with pytest.raises(DataError, match=f"no training sentence.*, so {name} has nothing to learn from"):
            make(name, table).fit(gold)


def test_hash_seed_does_not_matter(table: Path, written: Written) -> None:
    other_seed = "0" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    here = "".join(f"{text_of(written(name, 1))}\n" for name in METHODS)
    assert here.count("\n") == len(METHODS)
    assert _text_in_a_process(table, other_seed) == here


def _text_in_a_process(table: Path, hash_seed: str) -> str:
    command = [sys.executable, "-P", __file__, str(table)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def _main(table: Path) -> None:
    """Print the result of every method; run in a process with another hash seed."""
    corpus = make_corpus()
    with pytest.MonkeyPatch.context() as patch:
        fakes.install(patch, owners(make_scripts()))
        for name in METHODS:
            print(text_of(augment(corpus, make(name, table))))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
