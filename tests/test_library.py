"""The functions of the library: in memory, into files, over shards, and resumed."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jedi
import numpy as np
import pytest

import nersery
from nersery.annotate.qa_prompting import QaPrompting
from nersery.augment.base import Augmenter
from nersery.augment.eda import EDA
from nersery.augment.mention_replacement import MentionReplacement
from nersery.core import registry
from nersery.core.alignments import Link
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.ensemble import Ensemble
from nersery.crosslingual.aligners.external import External
from nersery.crosslingual.label_projection.projection import NO_WORD
from nersery.select.duplicates import Duplicates
from nersery.taggers.bilstm_crf import BiLSTMCRF
from tests.cli.calls import call
from tests.standins import sentences

GOLD = nersery.Corpus(sentences(24))


def test_public_names_exist_and_import_loads_no_heavy_package() -> None:
    for name in nersery.__all__:
        assert name in dir(nersery)
        assert getattr(nersery, name) is not None
    errors = [getattr(nersery, name) for name in nersery.__all__ if name.endswith("Error")]
    assert {error.exit_code for error in errors if issubclass(error, nersery.NerseryError)} == {1, 2, 3, 4, 5}
    assert nersery.DataError is DataError
    code = "import sys, nersery; print(sorted({'torch', 'transformers', 'typer', 'numpy'} & sys.modules.keys()))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nersery.nothing  # noqa: B018


def test_a_package_has_the_signature_of_its_function() -> None:
    for name in ("annotate", "augment", "evaluate", "select"):
        function = getattr(
            importlib.import_module(f"nersery.{name}.{'scores' if name == 'evaluate' else 'base'}"), name
        )
        assert inspect.signature(getattr(nersery, name)) == inspect.signature(function)
        assert str(function.__doc__).splitlines()[0] in pydoc.render_doc(getattr(nersery, name))


def test_a_package_can_still_be_imported_by_the_name_of_its_function() -> None:
    import nersery.augment.base as base

    assert base.augment(GOLD, "mention_replacement").tally == nersery.augment(GOLD, "mention_replacement").tally


@pytest.mark.parametrize(("shards", "workers"), [(None, 1), (10, 1), (10, 2)])
def test_augment_writes_what_it_makes_in_memory(tmp_path: Path, shards: int | None, workers: int) -> None:
    file = tmp_path / "gold.jsonl"
    nersery.write(GOLD, file)
    made = nersery.augment(GOLD, "mention_replacement", rate=0.8, copies=2, seed=3)
    output = tmp_path / "more.jsonl"
    job = {"output": output, "shards": shards, "workers": workers, "quiet": True}
    tally = nersery.augment(file, "mention_replacement", rate=0.8, copies=2, seed=3, **job)
    assert tally == made.tally
    assert [s.words for s in nersery.read(output)] == [s.words for s in made.corpus]
    with pytest.raises(SettingsError, match="exists already"):
        nersery.augment(file, "mention_replacement", output=output, shards=shards, quiet=True)


@pytest.mark.usefixtures("saves_each_batch")
def test_a_killed_augment_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call starts at the item where the first was interrupted."""
    generated: list[str] = []
    whole = MentionReplacement.generate

    def generate(self, sentence, rng):
        if len(generated) == 16:
            raise KeyboardInterrupt
        generated.append(sentence.id)
        return whole(self, sentence, rng)

    options = {"output": tmp_path / "more.jsonl", "batch_size": 4, "seed": 3, "quiet": True}
    monkeypatch.setattr(MentionReplacement, "generate", generate)
    with pytest.raises(KeyboardInterrupt):
        nersery.augment(GOLD, "mention_replacement", **options)
    assert (tmp_path / "more.jsonl.part" / "journal.json").exists()
    generated[:] = ["start"] * 17
    with pytest.raises(SettingsError, match="seed: was 3, now 4"):
        nersery.augment(GOLD, "mention_replacement", **{**options, "seed": 4})
    nersery.augment(GOLD, "mention_replacement", **options)
    resumed = [id for id in generated if id != "start"]
    assert resumed == [sentence.id for sentence in GOLD][-len(resumed) :]
    assert 0 < len(resumed) <= 12
    made = nersery.augment(GOLD, "mention_replacement", seed=3)
    assert [*nersery.read(tmp_path / "more.jsonl")] == [*made.corpus]


