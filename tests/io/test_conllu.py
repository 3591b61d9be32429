"""CoNLL-U with entity tags in MISC, as in treebanks and in Stanza's output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, open_corpus, read, write

HEAD = "# newdoc id = a\n# sent_id = s-1\n# text = Om Ada Lovelace\n# text_en = x\n# note = y\n# more = z\n"


def treebank(*misc: str) -> str:
    words = ("Om", "Ada", "Lovelace")
    rows = (
        f"{n}\t{word}\t_\tX\t_\t_\t0\troot\t_\t{m}\n" for n, (word, m) in enumerate(zip(words, misc, strict=True), 1)
    )
    return HEAD + "".join(rows) + "\n"


@pytest.mark.parametrize(
    ("misc", "description", "rest"),
    [
        (("name=O", "name=B-PER", "SpaceAfter=No name=I-PER"), "IOB2, tags from name=", ("_", "_", "SpaceAfter=No")),
        (("_", "NE=B-PER|CorrectForm=B-", "NE=I-PER"), "IOB2, tags from NE=", ("_", "CorrectForm=B-", "_")),
        (
            ("start_char=0|end_char=2|ner=O", "ner=B-PER|Typo=O", "ner=E-PER"),
            "BIOES, tags from ner=",
            ("start_char=0|end_char=2", "Typo=O", "_"),
        ),
    ],
)
@pytest.mark.parametrize("name", ["a.conllu", "a.conll", "a.txt", "a"])
def test_the_tags_are_found_under_any_key(
    tmp_path: Path, name: str, misc: tuple[str, ...], description: str, rest: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(treebank(*misc), "utf-8")
    assert open_corpus(path).description == f"conllu, {description} in column 10"
    [sentence] = read(path)
    assert (sentence.id, sentence.words, sentence.labels) == ("s-1", ("Om", "Ada", "Lovelace"), ((1, 3, "PER"),))
    assert sentence.columns[-1] == rest
    write([sentence], tmp_path / "b.conll")
    [again] = read(tmp_path / "b.conll")
    assert (again.words, again.labels, again.columns) == (sentence.words, sentence.labels, sentence.columns)


def test_reports_ranges_and_wrong_tags_as_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rows = treebank("_", "NER=B-PER", "NER=I-PER").replace("\n2\t", "\n2-3\tAdaL\t_\t_\t_\t_\t_\t_\t_\t_\n2\t")
    path.write_text(rows, "utf-8")
    with pytest.raises(DataError, match=r":8 .*'AdaL' combines the words 2-3"):
        read(path)
    assert read(path, repair="extra-rows")[0].labels == ((1, 3, "PER"),)
    path.write_text(treebank("NER=O", "NER=O", "NER=I-PER"), "utf-8")
    assert open_corpus(path).description.startswith("conllu, IOB1")
    with pytest.raises(DataError, match=r":9 .*'I-PER' continues an entity"):
        read(path, scheme="IOB2")


@pytest.mark.parametrize(
    ("tag", "words", "found"),
    [
        ("S-PER", ("_", "_"), ((1, 3, "PER"),)),
        ("B-PER", ("_", "_"), ((1, 3, "PER"),)),
        ("O", ("_", "_"), ()),
        ("S-PER", ("NER=O", "NER=S-LOC"), ((2, 3, "LOC"),)),
    ],
)
def test_words_without_tags_get_the_tag_of_their_range(
    tmp_path: Path, tag: str, words: tuple[str, ...], found: tuple[tuple[int, int, str], ...]
) -> None:
    """As Stanza writes them."""
    path = tmp_path / "a.conllu"
    rows = treebank("NER=O", *words).replace("\n2\t", f"\n2-3\tAdaL\t_\t_\t_\t_\t_\t_\t_\tNER={tag}\n2\t")
    path.write_text(rows, "utf-8")
    assert read(path, repair="extra-rows")[0].labels == found
    with pytest.raises(DataError, match="combines the words 2-3") as caught:
        read(path)
    assert len(caught.value.issues) == 1
    path.write_text(re.sub(r"\n2\t.*\n3\t", "\n4\t", rows), "utf-8")
    [sentence] = read(path)
    assert sentence.words == ("Om", "AdaL", "Lovelace")
    assert {(1, 2, "PER")}.issuperset(set(sentence.labels) - {(2, 3, "LOC")})


def test_refuses_a_treebank_without_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(treebank("_", "SpaceAfter=No", "_"), "utf-8")
    with pytest.raises(DataError, match="no key in MISC, after the last tab, holds tags such as NER=B-PER"):
        open_corpus(path)


def test_reads_a_tag_column_if_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(treebank("SpaceAfter=No", "_", "_").replace("\tX\t_", "\tX\tB-LOC"), "utf-8")
    assert open_corpus(path).description == "conll, IOB2, 10 columns: word 2, tag 5"
    path.write_text(treebank("NER=O", "NER=B-PER", "NER=I-PER").replace("\tX\t_", "\tX\tO"), "utf-8")
    assert open_corpus(path, ReadOptions(tag_column=5)).description.startswith("conll, IOB2, 10 columns: word 2, tag 5")
