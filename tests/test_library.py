"""The functions of the library: in memory, into files, over shards, and resumed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nersery
from nersery.augment.mention_replacement import MentionReplacement
from nersery.core.errors import SettingsError
from tests.standins import sentences

GOLD = nersery.Corpus(sentences(24))


def test_all_public_names_exist_and_importing_nersery_is_fast_and_light() -> None:
    for name in nersery.__all__:
        assert name in dir(nersery)
        assert getattr(nersery, name) is not None
    code = "import sys, nersery; print(sorted({'torch', 'transformers', 'typer', 'numpy'} & sys.modules.keys()))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nersery.nothing  # noqa: B018


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


def test_a_killed_augment_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call starts at the item where the first was interrupted."""
    monkeypatch.setattr("nersery.pipeline.job.CHECKPOINT_SECONDS", 0.0)
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
    with pytest.raises(SettingsError, match="seed: there 3, asked for 4"):
        nersery.augment(GOLD, "mention_replacement", **{**options, "seed": 4})
    nersery.augment(GOLD, "mention_replacement", **options)
    resumed = [id for id in generated if id != "start"]
    assert resumed == [sentence.id for sentence in GOLD][-len(resumed) :]
    assert 0 < len(resumed) <= 12
    made = nersery.augment(GOLD, "mention_replacement", seed=3)
    assert [*nersery.read(tmp_path / "more.jsonl")] == [*made.corpus]


def test_settings_need_a_name_and_shards_an_output() -> None:
    with pytest.raises(SettingsError, match=r"settings \(rate\) go with a method's name"):
        nersery.augment(GOLD, MentionReplacement(), rate=0.5)
    with pytest.raises(SettingsError, match="name the folder to write"):
        nersery.augment(GOLD, "mention_replacement", shards=10)


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


def test_run_returns_the_report(tmp_path: Path) -> None:
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


def test_projection_takes_its_settings_and_further_sources_and_refuses_other_text() -> None:
    alignments = nersery.align(GOLD, GERMAN)
    none = nersery.project(GOLD, GERMAN, alignments, keep=(), quiet=True)
    assert not any(sentence.entities for sentence in none.corpus)
    both = nersery.project(GOLD, GERMAN, alignments, also=[(GOLD, alignments)], quiet=True)
    assert [s.labels for s in both.corpus] == [GOLD.by_id[s.id].labels for s in both.corpus]
    with pytest.raises(nersery.core.errors.DataError, match="23 lines of alignments, expected 24"):
        nersery.project(GOLD, GERMAN, alignments[:-1])
    with pytest.raises(SettingsError, match='no setting "treshold"'):
        nersery.project(GOLD, GERMAN, alignments, treshold=0.5)
    with pytest.raises(SettingsError, match="name the folder to write"):
        nersery.align(GOLD, GERMAN, shards=3)
