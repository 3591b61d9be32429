from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.core.word_lists import read_words


def test_words_are_read_in_lower_case(tmp_path: Path):
    (tmp_path / "words.txt").write_bytes("\ufeffThe\r\n\nयह\nwi\u200cth\n".encode())
    assert read_words(tmp_path / "words.txt") == {"the", "यह", "wi\u200cth"}


def test_all_broken_lines_are_named(tmp_path: Path):
    (tmp_path / "words.txt").write_text("the\nan\tarticle\n of\n")
    with pytest.raises(DataError) as error:
        read_words(tmp_path / "words.txt")
    assert [issue.line for issue in error.value.issues] == [2, 3]
