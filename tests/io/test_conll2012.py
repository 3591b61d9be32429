"""OntoNotes in the format of CoNLL-2012: entities in brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import open_corpus, read

ROWS = (
    ("Julie", "NNP", "(PERSON*", "(ARG0*", "(0"),
    ("Walter", "NNP", "*)", "*)", "0)"),
    ("lives", "VBZ", "*", "(V*)", "-"),
    ("Ohio", "NNP", "(GPE)", "*", "-"),
)


def save(tmp_path: Path, *sentences: tuple[tuple[str, ...], ...], name: str = "a.v4_gold_conll") -> Path:
    text = "#begin document (bn/abc_0019); part 000\n"
    for rows in sentences:
        for at, (word, pos, entity, *rest) in enumerate(rows):
            text += f"bn/abc_0019   0   {at}   {word}   {pos}   (S*  -  -  -  - {entity}  {'  '.join(rest)}\n"
        text += "\n"
    path = tmp_path / name
    path.write_text(f"{text}#end document\n", "utf-8")
    return path


@pytest.mark.parametrize("name", ["a.v4_gold_conll", "a.conll", "a.txt", "a"])
def test_brackets_are_entities(tmp_path: Path, name: str) -> None:
    path = save(
        tmp_path, ROWS, (("Ohio", "NNP", "(GPE*", "-"), ("State", "NNP", "*", "-"), ("U", "NNP", "*)", "-")), name=name
    )
    assert open_corpus(path).description == "conll2012, IOB2, word 4, entity 11"
    first, second = read(path)
    assert (first.words, first.labels) == (("Julie", "Walter", "lives", "Ohio"), ((0, 2, "PERSON"), (3, 4, "GPE")))
    assert (first.columns, first.comments) == (
        (("NNP", "NNP", "VBZ", "NNP"),),
        ("#begin document (bn/abc_0019); part 000",),
    )
    assert second.labels == ((0, 3, "GPE"),)


@pytest.mark.parametrize("entity", ["*)", "(GPE*)x", "GPE"])
def test_brackets_that_do_not_pair_are_told_with_their_line(tmp_path: Path, entity: str) -> None:
    with pytest.raises(DataError, match=r":4 .*cannot be read"):
        read(save(tmp_path, (*ROWS[:2], ("lives", "VBZ", entity, "-"))))


def test_an_entity_may_not_be_open_where_another_begins(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r":3 .*'\(GPE\)' cannot be read"):
        read(save(tmp_path, (ROWS[0], ROWS[3])))


def test_a_file_without_sentences(tmp_path: Path) -> None:
    assert list(read(save(tmp_path))) == []
