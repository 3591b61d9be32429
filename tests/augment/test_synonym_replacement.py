import random
from collections import Counter
from pathlib import Path

import pytest

from nersery import Entity, Sentence
from nersery.augment.synonym_replacement import SynonymReplacement
from nersery.core.errors import DataError, MissingResourceError
from nersery.core.outcome import Reject

SENTENCE = Sentence(("The", "Car", "of", "Mark", "Twain"), (Entity(3, 5, "PER"),), columns=(tuple("abcde"),))


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "synonyms.tsv"
    path.write_text("car\tautomobile\tmotor vehicle\nmark\tgrade point\nof\tfrom\n")
    return str(path)


def outcomes(method: SynonymReplacement, times: int = 2000) -> list[Sentence]:
    method.fit([])
    rng = random.Random(0)
    return [method.generate(SENTENCE, rng) for _ in range(times)]


def test_words_become_synonyms_and_entities_grow(table: str):
    texts = {(new.text, new.mention(new.entities[0])) for new in outcomes(SynonymReplacement(1.0, table=table))}
    mention = ("Grade", "point", "Twain")
    assert texts == {
        ("The Automobile from Grade point Twain", mention),
        ("The Motor vehicle from Grade point Twain", mention),
    }


def test_extra_columns_are_emptied_for_new_words(table: str):
    assert {new.columns[0][-2:] for new in outcomes(SynonymReplacement(1.0, table=table))} == {("_", "e")}


def test_synonyms_are_drawn_evenly_at_the_rate(table: str):
    counts = Counter(new.words[1] for new in outcomes(SynonymReplacement(0.4, table=table), 5000))
    assert counts["Car"] / 5000 == pytest.approx(0.6, abs=0.03)
    assert counts["Motor"] / 5000 == pytest.approx(0.2, abs=0.03)


def test_stop_words_stay(table: str, tmp_path: Path):
    (tmp_path / "stop.txt").write_text("OF\nmark\n")
    method = SynonymReplacement(1.0, table=table, stop_words=str(tmp_path / "stop.txt"))
    assert {new.words[-3:] for new in outcomes(method, 20)} == {("of", "Mark", "Twain")}


def test_a_sentence_without_synonyms_is_rejected(table: str):
    method = SynonymReplacement(1.0, table=table)
    method.fit([])
    assert method.generate(Sentence(("Twain", "slept")), random.Random(0)) == Reject("no synonyms")


def test_a_sentence_without_a_chosen_word_is_not_rejected(table: str):
    assert outcomes(SynonymReplacement(0.0, table=table), 1)[0].words == SENTENCE.words


def test_refuses_a_table_without_a_synonym(tmp_path: Path):
    path = tmp_path / "table.tsv"
    path.write_text("car\tCar\n")
    with pytest.raises(DataError, match="no word has another word as a synonym"):
        SynonymReplacement(table=str(path)).fit([])


@pytest.mark.parametrize("setting", ["table", "stop_words", "wordnet"])
def test_refuses_missing_files_before_fit(table: str, setting: str):
    files = {"table": "" if setting == "wordnet" else table, setting: "/none/such"}
    with pytest.raises(MissingResourceError, match="/none/such"):
        SynonymReplacement(**files)


def test_refuses_to_run_without_wordnet_or_table(tmp_path: Path):
    with pytest.raises(MissingResourceError, match="wordnet-base") as error:
        SynonymReplacement(wordnet=str(tmp_path)).fit([])
    assert str(tmp_path) in str(error.value)
    assert "word<TAB>synonym" in str(error.value)


def test_a_missing_table_does_not_fall_back_on_wordnet(tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"no\.tsv"):
        SynonymReplacement(table=str(tmp_path / "no.tsv")).fit([])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("他 在 工 作", ", because each is one character or syllable: split gold into whole words\n"),
        ("Ada was here", '.tsv": name a table of its language\n'),
        ("他 在 工作", ""),
        ("", ""),
    ],
)
def test_notes_a_table_that_does_not_fit_the_text(
    text: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table = tmp_path / "words.tsv"
    table.write_text("工作\t职业\n", "utf-8")
    SynonymReplacement(table=str(table)).fit([Sentence(tuple(text.split()))] if text else [])
    err = capsys.readouterr().err
    assert err.endswith(note) if note else not err
