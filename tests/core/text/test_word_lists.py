from pathlib import Path

import pytest

from nersery.core.errors import DataError, MissingResourceError
from nersery.core.text.word_lists import check_file, read_names, read_words


def test_words_are_read_in_lower_case(tmp_path: Path):
    (tmp_path / "words.txt").write_bytes("\ufeffThe\r\n\nयह\nwi\u200cth\n".encode())
    assert read_words(tmp_path / "words.txt") == {"the", "यह", "wi\u200cth"}


def test_all_broken_lines_are_named(tmp_path: Path):
    (tmp_path / "words.txt").write_text("the\nan\tarticle\n of\n")
    with pytest.raises(DataError) as error:
        read_words(tmp_path / "words.txt")
    assert [issue.line for issue in error.value.issues] == [2, 3]


def test_names_lose_the_quotation_marks_of_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "names.csv").write_text('aspirin \n"acid, acetic"\n"the ""Heroes"""\n"Weird Al" Yankovic\n""\n')
    assert read_names(tmp_path / "names.csv") == ["aspirin", "acid, acetic", 'the "Heroes"', '"Weird Al" Yankovic']
    assert not capsys.readouterr().err


@pytest.mark.parametrize("text", ["aspirin\ribuprofen\r", "a\0s\0p\0\n\0", "aspirin\tDB00945\n"])
def test_names_have_no_control_characters(tmp_path: Path, text: str):
    (tmp_path / "names.txt").write_bytes(text.encode())
    with pytest.raises(DataError, match="has a tab or another control character"):
        read_names(tmp_path / "names.txt")


def test_a_list_that_seems_to_be_a_table_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "names.csv").write_text('name;id\n"aspirin";DB00945\n')
    read_names(tmp_path / "names.csv")
    assert "save its column of names" in capsys.readouterr().err


def test_a_header_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for text, noted in (("\ufeffName\r\naspirin\r\n", True), ("aspirin\nname\n", False), ("name\n", False)):
        (tmp_path / f"{noted}-{len(text)}.csv").write_text(text, "utf-8", newline="")
        read_names(tmp_path / f"{noted}-{len(text)}.csv")
        assert ("is 'Name'. If it is the header of a table, remove it" in capsys.readouterr().err) == noted


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nmes.txt", r"does not exist: did you mean names\.txt\?"),
        ("x", "does not exist: correct the setting that names it"),
        ("C:\\x\temp.txt", r"C:\\x\\temp\.txt does not exist: its name has a control character"),
    ],
)
def test_the_name_of_a_missing_file_is_corrected(tmp_path: Path, name: str, advice: str):
    (tmp_path / "names.txt").touch()
    with pytest.raises(MissingResourceError, match=advice):
        check_file(tmp_path / name)
