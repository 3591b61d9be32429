from __future__ import annotations

from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.annotate.base import annotate
from nersery.annotate.gazetteer_labels import GazetteerLabels
from nersery.core.errors import DataError, MissingResourceError, SettingsError, UnfittedError
from nersery.core.warnings import forget_notes

Labels = tuple[tuple[int, int, str], ...]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("places.txt").write_text("Rio\nRio de Janeiro\nSão Paulo\nParis\n\nbuenos aires\n", "utf-8")
    Path("people.txt").write_text("Paris\nAda Lovelace\n", "utf-8")


def labels(text: str, gold: list[Sentence] | None = None, language: str = "", **settings: object) -> Labels | str:
    """The labels of a sentence, or the reason why it is rejected."""
    settings = settings or {"files": {"LOC": "places.txt"}}
    result = annotate(Corpus([Sentence(text.split(), language=language)]), "gazetteer_labels", gold or [], **settings)
    return result.rejects[0].reason if result.rejects else result.corpus[0].labels


def test_the_longest_name_is_labelled() -> None:
    assert labels("Rio is Rio de Janeiro .") == ((0, 1, "LOC"), (2, 5, "LOC"))


@pytest.mark.parametrize("text", ["São Paulo", "São\u00a0Paulo", "Sa\u0303o Paulo"])
def test_the_spelling_of_a_name_does_not_matter(text: str) -> None:
    assert labels(f"in {text}") == ((1, 1 + len(text.split()), "LOC"),)


@pytest.mark.parametrize("text", ["IL-2", "IL - 2", "IL -2", "IL- 2"])
def test_spaces_beside_punctuation_or_digits_do_not_matter(text: str) -> None:
    for name in ("IL-2", "IL - 2"):
        Path("genes.txt").write_text(name, "utf-8")
        assert labels(f"in {text}", files={"GENE": "genes.txt"}) == ((1, 1 + len(text.split()), "GENE"),)


@pytest.mark.parametrize(
    ("name", "text"),
    [("Alzheimer's", "Alzheimer ’s"), ("Jean–Luc", "Jean‑Luc"), ('the "Heroes"', "the “Heroes”"), ('צה"ל', "צה״ל")],
)
def test_typographic_characters_do_not_matter(name: str, text: str) -> None:
    for listed, found in ((name, text), (text, name)):
        Path("names.txt").write_text(listed, "utf-8")
        for ignore_case in (False, True):
            settings = {"files": {"X": "names.txt"}, "ignore_case": ignore_case}
            assert labels(f"in {found}", **settings) == ((1, 1 + len(found.split()), "X"),)


def test_the_ending_of_a_mention_may_have_another_apostrophe() -> None:
    gold = [Sentence(("İzmir’de",), (Entity(0, 1, "LOC"),), id="g", language="tr")]
    assert labels("İzmir'e ya da İzmir", gold, language="tr", files={}) == ((0, 1, "LOC"), (3, 4, "LOC"))


def test_a_name_may_have_many_words() -> None:
    for name in (" ".join(["of"] * 40), "北京大学" * 20):
        Path("books.txt").write_text(name, "utf-8")
        text = name if " " in name else " ".join(name)
        assert labels(f"in {text} .", files={"CW": "books.txt"}) == ((1, 1 + len(text.split()), "CW"),)


@pytest.mark.parametrize(("name", "text"), [("Ina", "In a house"), ("Asa", "As a rule"), ("अनुराधा", "अनु राधा")])
def test_words_do_not_run_together_into_a_name(name: str, text: str) -> None:
    Path("people.txt").write_text(name, "utf-8")
    for ignore_case in (False, True):
        assert labels(text, files={"PER": "people.txt"}, ignore_case=ignore_case) == "no name"


def test_a_name_is_whole_words() -> None:
    assert labels("Parisian Paris-based Paris") == ((2, 3, "LOC"),)


def test_case_matters_unless_ignored() -> None:
    assert labels("PARIS Buenos Aires paris") == "no name"
    ignored = {"files": {"LOC": "places.txt"}, "ignore_case": True}
    assert labels("PARIS Buenos Aires paris", **ignored) == ((0, 1, "LOC"), (1, 3, "LOC"), (3, 4, "LOC"))


@pytest.mark.parametrize("listed", ["aspirin", "Insulin", "ASPIRIN"])
def test_capitals_are_ignored_if_gold_has_more_of_the_names_then(listed: str, capsys: pytest.CaptureFixture) -> None:
    Path("drugs.txt").write_text("Aspirin\nInsulin\nUse\n", "utf-8")
    gold = [
        Sentence(("the", name, "use", "of", name), (Entity(1, 2, "DRUG"), Entity(4, 5, "DRUG")), id=name)
        for name in ("aspirin", "insulin")
    ]
    settings = {"files": {"DRUG": "drugs.txt"}}
    assert labels(f"take {listed} for use", gold, **settings) == ((1, 2, "DRUG"),)
    assert "capitals are ignored: 4 mentions of gold are then on the lists, and 0 with capitals" in (
        capsys.readouterr().err
    )
    assert labels(f"take {listed} for use", gold, **settings, ignore_case=False) == (
        ((1, 2, "DRUG"),) if listed in ("aspirin", "Insulin") else "no name"
    )


def test_capitals_matter_if_they_tell_names_from_words() -> None:
    Path("people.txt").write_text("Reading\nUse\nAda\n", "utf-8")
    gold = [Sentence(("Ada", "is", "reading", "for", "use"), (Entity(0, 1, "PER"),), id="g")]
    assert labels("reading with Ada", gold, files={"PER": "people.txt"}) == ((2, 3, "PER"),)


