"""Soft labels: prediction, files and training."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nersery import Corpus, Entity, Sentence, io
from nersery.annotate.base import annotate
from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import SoftLabel
from nersery.core.training_context import Training
from nersery.models.subwords.windows import Window
from nersery.taggers.base import Tagger, labels_hash
from nersery.taggers.bilstm_crf import BiLSTMCRF
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.decoding import CERTAIN_PROBABILITY, labelled
from nersery.taggers.output_layer.tag_set import OutputScheme, TagSet
from nersery.taggers.output_layer.tagging_loss import examples, loss
from tests.standins import Memory, sentences

SOFT = (SoftLabel(0, "LOC", 0.3, 0.0), SoftLabel(0, "PER", 0.6, 0.0), SoftLabel(1, "PER", 0.1, 0.5))
SENTENCE = Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),), id="a", soft_labels=SOFT)
SMALL = {"word_size": 8, "spelling_size": 4, "character_size": 4, "hidden_size": 8}


@pytest.fixture(scope="module")
def tagger() -> BiLSTMCRF:
    tagger = BiLSTMCRF(steps=25, **SMALL)
    tagger.fit(sentences(24))
    return tagger


class TestSentences:
    def test_json_lines_keep_soft_labels(self, tmp_path: Path) -> None:
        io.write([SENTENCE], tmp_path / "a.jsonl")
        assert io.read(tmp_path / "a.jsonl")[0] == SENTENCE

    def test_parquet_keeps_soft_labels(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        from nersery.io import parquet

        io.write([SENTENCE, Sentence(("x",), id="b")], tmp_path / "a.jsonl")
        parquet.write_lines(tmp_path / "a.jsonl", tmp_path / "a.parquet")
        assert list(io.read(tmp_path / "a.parquet")) == [SENTENCE, Sentence(("x",), id="b")]

    def test_new_labels_or_words_drop_soft_labels_but_renaming_keeps_them(self) -> None:
        assert SENTENCE.with_entities(SENTENCE.entities).soft_labels == ()
        assert SENTENCE.replace_span(0, 1, ["Grace"]).soft_labels == ()
        named = SENTENCE.with_types({"LOC": "", "PER": "person"})
        assert named.soft_labels == (SoftLabel(0, "person", 0.6, 0.0), SoftLabel(1, "person", 0.1, 0.5))

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([SoftLabel(3, "PER", 0.5, 0.0)], "outside the 3 words"),
            ([SoftLabel(0, "PER", 1.5, 0.0)], r"expected probabilities in \[0, 1\]"),
            ([SoftLabel(0, "PER", float("nan"), 0.0)], r"expected probabilities in \[0, 1\]"),
            ([SoftLabel(0, "LOC", 0.6, 0.0), SoftLabel(0, "PER", 0.6, 0.0)], "add up to 1.2, more than 1"),
            ([SoftLabel(0, "a\tb", 0.6, 0.0)], "a type is a name"),
            ([SoftLabel("0", "PER", 0.6, 0.0)], "must be a whole number"),  # type: ignore[arg-type]
        ],
    )
    def test_refuses_invalid_soft_labels(self, labels: list[SoftLabel], message: str) -> None:
        with pytest.raises(DataError, match=message):
            replace(SENTENCE, soft_labels=labels)

    def test_error_about_invalid_soft_labels_in_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"words": ["x"], "soft_labels": [{"word": 0, "type": "PER"}]}\n')
        with pytest.raises(DataError, match=r'"soft_labels" is .*expected a list of'):
            io.read(tmp_path / "a.jsonl")

    def test_hash_of_training_data_includes_soft_labels(self) -> None:
        assert labels_hash([SENTENCE]) != labels_hash([replace(SENTENCE, soft_labels=())])


class TestPrediction:
    def test_labels_equal_predict_and_only_uncertain_words_get_soft_labels(self, tagger: Tagger) -> None:
        unseen = sentences(20, start=300)
        soft, hard = tagger.predict_soft(unseen), tagger.predict(unseen)
        assert [s.labels for s in soft] == [s.labels for s in hard]
        assert any(s.soft_labels for s in soft)
        for sentence in soft:
            for word in {label.word for label in sentence.soft_labels}:
                own = [label for label in sentence.soft_labels if label.word == word]
                shares = [share for label in own for share in (label.begin, label.inside)]
                assert max([*shares, 1 - sum(shares)]) < CERTAIN_PROBABILITY + 0.01

    def test_the_batch_does_not_matter(self, tagger: Tagger) -> None:
        unseen = sentences(6, start=300)
        assert tagger.predict_soft(unseen) == [tagger.predict_soft([sentence])[0] for sentence in unseen]

    def test_a_network_that_computes_nan_is_refused(self, tagger: Tagger) -> None:
        broken = copy.deepcopy(tagger)
        for weights in broken._network.parameters():
            torch.nn.init.constant_(weights, torch.nan)
        for ask in (broken.predict, broken.predict_soft, broken.certainty):
            with pytest.raises(SettingsError, match="computes NaN"):
                ask(sentences(2))

    def test_soft_labels_are_the_marginal_probabilities(self) -> None:
        tags = TagSet.of(["PER"])
        scores = torch.tensor([[0.0, 1.0, -1.0], [0.0, 0.5, 0.7]])
        (found,) = labelled([Sentence(("a", "b"))], [scores.unsqueeze(1)], tags, None, soft=True)
        paths = {
            (x, y): float((scores[0, x] + scores[1, y]).exp()) for x in (0, 1) for y in range(3) if (x, y) != (0, 2)
        }
        total = sum(paths.values())
        begin, inside = (sum(p for (_, y), p in paths.items() if y == tag) / total for tag in (1, 2))
        assert found.soft_labels[1].word == 1
        assert found.soft_labels[1].begin == pytest.approx(begin, abs=1e-4)
        assert found.soft_labels[1].inside == pytest.approx(inside, abs=1e-4)

    def test_a_model_of_another_library_has_no_soft_labels(self) -> None:
        with pytest.raises(SettingsError, match="only taggers that nersery trained"):
            labelled([], [], TagSet(("O", "I-PER"), strict=False), None, soft=True)

    def test_refuses_a_tagger_without_probabilities(self) -> None:
        with pytest.raises(SettingsError, match='has no soft labels: choose labels = "hard"'):
            Memory().predict_soft([SENTENCE])


class TestTraining:
    @pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
    @pytest.mark.parametrize("head", ["linear", "crf"])
    def test_the_student_learns_the_probabilities(self, scheme: OutputScheme, head: str) -> None:
        """The batch includes a sentence with hard labels, whose gradient is as without soft labels."""
        tags = TagSet.of(["LOC", "PER"], scheme)
        crf = ConditionalRandomField(tags)
        window = Window((0, 1, 2), (0, 1, 2), 0, (0, 3))
        hard = replace(SENTENCE, soft_labels=())
        batch = [*examples([window], SENTENCE, tags), *examples([window], hard, tags)]
        scores = torch.zeros(2, 3, len(tags.names), requires_grad=True)
        mask = torch.ones(2, 3, dtype=torch.bool)
        optimizer = torch.optim.Adam([scores, *crf.parameters()], 0.2)
        for _ in range(150):
            optimizer.zero_grad()
            loss(scores, mask, batch, crf if head == "crf" else None, tags).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        probabilities = crf.marginals(scores, mask) if head == "crf" else scores.softmax(2)
        labels = (probabilities @ tags.label_of_tag).detach()
        # columns: none, none, LOC begins and continues, PER begins and continues
        torch.testing.assert_close(labels[0, 0], torch.tensor([0.1, 0.0, 0.3, 0.0, 0.6, 0.0]), atol=0.05, rtol=0)
        torch.testing.assert_close(labels[0, 1], torch.tensor([0.4, 0.0, 0.0, 0.0, 0.1, 0.5]), atol=0.05, rtol=0)
        assert labels[0, 2, 0] > 0.95
        assert labels[1, [0, 1, 2], [4, 5, 0]].min() > 0.95

    def test_trains_reproducibly_on_hard_and_soft_labels(self, tagger: BiLSTMCRF) -> None:
        soft = tagger.predict_soft(sentences(20, start=300))

        def trained() -> BiLSTMCRF:
            student = BiLSTMCRF(steps=10, **SMALL)
            student.fit([*sentences(8), *soft])
            return student

        one, other = (list(trained().network.parameters()) for _ in range(2))
        assert all(map(torch.equal, one, other))
        plain = BiLSTMCRF(steps=10, **SMALL)
        plain.fit([*sentences(8), *(replace(s, soft_labels=()) for s in soft)])
        assert not all(map(torch.equal, one, plain.network.parameters()))

    def test_a_type_that_only_soft_labels_have_counts_as_outside(self) -> None:
        targets = TagSet.of(["PER"]).soft_targets(SENTENCE)
        torch.testing.assert_close(targets[0], torch.tensor([0.4, 0.0, 0.6, 0.0]))
        torch.testing.assert_close(targets[2], torch.tensor([1.0, 0.0, 0.0, 0.0]))


def test_annotated_text_has_soft_labels_under_the_new_names(tagger: BiLSTMCRF, tmp_path: Path) -> None:
    raw = Corpus(s.with_entities(()) for s in sentences(20, start=300))
    method = TaggerLabels(labels="soft", types={"PER": "person"})
    annotate(raw, method, training=Training(tagger=lambda: tagger), output=tmp_path / "out.jsonl", quiet=True)
    types = {label.type for sentence in io.read(tmp_path / "out.jsonl") for label in sentence.soft_labels}
    assert types == {"LOC", "person"}
