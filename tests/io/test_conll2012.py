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


@pytest.mark.parametrize(
    ("entities", "line"),
    [
        (("(PERSON*", "*)", "*)", "*"), 4),
        (("(PERSON*", "*)", "(GPE*)x", "*"), 4),
        (("(PERSON*", "*)", "(GPE*", "*"), 4),
        (("(PERSON*", "*", "(GPE)", "*)"), 4),
        (("((GPE)*", "*)", "*", "*"), 2),
    ],
)
def test_reports_unpaired_brackets_with_their_line(tmp_path: Path, entities: tuple[str, ...], line: int) -> None:
    rows = tuple((word, pos, entity, "-") for (word, pos, *_), entity in zip(ROWS, entities, strict=True))
    with pytest.raises(
        DataError, match=rf":{line} .*cannot be read: its bracket is nested or has no partner"
    ) as caught:
        read(save(tmp_path, rows, ROWS))
    assert {issue.line for issue in caught.value.issues} <= {line, line + 1}
    assert "close every bracket" in str(caught.value)


def test_columns_cannot_be_named(tmp_path: Path) -> None:
    for option in ("word_column", "tag_column"):
        with pytest.raises(DataError, match=r"CoNLL-2012 are fixed: word 4, entity 11\n.*leave out `word_column`"):
            read(save(tmp_path, ROWS), **{option: 2})


def test_a_file_without_sentences(tmp_path: Path) -> None:
    assert list(read(save(tmp_path))) == []


@pytest.mark.parametrize("word", ["1\u00a01/2", "\u3000"])
def test_splits_columns_only_at_spaces_and_tabs(tmp_path: Path, word: str) -> None:
    [sentence] = read(save(tmp_path, ((word, "CD", "(CARDINAL)", "*"), ("pounds", "NNS", "*", "*"))))
    assert (sentence.words, sentence.labels) == ((word, "pounds"), ((0, 1, "CARDINAL"),))