def test_an_ending_behind_an_apostrophe_belongs_to_the_name() -> None:
    assert labels("São Paulo'da Paris’te", language="tr") == ((0, 2, "LOC"), (2, 3, "LOC"))
    assert labels("São Paulo'da", language="en") == "no name"


def test_a_mention_of_gold_is_found_with_another_ending() -> None:
    gold = [Sentence(("İzmir'de",), (Entity(0, 1, "LOC"),), id="g", language="tr")]
    assert labels("İzmir'e ya da İzmir", gold, language="tr", files={}) == ((0, 1, "LOC"), (3, 4, "LOC"))


def test_a_name_on_a_list_may_have_an_ending() -> None:
    Path("films.txt").write_text("Ada'nın\nAda'nın Evi\n", "utf-8")
    found = labels("Ada'nın Evi ve Ada'nın", language="tr", files={"FILM": "films.txt"})
    assert found == ((0, 2, "FILM"), (3, 4, "FILM"))


def test_a_script_without_spaces() -> None:
    Path("places.txt").write_text("北京\n北京大学\n", "utf-8")
    assert labels("我 在 北 京 大 学") == ((2, 6, "LOC"),)
    assert labels("我 在 北京 大学") == ((2, 4, "LOC"),)


def test_a_name_with_several_types_rejects_the_sentence() -> None:
    files = {"LOC": "places.txt", "PER": "people.txt"}
    assert labels("Paris met Ada Lovelace", files=files) == "a name with several types"
    assert labels("Rio met Ada Lovelace", files=files) == ((0, 1, "LOC"), (2, 4, "PER"))


def test_gold_decides_between_types() -> None:
    files = {"LOC": "places.txt", "PER": "people.txt"}
    gold = [Sentence(("in", "Paris", "."), (Entity(1, 2, "LOC"),), id="g")]
    assert labels("Paris", gold, files=files) == ((0, 1, "LOC"),)


def test_gold_adds_its_names_and_removes_those_that_it_uses_otherwise() -> None:
    gold = [
        Sentence(("Rio", "Tinto", "mines", "."), (Entity(0, 2, "CORP"),), id="1"),
        Sentence(("the", "film", "Rio", "."), (), id="2"),
        Sentence(("Paris", "or", "Paris", "."), (Entity(0, 1, "LOC"),), id="3"),
    ]
    assert labels("Rio , Rio Tinto , Paris", gold) == ((2, 4, "CORP"), (5, 6, "LOC"))
    result = annotate(Corpus([Sentence(("Paris", "Rio", "Tinto"))]), GazetteerLabels({"LOC": "places.txt"}), gold)
    assert [entity.score for entity in result.corpus[0].entities] == [2 / 3, 1.0]


def test_types_without_a_list_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    forget_notes()
    gold = [Sentence(("Ada", "in", "Rio"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")))]
    assert labels("Ada Rio", gold) == ((0, 1, "PER"), (1, 2, "LOC"))
    assert "no list of PER. " in capsys.readouterr().err
    assert labels("Ada Rio", gold, files={}) == ((0, 1, "PER"), (1, 2, "LOC"))
    assert capsys.readouterr().err == ""


def test_gold_alone_is_enough() -> None:
    assert labels("Ada wrote", [Sentence(("Ada", "."), (Entity(0, 1, "PER"),))], files={}) == ((0, 1, "PER"),)


def test_what_is_wrong_with_a_list_is_said() -> None:
    with pytest.raises(SettingsError, match="names no file for LOC"):
        GazetteerLabels({"LOC": ""})
    with pytest.raises(MissingResourceError, match=r"missing\.txt does not exist"):
        GazetteerLabels({"LOC": "missing.txt"})
    Path("table.txt").write_text("Paris\tFR\nRio\nOslo\tNO\n")
    with pytest.raises(DataError, match="one name on each line") as error:
        labels("Rio", files={"LOC": "table.txt"})
    assert [issue.line for issue in error.value.issues] == [1, 3]
    Path("empty.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"empty\.txt.*no name"):
        labels("Rio", files={"LOC": "empty.txt"})
    with pytest.raises(SettingsError, match="has no names to look for"):
        labels("Rio", files={})
    with pytest.raises(UnfittedError):
        GazetteerLabels({"LOC": "places.txt"}).annotate([Sentence(("Rio",))])


def test_a_list_of_a_type_that_train_lacks_is_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean"):
        GazetteerLabels({"LOC": "places.txt"}).check_types(["LOCATION", "PER"])


def test_a_list_of_a_type_that_gold_lacks_is_noted(capsys: pytest.CaptureFixture) -> None:
    gold = [Sentence(("Rio", "won"), (Entity(0, 1, "PLACE"),), id="g")]
    assert labels("in Paris", gold, files={"PLACES": "places.txt"}) == ((1, 2, "PLACES"),)
    assert 'a list of PLACES, which gold does not have; did you mean "PLACE"? Known: PLACE' in capsys.readouterr().err


def test_names_that_the_text_lacks_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    forget_notes()
    raw = Corpus([Sentence(("She", "saw", place), id=place) for place in ("Oslo", "Bonn")])
    annotate(raw, "gazetteer_labels", [], files={"PER": "people.txt"})
    note = "no name is in the first 2 sentences, such as 'She saw Oslo'. Known: 2 names, such as 'Paris'. "
    assert note in capsys.readouterr().err