def test_sample_draws_what_the_command_draws(tmp_path: Path) -> None:
    file, target = tmp_path / "gold.jsonl", tmp_path / "sample.jsonl"
    nersery.write(GOLD, file)
    assert call("dataset", "sample", str(file), str(target), "--size", "7", "--seed", "3").code == 0
    for corpus in (GOLD, file, list(GOLD)):
        assert nersery.sample(corpus, 7, seed=3) == nersery.read(target)
    assert len(nersery.sample(GOLD, np.int64(5), "random")) == 5
    for size in (0, 25, 2.5, "7", True):
        with pytest.raises(SettingsError, match=r"size|sample"):
            nersery.sample(GOLD, size)
    with pytest.raises(SettingsError, match="stratified"):
        nersery.sample(GOLD, 5, "stratfied")


def test_settings_need_a_name_and_shards_an_output() -> None:
    with pytest.raises(SettingsError, match=r"settings \(rate\) require a method's name"):
        nersery.augment(GOLD, MentionReplacement(), rate=0.5)
    with pytest.raises(SettingsError, match="name the folder to write"):
        nersery.augment(GOLD, "mention_replacement", shards=10)


def test_a_folder_that_appears_during_the_training_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = BiLSTMCRF.save

    def save(self: BiLSTMCRF, folder: Path) -> None:
        saved(self, folder)
        (tmp_path / "tagger").mkdir(exist_ok=True)

    monkeypatch.setattr(BiLSTMCRF, "save", save)
    with pytest.raises(SettingsError, match="exists already"):
        nersery.train(GOLD, "bilstm_crf", output=tmp_path / "tagger", quiet=True, epochs=1)
    assert not [*(tmp_path / "tagger").iterdir()]


def test_select_train_predict_evaluate(tmp_path: Path) -> None:
    more = nersery.augment(GOLD, "mention_replacement", rate=1.0, seed=1).corpus
    kept = nersery.select(more, "duplicates", GOLD)
    assert nersery.select(more, "duplicates", GOLD, output=tmp_path / "kept.jsonl", quiet=True) == kept.tally
    folder = tmp_path / "tagger"
    tagger = nersery.train(GOLD, "bilstm_crf", output=folder, seed=1, quiet=True, epochs=2)
    with pytest.raises(SettingsError, match="exists already"):
        nersery.train(GOLD, "bilstm_crf", output=folder, quiet=True)
    assert not (tmp_path / "tagger.training").exists()
    predicted = nersery.predict(GOLD, folder)
    assert [s.labels for s in predicted.corpus] == [s.labels for s in tagger.predict(GOLD.sentences)]
    assert nersery.predict(GOLD, folder, output=tmp_path / "predicted.jsonl", quiet=True) == predicted.tally
    assert nersery.evaluate(GOLD, tmp_path / "predicted.jsonl") == nersery.evaluate(GOLD, predicted.corpus)
    labelled = nersery.annotate(GOLD, "tagger_labels", tagger=str(folder))
    assert [s.labels for s in labelled.corpus] == [s.labels for s in predicted.corpus]


def test_run_refuses_a_recipe_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no recipe"):
        nersery.run("nothing", output=tmp_path)


GERMAN = nersery.Corpus(
    nersery.Sentence(tuple(word.upper() for word in sentence.words), id=sentence.id) for sentence in GOLD
)


