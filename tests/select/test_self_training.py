from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.core.progress import Progress
from nersery.core.training_context import NO_TRAINING, Training
from nersery.pipeline.stage_job import check_training
from nersery.select import self_training
from nersery.select.base import select
from nersery.select.self_training import SelfTraining
from nersery.taggers.base import Tagger

GOLD = [Sentence(("Oslo", "is"), (Entity(0, 1, "LOC"),), id=f"g{number}") for number in range(4)]
DEV = [Sentence(("Rome", str(number)), (Entity(0, 1, "LOC"),), id=f"d{number}") for number in range(10)]


@dataclass
class Scripted(Tagger):
    """Takes its certainty from the second word of a sentence, and the number of correct dev sentences from a script."""

    script: list[int] = field(default_factory=list)
    trainings: list[list[str]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    fail_at: int = -1
    done: int = 0
    steps: int = 5
    passes: list[int] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)

    def __deepcopy__(self, memo: Any) -> Scripted:
        return replace(self)  # shares the records

    def fit(self, gold, training=NO_TRAINING, *, warm=False) -> dict[str, Any]:
        if len(self.trainings) == self.fail_at:
            raise KeyboardInterrupt
        self.starts.append(self.done if warm else 0)
        self.trainings.append([sentence.id for sentence in gold])
        self.done = len(self.trainings)
        return {}

    @property
    def types(self) -> tuple[str, ...]:
        return ("LOC",)

    def predict(self, sentences, progress=None) -> list[Sentence]:
        right = self.script[self.done]
        return [
            s.with_entities([Entity(0, 1, "LOC")] if s.id[0] != "d" or int(s.words[1]) < right else ())
            for s in sentences
        ]

    def certainty(self, sentences: Sequence[Sentence], *, passes: int, seed: int = 0) -> list[tuple[float, ...]]:
        self.passes.append(passes)
        return [(1.0, 2 * float(s.words[1]) - 1.0) for s in sentences]  # the mean is the number in the word

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "done").write_text(str(self.done))

    @classmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Self:
        raise NotImplementedError


def candidates(*certainties: float) -> Corpus:
    return Corpus(Sentence(("Bonn", str(c)), (Entity(0, 1, "LOC"),), id=f"c{n}") for n, c in enumerate(certainties))


def chosen(tagger: Scripted, pool: Corpus, seed: int = 0, folder: Path | None = None, **settings: Any) -> Any:
    training = Training(DEV, seed, None, folder, lambda: tagger, lambda: tagger)
    return select(pool, SelfTraining(**settings), GOLD, training=training)


def steps_of(result: Any) -> dict[str, float]:
    return {sentence.id: round(1 / sentence.scores["self_training"]) for sentence in result.corpus}


POOL = candidates(0.9, 0.5, 0.7, 0.1, 0.3)


@pytest.mark.parametrize("relabel", [False, True])
def test_notes_that_candidates_have_no_labels_to_judge(relabel: bool, capsys: pytest.CaptureFixture[str]) -> None:
    chosen(Scripted([1] * 9), Corpus(sentence.with_entities(()) for sentence in POOL), relabel=relabel)
    assert ("self_training judges labels" in capsys.readouterr().err) != relabel


