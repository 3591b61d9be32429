"""What is noted of links that belong to other words than those that are projected."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery import Corpus, Sentence, project


@pytest.mark.parametrize(("links", "is_noted"), [("0-0 1-1", True), ("0-0 2-1", False), ("0-0 3-1", False)])
def test_links_of_a_source_that_was_split_at_spaces_when_it_was_aligned_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], links: str, is_noted: bool
) -> None:
    """The labels of a file of text have its punctuation apart, and `align` reads the file itself word by word."""
    path = tmp_path / "links"
    path.write_text(f"{links}\n" * 12, "utf-8")
    source = Corpus.from_texts(["Ada, here."] * 12)
    project(source, [Sentence(("Ada,", "hier."))] * 12, path)
    note = "links seems to have been aligned with the words that spaces part in source, and its punctuation is apart"
    assert (note in capsys.readouterr().err) == is_noted