def test_align_and_project_do_the_same_in_memory_and_in_files(tmp_path: Path) -> None:
    alignments = nersery.align(GOLD, GERMAN, seed=1)
    made = nersery.project(GOLD, GERMAN, alignments, quiet=True)
    assert made.tally.read == len(GOLD) == made.tally.written + made.tally.rejected
    assert made.corpus
    assert all(sentence.labels == GOLD.by_id[sentence.id].labels for sentence in made.corpus)
    source, target, links, output = (tmp_path / name for name in ("en.jsonl", "de.jsonl", "en-de.align", "p.jsonl"))
    nersery.write(GOLD, source)
    nersery.write(GERMAN, target)
    assert nersery.align(source, target, seed=1, output=links, quiet=True).written == len(GOLD)
    assert nersery.project(source, target, links, output=output, quiet=True) == made.tally
    assert [s.labels for s in nersery.read(output)] == [s.labels for s in made.corpus]


def test_project_accepts_settings_and_further_sources_but_not_other_text() -> None:
    alignments = nersery.align(GOLD, GERMAN)
    none = nersery.project(GOLD, GERMAN, alignments, keep=(), quiet=True)
    assert not any(sentence.entities for sentence in none.corpus)
    both = nersery.project(GOLD, GERMAN, alignments, also=[(GOLD, alignments)], quiet=True)
    assert [s.labels for s in both.corpus] == [GOLD.by_id[s.id].labels for s in both.corpus]
    with pytest.raises(nersery.core.errors.DataError, match="23 lines of alignments, expected 24"):
        nersery.project(GOLD, GERMAN, alignments[:-1])
    with pytest.raises(SettingsError, match='no setting "treshold"'):
        nersery.project(GOLD, GERMAN, alignments, treshold=0.5)
    with pytest.raises(SettingsError, match='voting is "weighed"; did you mean "weighted"'):
        nersery.project(GOLD, GERMAN, alignments, voting="weighed")
    with pytest.raises(SettingsError, match='pair_by is "ids"; did you mean "id"'):
        nersery.project(GOLD, GERMAN, alignments, pair_by="ids")
    with pytest.raises(SettingsError, match="the first word is 2, expected 0 or 1"):
        nersery.align(GOLD, GERMAN, first=2)
    with pytest.raises(SettingsError, match="name the folder to write"):
        nersery.align(GOLD, GERMAN, shards=3)


@pytest.mark.parametrize(
    ("alignments", "message"),
    [
        (iter([()]), "the alignments are <list_iterator .*, expected a list with the alignment of each pair"),
        ([((0, 0), (1, 1))], r"alignment 1 is \(\(0, 0\), \(1, 1\)\), expected links such as"),
        ([(), "0-0 1-1"], "alignment 2 is '0-0 1-1', expected links such as"),
    ],
    ids=["iterator", "pairs", "text"],
)
def test_refuses_wrong_alignments(alignments: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        nersery.project(GOLD, GERMAN, alignments)


def test_project_accepts_numpy_numbers_and_any_id() -> None:
    source = nersery.Sentence(("Ada", "slept"), (nersery.Entity(0, 1, "PER"),), id="a\nb")
    target = nersery.Sentence(("schlief", "Ada"), id="t")
    made = nersery.project([source], [target], [(Link(np.int64(0), np.int64(1)),)], quiet=True)
    assert [type(value) for value in made.corpus[0].labels[0]] == [int, int, str]
    (reject,) = nersery.project([source], [target], [(Link(1, 0),)], quiet=True).rejects
    assert reject.reason == NO_WORD
    assert reject.sentence is not None
    assert reject.sentence.comments[0].endswith(rf"of a\nb: {NO_WORD}")


def test_align_accepts_the_class_or_name_of_an_aligner(tmp_path: Path) -> None:
    for method, name in ((Ensemble, "class"), ("ensemble", "name")):
        output = tmp_path / f"{name}.align"
        nersery.align(GOLD, GERMAN, method, output=output, members={"statistical": {}}, quiet=True)
    assert (tmp_path / "class.align").read_bytes() == (tmp_path / "name.align").read_bytes()
    with pytest.raises(MissingResourceError, match="on the PATH"):
        nersery.align(GOLD, GERMAN, External, output=tmp_path / "x.align", program="mgiza", quiet=True)
    assert not (tmp_path / "x.align.training").exists()


def test_import_takes_under_0_15_seconds() -> None:
    code = "import sys, time; start = time.process_time(); import nersery; print(time.process_time() - start)"
    times = [float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)]
    assert min(times) < 0.15