class TestStrategies:
    @pytest.mark.parametrize(
        ("strategy", "expected"),
        [
            ("easy_first", {"c0": 1, "c2": 1, "c1": 2, "c4": 2, "c3": 3}),
            ("hard_first", {"c3": 1, "c4": 1, "c1": 2, "c2": 2, "c0": 3}),
            ("all", dict.fromkeys(["c0", "c1", "c2", "c3", "c4"], 1)),
        ],
    )
    def test_strategy_decides_which_candidates_join_in_which_step(
        self, strategy: str, expected: dict[str, int]
    ) -> None:
        result = chosen(Scripted([1, 2, 3, 4, 5]), POOL, strategy=strategy, per_step=2)
        assert steps_of(result) == expected

    def test_the_draw_is_proportional_to_the_exponential_of_the_certainty(self) -> None:
        pool = candidates(1.0, 0.0)
        draws = Counter(
            next(iter(steps_of(chosen(Scripted([1, 2]), pool, seed, per_step=1, steps=1)))) for seed in range(600)
        )
        expected = math.e / (math.e + 1)
        assert draws["c0"] / 600 == pytest.approx(expected, abs=0.06)

    def test_the_order_of_the_candidates_does_not_matter(self) -> None:
        script = [1, 2, 3]
        one = chosen(Scripted(script), POOL, per_step=2, steps=2)
        other = chosen(Scripted(script), Corpus(reversed(POOL.sentences)), per_step=2, steps=2)
        assert steps_of(one) == steps_of(other)

    def test_examines_only_a_sample_of_the_candidates(self) -> None:
        pool = candidates(*(number / 100 for number in range(100)))
        result = chosen(Scripted([1, 2]), pool, strategy="easy_first", per_step=5, examined=20, steps=1)
        assert len(result.corpus) == 5
        assert {sentence.id for sentence in result.corpus} != {f"c{number}" for number in range(95, 100)}

    def test_scores_include_the_certainty(self) -> None:
        result = chosen(Scripted([1, 2]), POOL, strategy="easy_first", per_step=1, steps=1)
        assert result.corpus[0].scores == {"self_training.certainty": pytest.approx(0.9), "self_training": 1.0}

    def test_the_score_of_another_selector_stays_as_it_was(self) -> None:
        pool = Corpus(sentence.with_scores(certainty=0.25) for sentence in POOL)
        result = chosen(Scripted([1, 2]), pool, strategy="easy_first", per_step=1, steps=1)
        assert result.corpus[0].scores["certainty"] == 0.25

    def test_passes_reach_the_tagger(self) -> None:
        tagger = Scripted([1, 2])
        chosen(tagger, POOL, steps=1, passes=3)
        assert tagger.passes == [3]

    def test_judges_in_chunks_with_progress(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = [1, 2, 3]
        whole = chosen(Scripted(script), POOL, per_step=2, steps=2)
        monkeypatch.setattr(self_training, "CHUNK", 2)
        tagger = Scripted(script)
        training = Training(DEV, 0, Progress("learn"), None, lambda: tagger, lambda: tagger)
        parts = select(POOL, SelfTraining(per_step=2, steps=2), GOLD, training=training)
        assert steps_of(parts) == steps_of(whole)
        shown = capsys.readouterr().err
        assert "learn, judge: 5/5" in shown
        assert "learn, judge: 3/3" in shown


class TestBestStep:
    def test_the_best_step_is_kept(self) -> None:
        result = chosen(Scripted([1, 5, 7, 6]), POOL, strategy="easy_first", per_step=1, patience=1)
        assert steps_of(result) == {"c0": 1, "c2": 2}
        assert result.tally.reasons == {"did not join up to the best step": 3}

    def test_patience_waits_for_a_later_rise(self) -> None:
        tagger = Scripted([1, 5, 4, 4, 7, 2])
        result = chosen(tagger, POOL, strategy="easy_first", per_step=1, patience=3)
        assert len(result.corpus) == 4
        assert len(tagger.trainings) == 5

    def test_keeps_nothing_if_no_step_beats_gold(self, capsys: pytest.CaptureFixture[str]) -> None:
        result = chosen(Scripted([5, 5, 4]), POOL, per_step=2)
        assert result.tally.written == 0
        assert result.tally.rejected == len(POOL)
        note = "note: no step beats gold alone (dev F1 66.7), so self_training keeps nothing\n"
        assert capsys.readouterr().err == note

    def test_notes_that_the_tagger_has_learnt_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        chosen(Scripted([0, 0]), POOL, per_step=2)
        note = "(dev F1 0.0), so self_training keeps nothing. Its tagger has learnt nothing: train it longer"
        assert f"{note} (tagger.steps)\n" in capsys.readouterr().err
        chosen(Scripted([1, 2]), POOL, per_step=2, steps=1)
        assert not capsys.readouterr().err

    def test_without_dev_all_steps_are_done_and_kept(self, capsys: pytest.CaptureFixture[str]) -> None:
        tagger = Scripted([0] * 9)
        training = Training(tagger=lambda: tagger, new_tagger=lambda: tagger)
        result = select(POOL, SelfTraining(per_step=1, steps=3), GOLD, training=training)
        assert len(result.corpus) == 3
        assert "note: without dev sentences, the best step is unknown" in capsys.readouterr().err
        empty = [sentence.with_entities(()) for sentence in DEV]
        assert select(POOL, SelfTraining(per_step=1, steps=3), GOLD, training=replace(training, dev=empty)) == result
        assert "note: dev has no entity of a type that the tagger learns" in capsys.readouterr().err
        select(POOL, SelfTraining(per_step=1, steps=1), GOLD, training=replace(training, dev=DEV))
        assert "the best step is unknown" not in capsys.readouterr().err

    def test_candidates_are_removed_from_gold(self, capsys: pytest.CaptureFixture[str]) -> None:
        tagger = Scripted([1, 2])
        training = Training(DEV, 0, None, None, lambda: tagger, lambda: tagger)
        select(POOL, SelfTraining(per_step=2, steps=1, strategy="easy_first"), [*GOLD, *POOL], training=training)
        assert tagger.trainings == [[*(s.id for s in GOLD), "c0", "c2"]]
        note = f"note: 5 of the {len(GOLD) + 5} gold sentences have the id of a candidate, so they are judged"
        assert capsys.readouterr().err == f"{note}, not learnt from\n"

    def test_a_candidate_with_the_id_of_another_gold_sentence_is_refused(self) -> None:
        """For example, data.conll is gold, and data.txt was labelled."""
        other = [replace(GOLD[0], id=POOL[0].id), *GOLD[1:]]
        with pytest.raises(DataError, match=r"sentence c0.*have this id, but other words\nFix: .*rename"):
            select(POOL, SelfTraining(), other, training=Training(new_tagger=lambda: Scripted([1])))

    @pytest.mark.parametrize(("gold", "why"), [((), "to start from"), (POOL, "5 of the 5 gold sentences have the id")])
    def test_error_without_gold_names_the_reason(self, gold: Sequence[Sentence], why: str) -> None:
        tagger = Scripted([1])
        training = Training(DEV, 0, None, None, lambda: tagger, lambda: tagger)
        with pytest.raises(DataError, match="no gold sentence to start from") as caught:
            select(POOL, SelfTraining(), gold, training=training)
        assert why in str(caught.value)

    def test_a_threshold_keeps_the_first_steps(self) -> None:
        settings = {"strategy": "easy_first", "per_step": 1, "steps": 3}
        result = chosen(Scripted([1, 2, 3, 4]), POOL, threshold=0.5, **settings)
        assert steps_of(result) == {"c0": 1, "c2": 2}
        assert result.tally.reasons["joined after the first steps"] == 1

    def test_works_without_candidates(self) -> None:
        assert chosen(Scripted([1]), Corpus()).tally.read == 0


class TestTraining:
    def test_each_step_trains_on_gold_and_all_joined_candidates(self) -> None:
        tagger = Scripted([1, 2, 3])
        chosen(tagger, POOL, strategy="easy_first", per_step=1, steps=2)
        gold = [s.id for s in GOLD]
        assert tagger.trainings == [[*gold, "c0"], [*gold, "c0", "c2"]]

    def test_gold_is_repeated_up_to_its_share(self) -> None:
        tagger = Scripted([1, 2])
        chosen(tagger, candidates(*[0.5] * 16), strategy="all", upsampling=0.5)
        assert len(tagger.trainings[0]) == 32

    def test_trains_from_scratch_or_from_the_previous_weights(self) -> None:
        for warm, starts in ((False, [0, 0]), (True, [0, 1])):
            tagger = Scripted([1, 2, 3])
            chosen(tagger, POOL, per_step=1, steps=2, warm_start=warm)
            assert tagger.starts == starts
        assert tagger.done == 0, "the caller's own tagger is not trained on"

    def test_second_stage_trains_on_gold_only_in_each_step(self) -> None:
        tagger = Scripted([1, 2, 3, 4, 5])
        chosen(tagger, POOL, strategy="easy_first", per_step=1, steps=2, patience=2, second_stage={"steps": 2})
        gold = [s.id for s in GOLD]
        assert tagger.trainings == [[*gold, "c0"], gold, [*gold, "c0", "c2"], gold]
        assert tagger.starts == [0, 1, 0, 3], "the second training goes on with what the first has learnt"
        assert tagger.steps == 5, "the settings of the first training are back"

    def test_relabelled_candidates_get_the_tagger_s_labels_and_are_redrawn(self) -> None:
        bare = Corpus(sentence.with_entities(()) for sentence in POOL)
        tagger = Scripted([1, 2, 3])
        result = chosen(tagger, bare, strategy="hard_first", per_step=2, steps=2, relabel=True)
        assert [len(ids) - len(GOLD) for ids in tagger.trainings] == [2, 4]
        assert {s.id for s in result.corpus} == {"c3", "c4", "c1", "c2"}
        assert all(s.labels == ((0, 1, "LOC"),) for s in result.corpus)
        assert all(reject.sentence.labels == () for reject in result.rejects)

    def test_threshold_uses_the_first_step_of_a_relabelled_candidate(self) -> None:
        settings = {"strategy": "hard_first", "per_step": 1, "steps": 3, "relabel": True}
        result = chosen(Scripted([1, 2, 3, 4]), POOL, **settings)
        assert steps_of(result) == {"c3": 1, "c4": 2, "c1": 3}
        assert steps_of(chosen(Scripted([1, 2, 3, 4]), POOL, threshold=0.5, **settings)) == {"c3": 1, "c4": 2}

    def test_with_entities_excludes_sentences_without_entities(self) -> None:
        mixed = Corpus(s if s.id in ("c1", "c3") else s.with_entities(()) for s in POOL)
        result = chosen(Scripted([1, 2, 3]), mixed, strategy="all", with_entities=True)
        assert {s.id for s in result.corpus} == {"c1", "c3"}

    def test_refuses_invalid_settings(self) -> None:
        with pytest.raises(
            SettingsError, match="per_step is 0, expected 1 or more\nupsampling is 1, expected a number in"
        ):
            SelfTraining(per_step=0, upsampling=1)
        with pytest.raises(SettingsError, match=r"examined is 5, expected at least per_step \(200\)"):
            SelfTraining(examined=5)
        with pytest.raises(SettingsError, match='second_stage: "model" cannot differ in a second training'):
            SelfTraining(second_stage={"model": "x"})
        with pytest.raises(SettingsError, match='has no setting "stps"'):
            SelfTraining(tagger={"stps": 3})
        with pytest.raises(SettingsError, match='second_stage: bilstm_crf has no setting "head_learning_rate"'):
            SelfTraining(tagger={"method": "bilstm_crf"}, second_stage={"head_learning_rate": 1e-3})
        with pytest.raises(SettingsError, match=r"second_stage: transformer.steps is '3'"):
            SelfTraining(second_stage={"steps": "3"}).fit(GOLD)

    def test_scoring_a_sentence_that_is_not_a_candidate_is_an_error(self) -> None:
        selector = SelfTraining()
        for strangers in (POOL, [Sentence(("without", "an", "id"))]):
            with pytest.raises(NerseryError, match="which is not among its candidates"):
                selector.score(strangers)


class TestResume:
    SETTINGS = {"strategy": "easy_first", "per_step": 1, "steps": 4, "patience": 4}  # noqa: RUF012
    SCRIPT = [1, 2, 3, 4, 5]  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def _loads_scripted_taggers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def load(folder: Path) -> Scripted:
            return replace(self.tagger, done=int((folder / "done").read_text()))

        monkeypatch.setattr("nersery.select.self_training.load_tagger", load)

    def test_resumes_at_the_unfinished_step(self, tmp_path: Path) -> None:
        whole = chosen(Scripted(self.SCRIPT), POOL, **self.SETTINGS)
        self.tagger = Scripted(self.SCRIPT, fail_at=2)
        with pytest.raises(KeyboardInterrupt):
            chosen(self.tagger, POOL, folder=tmp_path, **self.SETTINGS)
        done = list(self.tagger.trainings)
        self.tagger.fail_at = -1
        again = chosen(self.tagger, POOL, folder=tmp_path, **self.SETTINGS)
        assert again == whole
        assert self.tagger.trainings[: len(done)] == done
        assert len(self.tagger.trainings) == 4, "no finished step was trained again"

    def test_resumes_after_a_kill_during_the_first_save(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def killed(tagger: Scripted, folder: Path) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "half").touch()
            raise KeyboardInterrupt

        self.tagger = Scripted(self.SCRIPT)
        with monkeypatch.context() as patch:
            patch.setattr(Scripted, "save", killed)
            with pytest.raises(KeyboardInterrupt):
                chosen(self.tagger, POOL, folder=tmp_path, **self.SETTINGS)
        check_training(tmp_path)
        again = chosen(self.tagger, POOL, folder=tmp_path, **self.SETTINGS)
        assert again == chosen(Scripted(self.SCRIPT), POOL, **self.SETTINGS)

    def test_history_records_all_steps(self, tmp_path: Path) -> None:
        self.tagger = Scripted(self.SCRIPT)
        selector = SelfTraining(**self.SETTINGS)
        training = Training(DEV, 0, None, tmp_path, lambda: self.tagger, lambda: self.tagger)
        select(POOL, selector, GOLD, training=training)
        history = json.loads(json.dumps(selector.history))
        assert [step["joined"] for step in history["steps"]] == [0, 1, 1, 1, 1]
        assert [step["sentences"] for step in history["steps"]] == [4, 5, 6, 7, 8]
        assert history["best"] == 4
        f1s = [step["dev_f1"] for step in history["steps"]]
        assert f1s == sorted(f1s)
        assert len(list(tmp_path.glob("tagger-*"))) == 1, "the taggers of earlier steps take no room"

    def test_another_job_s_state_is_refused(self, tmp_path: Path) -> None:
        self.tagger = Scripted(self.SCRIPT)
        chosen(self.tagger, POOL, folder=tmp_path, **self.SETTINGS)
        renamed = Corpus(replace(sentence, id=f"x{sentence.id}") for sentence in POOL)
        for pool, settings in ((POOL, {"passes": 3}), (candidates(0.1), {}), (renamed, {})):
            with pytest.raises(SettingsError, match="holds an unfinished training with other settings"):
                chosen(Scripted(self.SCRIPT), pool, folder=tmp_path, **{**self.SETTINGS, **settings})

    def test_error_about_a_damaged_state(self, tmp_path: Path) -> None:
        (tmp_path / "state.json").write_text("[]")
        with pytest.raises(NerseryError, match="cannot be read"):
            chosen(Scripted(self.SCRIPT), POOL, folder=tmp_path)
