import pytest
from transformers import BertConfig

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import SettingsError, UnfittedError
from nersery.core.registry import name_of
from nersery.core.training_context import Training
from nersery.select.agreement import Agreement
from nersery.select.base import select
from nersery.select.certainty import Certainty
from nersery.select.self_training import SelfTraining
from nersery.taggers.bilstm_crf import BiLSTMCRF
from nersery.taggers.transformer import TransformerTagger

GOLD = [Sentence(("Ada", "won"), (Entity(0, 1, "PER"),), id="gold")]
NEW = Corpus([Sentence(("Ada", "lost"), id="a~1"), Sentence(("Oslo", "is", "far", "away"), id="b~1")])


class Unsure:
    """Is more certain of longer words."""

    types = ("PER",)

    def __init__(self):
        self.asked = []

    def certainty(self, sentences, *, passes, seed):
        self.asked.append((passes, seed))
        return [tuple(min(1.0, len(word) / 4) for word in s.words) for s in sentences]


def test_the_score_is_the_mean_over_words():
    tagger = Unsure()
    result = select(NEW, Certainty(threshold=0.85, passes=3), GOLD, training=Training(seed=7, tagger=lambda: tagger))
    assert [s.scores for s in result.corpus] == [{"certainty": 0.875}]
    assert [(r.reason, r.sentence.scores) for r in result.rejects] == [("certainty < 0.85", {"certainty": 0.8125})]
    assert tagger.asked == [(3, 7)]


@pytest.mark.parametrize(("entities", "is_noted"), [((), True), ((Entity(0, 1, "PER"),), False)])
def test_notes_that_there_are_no_labels_to_judge(entities, is_noted, capsys):
    candidates = [*NEW, Sentence(("Ada",), entities, id="c~1")]
    select(candidates, Certainty(), GOLD, training=Training(tagger=Unsure))
    assert ("note: no candidate has an entity, but certainty judges labels" in capsys.readouterr().err) == is_noted
    select([], Certainty(), GOLD, training=Training(tagger=Unsure))
    assert "note" not in capsys.readouterr().err


def test_scores_come_from_a_tagger_loaded_from_a_folder(tmp_path, monkeypatch):
    tagger = BiLSTMCRF(steps=20, word_size=8, spelling_size=8, hidden_size=8, dropout=0.2)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    selector = Certainty(tagger=str(tmp_path / "tagger"), passes=4)
    selector.fit(GOLD, Training(seed=5))
    assert selector.score(NEW) == [sum(words) / len(words) for words in tagger.certainty(NEW, passes=4, seed=5)]


def test_a_killed_agreement_job_loses_few_sentences(tmp_path):
    sizes = []

    class Counted(Unsure):
        def predict(self, sentences):
            sizes.append(len(sentences))
            return sentences

    new = Corpus(Sentence(("Ada",), (Entity(0, 1, "PER"),), id=str(n)) for n in range(300))
    select(new, "agreement", GOLD, training=Training(tagger=Counted), output=tmp_path / "kept.jsonl", quiet=True)
    assert sizes == [256, 44]


@pytest.mark.parametrize("selector", [Certainty(), SelfTraining()], ids=name_of)
def test_a_tagger_without_dropout_is_refused_before_it_is_trained(selector, tiny_model, tmp_path):
    selector.check_tagger(TransformerTagger(tiny_model))
    selector.check_tagger(BiLSTMCRF())
    selector.check_tagger(TransformerTagger(str(tmp_path / "nowhere")))
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    BertConfig.from_pretrained(tiny_model, **rates).save_pretrained(tmp_path)
    for tagger in (TransformerTagger(str(tmp_path)), BiLSTMCRF(dropout=0.0)):
        with pytest.raises(SettingsError, match="does not have"):
            selector.check_tagger(tagger)
    selector.check_tagger(TransformerTagger(str(tmp_path), dropout=0.1))


def test_a_named_tagger_without_dropout_is_refused_when_checked(tmp_path):
    for dropout in (0.0, 0.2):
        tagger = BiLSTMCRF(steps=1, word_size=8, spelling_size=8, hidden_size=8, dropout=dropout)
        tagger.fit(GOLD)
        tagger.save(tmp_path / str(dropout))
    with pytest.raises(SettingsError, match="does not have"):
        Certainty(tagger=str(tmp_path / "0.0")).check()
    Certainty(tagger=str(tmp_path / "0.2")).check()
    Certainty().check()


def test_check_refuses_own_tagger_settings_without_dropout():
    with pytest.raises(SettingsError, match="does not have"):
        SelfTraining(tagger={"method": "bilstm_crf", "dropout": 0.0}).check()


@pytest.mark.parametrize("settings", [{"threshold": 1.1}, {"threshold": -0.1}, {"passes": 0}], ids=str)
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(SettingsError, match=next(iter(settings))):
        Certainty(**settings)


def test_score_before_fit_is_an_error():
    with pytest.raises(UnfittedError, match="call fit before score"):
        Certainty().score(GOLD)
    with pytest.raises(UnfittedError, match="agreement is not fitted: call fit before score"):
        Agreement().score(NEW)