def test_methods_by_class_equal_methods_by_name(tmp_path: Path) -> None:
    by_name = nersery.augment(GOLD, "mention_replacement", rate=0.9, seed=2)
    assert nersery.augment(GOLD, MentionReplacement, rate=0.9, seed=2).corpus == by_name.corpus
    output = tmp_path / "more.jsonl"
    assert nersery.augment(GOLD, MentionReplacement, rate=0.9, seed=2, output=output, quiet=True) == by_name.tally
    assert nersery.augment(GOLD, EDA, operations=["shuffle"], output=tmp_path / "eda.jsonl", quiet=True).read
    assert nersery.select(by_name, Duplicates, GOLD).tally.read == len(by_name.corpus)
    with pytest.raises(SettingsError, match='no setting "rat"'):
        nersery.augment(GOLD, MentionReplacement, rat=0.9)
    with pytest.raises(SettingsError, match="expected the name, the class or an instance"):
        nersery.augment(GOLD, Duplicates)  # type: ignore[call-overload]
    with pytest.raises(SettingsError, match="expected the name, the class or an instance"):
        nersery.augment(GOLD, 3)  # type: ignore[call-overload]


def test_accepts_a_method_class_of_another_package() -> None:
    class Louder(Augmenter):
        def generate(self, sentence: nersery.Sentence, rng: object) -> nersery.Sentence:
            return replace(sentence, words=tuple(word.upper() for word in sentence.words))

    made = nersery.augment(GOLD, dataclass(Louder)).corpus
    assert made[0].words == tuple(word.upper() for word in GOLD[0].words)


def test_tagger_in_memory_equals_the_tagger_in_its_folder(tmp_path: Path, tiny_masked_lm: str) -> None:
    tagger = nersery.train(GOLD, BiLSTMCRF, epochs=2, quiet=True)
    tagger.save(tmp_path / "tagger")
    by_folder = nersery.predict(GOLD, tmp_path / "tagger")
    assert nersery.predict(GOLD, tagger).corpus == by_folder.corpus
    more = nersery.augment(GOLD, "mention_replacement", rate=1.0)
    kept = nersery.select(more, "agreement", GOLD, tagger=tagger)
    assert kept.corpus == nersery.select(more, "agreement", GOLD, tagger=tmp_path / "tagger").corpus
    assert nersery.annotate(GOLD, "tagger_labels", tagger=tagger).tally.read == len(GOLD)
    for method in ("mention_replacement", MentionReplacement):
        with pytest.raises(SettingsError, match='no setting "tagger"'):
            nersery.augment(GOLD, method, tagger=tagger)  # type: ignore[call-overload]
    with pytest.raises(SettingsError, match='no setting "tagger"'):
        nersery.select(more, "duplicates", GOLD, tagger=tagger)
    flip = partial(nersery.augment, GOLD, "flipda", model=tiny_masked_lm, epochs=1, candidates=2)
    assert flip(tagger=tagger).corpus == flip(tagger=tmp_path / "tagger").corpus
    for function, given in (
        (nersery.predict, (tagger,)),
        (nersery.select, ("agreement", GOLD)),
        (nersery.augment, ("flipda", GOLD)),
    ):
        options = {"tagger": tagger} if len(given) == 2 else {}
        with pytest.raises(SettingsError, match="only in memory"):
            function(GOLD, *given, output=tmp_path / "out.jsonl", **options)


