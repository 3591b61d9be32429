"""What the tab key offers in bash."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tests.cli.calls import app


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("aug", "augment"),
        ("inspect d", "doctor"),
        ("augment a b --met", "--method"),
        ("augment a b --method mel", "melm"),
        ("label review a b --g", "--goal"),
        ("crosslingual align a b --method st", "statistical"),
        ("train a b --method bi", "bilstm_crf"),
        ("grow --raw a --raw b --min", "--minutes"),
        ("convert zz", ""),
        ("nothing zz", ""),
    ],
)
def test_commands_options_and_methods_are_completed(line: str, offered: str) -> None:
    words = f"nersery {line}"
    given = {"_NERSERY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = CliRunner().invoke(app, [], env=given, prog_name="nersery")
    assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, offered, "")
