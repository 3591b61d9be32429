"""Notes on text that was read in another encoding and saved again."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery import io
from nersery.io.input_files.mojibake import note_of_mojibake

NAMES = "José B-PER\nMüller I-PER\nin O\nMünchen B-LOC\n\nहिन्दी O\n"


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1"])
@pytest.mark.parametrize("name", ["garbled.conll", "garbled.txt"])
def test_notes_garbled_text_and_its_probable_original(
    name: str, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    written = NAMES.splitlines(keepends=True)[:4]
    path = tmp_path / name
    path.write_text("".join(written).encode().decode(encoding), "utf-8")
    io.read(path)
    note = f'{path}: characters seem to have been read in another encoding and saved again: "Ã©" was perhaps "é"'
    assert note in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("“José Müller, René", "windows-1252"),
        ("“José” Müller, René", "latin-1"),
        ("Ángel Íñigo Über", "latin-1"),
        ("नमस्ते दुनिया राम", "latin-1"),
    ],
)
def test_the_command_restores_the_text(text: str, encoding: str):
    garbled = text.encode().decode(encoding)
    target = note_of_mojibake(garbled).split(" -t ")[1].split()[0]
    assert garbled.encode(target) == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        NAMES,
        "Ã©",  # once may be an example
        "São Tomé e Príncipe, ÃO, É\N{NO-BREAK SPACE}» «À»\n" * 9,
        "“Ça” — “À propos”…\n" * 9,
        "東京 は 日本 の 首都\n" * 9,
        "Đường Nguyễn Huệ ở đâu?\n" * 9,
        'JosÃ© is "José" read in another encoding; é, è, ê, ü, ö, ä, ß are not\n' * 9,
    ],
)
def test_does_not_note_other_text(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "text.txt"
    path.write_text(text, "utf-8")
    io.read(path)
    assert "another encoding" not in capsys.readouterr().err


def test_a_file_in_another_encoding_is_not_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "text.txt"
    path.write_text("JosÃ© MÃ¼ller MÃ¼nchen\n", "latin-1")  # these bytes are UTF-8, which another note says
    io.read(path, encoding="latin-1")
    assert "saved again" not in capsys.readouterr().err