def test_the_readme_script_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_masked_lm: str, tiny_model: str, capsys: Any
) -> None:
    """The script itself, with tiny models in place of the defaults and other sentences."""
    page = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    script = page.partition("```python\n")[2].partition("```")[0]
    assert sum(map(bool, script.splitlines())) == 8
    parts = {"train": sentences(24), "validation": sentences(8, 100), "test": sentences(8, 200)}
    splits = {name: nersery.Corpus(part).to_dataset() for name, part in parts.items()}
    monkeypatch.setattr("datasets.load_dataset", lambda _, split: [splits[one.partition("[")[0]] for one in split])
    monkeypatch.chdir(tmp_path)
    defaults = {"melm": {"model": tiny_masked_lm, "epochs": 1}, "transformer": {"model": tiny_model, "steps": 4}}
    made = registry.create
    monkeypatch.setattr(registry, "create", lambda kind, name, given=None: made(kind, name, defaults.get(name, {})))
    monkeypatch.setattr("nersery.taggers.training.gold_tagger.create", registry.create)
    exec(compile(script, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("F1 ")
    assert (tmp_path / "my-tagger" / "nersery.json").exists()


def test_an_editor_completes_functions_and_settings() -> None:
    for code, expected in (
        ("nersery.", {"read", "augment", "annotate", "align", "project", "select", "train", "predict", "grow", "run"}),
        ('nersery.augment(gold, "melm", ', {"mask_rate=", "epochs=", "copies=", "workers="}),
        ("nersery.train(gold, ", {"epochs=", "head=", "dev="}),
        ('nersery.select(more, "agreement", gold, ', {"threshold=", "tagger=", "seed="}),
    ):
        assert expected <= {found.name for found in jedi.Script(f"import nersery\n{code}").complete()}


def test_a_saved_tagger_is_loaded_once_for_several_calls(tmp_path: Path) -> None:
    nersery.train(GOLD, "bilstm_crf", steps=2, output=tmp_path / "tagger", quiet=True)
    tagger = nersery.load_tagger(tmp_path / "tagger")
    first, second = nersery.predict(GOLD[:5], tagger), nersery.predict(GOLD[5:], tagger)
    assert [*first, *second] == [*nersery.predict(GOLD, tmp_path / "tagger")]
    with pytest.raises(MissingResourceError, match=r"there is no folder .*taggers \(did you mean .*tagger"):
        nersery.load_tagger(tmp_path / "taggers")


def test_signatures_show_no_default_of_a_training_context() -> None:
    assert "training: 'Training' = Training(), **" in str(inspect.signature(nersery.select))
    assert repr(Training(seed=3)) == "Training(seed=3)"


def test_evaluate_pairs_sentences_with_other_ids_by_order() -> None:
    plain = [nersery.Sentence(s.words, s.entities, f"raw:{n}") for n, s in enumerate(GOLD)]
    assert nersery.evaluate(GOLD, plain).micro.f1 == 1
    shifted = [replace(s, id=str(n + 5)) for n, s in enumerate(GOLD)]
    assert nersery.evaluate(GOLD, shifted).micro.f1 == 1
    reordered = [*reversed(GOLD.sentences)]
    assert nersery.evaluate(GOLD, reordered).micro.f1 == 1
    with pytest.raises(nersery.core.errors.DataError):
        nersery.evaluate(GOLD, plain[1:])
    with pytest.raises(nersery.core.errors.DataError, match="other words"):
        nersery.evaluate(GOLD, [*reversed(plain)])


def test_evaluate_notes_files_without_entities(capsys: pytest.CaptureFixture[str]) -> None:
    nersery.evaluate(GOLD, [sentence.with_entities(()) for sentence in GOLD])
    assert "note: no sentence of predicted has an entity, so F1 is 0" in capsys.readouterr().err


@pytest.mark.parametrize("copies", [1.5, "2", None, True])
def test_refuses_a_wrong_number_of_copies(copies: Any) -> None:
    with pytest.raises(SettingsError, match=rf"copies is {copies!r}, expected a whole number"):
        nersery.augment(GOLD, "mention_replacement", copies=copies)


def test_error_of_annotator_without_gold_names_no_command_line_option() -> None:
    with pytest.raises(SettingsError, match=r"sentences with them as gold$") as caught:
        QaPrompting().types_to_find([])
    assert "--" not in str(caught.value)
