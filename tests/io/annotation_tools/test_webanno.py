"""WebAnno TSV as INCEpTION exports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, open_corpus, read

ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value"
POS = "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue"
TOKENS = (
    "\n\n#Text=Ada Lovelace saw Oslo-based kin.\n"
    "1-1\t0-3\tAda\t_\t_\thttp://x/Q7[1]\tPER[1]\t\n1-2\t4-12\tLovelace\t_\t_\thttp://x/Q7[1]\tPER[1]\t\n"
    "1-3\t13-16\tsaw\tV\tV\t_\t_\t\n1-4\t17-27\tOslo-based\tA\tA\t_\t_\t\n1-5\t28-31\tkin\tN\tN\t_\t_\t\n1-6\t31-32\t.\t.\t.\t_\t_\t\n"
    "\n#Text=In Rome\\, too\n2-1\t33-35\tIn\t_\t_\t_\t_\t\n2-2\t36-40\tRome\t_\t_\t*\tcity\\|town\t\n"
)


def save(tmp_path: Path, *layers: str, rest: str = TOKENS) -> Path:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"#{layer}\n" for layer in ("FORMAT=WebAnno TSV 3.3", *layers)) + rest, "utf-8")
    return path


def test_words_and_labels_are_those_of_the_file(tmp_path: Path) -> None:
    path = save(tmp_path, f"T_SP={POS}", f"T_SP={ENTITY}")
    assert open_corpus(path).description == "webanno, labels in column 7 (NamedEntity.value)"
    first, second = read(path)
    assert (first.id, first.words, first.labels) == (
        "a:1",
        ("Ada", "Lovelace", "saw", "Oslo-based", "kin", "."),
        ((0, 2, "PER"),),
    )
    assert (second.id, second.words, second.labels) == ("a:2", ("In", "Rome"), ((1, 2, "city|town"),))
    assert (first.document, first.offsets[3], second.offsets) == ("a", (17, 27), ((33, 35), (36, 40)))


def tokens(*labels: str) -> str:
    places = (("1-1", "0-3", "Ada"), ("1-2", "4-7", "saw"), ("1-3", "8-14", "Berlin"))
    rows = ["\t".join((*place, label)) for place, label in zip(places, labels, strict=True)]
    return "\n#Text=Ada saw Berlin\n" + "\n".join(rows) + "\n"


def test_the_labels_are_in_the_only_layer_of_spans_or_in_the_named_column(tmp_path: Path) -> None:
    relation = "T_RL=webanno.custom.Knows|BT_webanno.custom.Who"
    slots = "T_SP=webanno.custom.Slot|ROLE_webanno.custom.Slot:a_webanno.custom.Link|uima.tcas.Annotation"
    path = save(
        tmp_path,
        slots,
        relation,
        "T_SP=webanno.custom.Who|",
        rest=tokens("_\t_\t_\t*", "x\t1-1[2]\t_\t_", "_\t_\t1-1\t*"),
    )
    assert open_corpus(path).description == "webanno, labels in column 7 (Who)"
    assert [s.labels for s in read(path)] == [((0, 1, "Who"), (2, 3, "Who"))]
    both = ("T_SP=webanno.custom.Who|kind|sure", "T_SP=webanno.custom.Where|")
    path = save(tmp_path, *both, rest=tokens("PER\tyes\t_", "_\t_\t_", "_\t_\t*"))
    with pytest.raises(
        DataError, match=r"columns 4 \(Who\.kind\), 5 \(Who\.sure\), 6 \(Where\), expected one\n.*--tag-column"
    ):
        read(path)
    assert [s.labels for s in read(path, tag_column=4)] == [((0, 1, "PER"),)]
    assert (
        "others in 4 (Who.kind), 5 (Who.sure): --tag-column" in open_corpus(path, ReadOptions(tag_column=6)).description
    )
    with pytest.raises(DataError, match="expected one"):
        read(path, tag_column=9)
    with pytest.raises(DataError, match=r"no layer of spans, expected one\n.*export"):
        read(save(tmp_path, f"T_SP={POS}"))


def test_an_emoji_counts_once(tmp_path: Path) -> None:
    rest = "\n#Text=😊 it, Ada\n1-1\t0-2\t😊\t*\n1-2\t3-5\tit\t_\n1-3\t5-6\t,\t_\n1-4\t7-10\tAda\t*\n"
    [sentence] = read(save(tmp_path, "T_SP=webanno.custom.X", rest=rest))
    assert (sentence.words, sentence.labels) == (("😊", "it", ",", "Ada"), ((0, 1, "X"), (3, 4, "X")))
    assert sentence.offsets == ((0, 1), (2, 4), (4, 5), (6, 9))


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (tokens("*", "_", "_"), r":5 \(sentence a\): the label of 'Ada' has no value, which is its type"),
        (tokens("A[1]|B[2]", "A[1]", "_"), r"A \[0, 7\) 'Ada saw' overlaps B \[0, 3\)"),
        (tokens("_", "_", "_\n1-3.1\t8-11\tBer\tX"), r":8 .*X \[8, 11\) covers 'Ber', a part of 'Berlin'"),
        (tokens("_", "_", "A[1]\n\n2-1\t15-16\t.\tA[1]"), "continues past the end of its line"),
        (tokens("_", "_", "_\nBerlin\tLOC"), r":8 .*'Berlin\\tLOC', expected e\.g\. 1-1"),
    ],
)
def test_what_cannot_be_a_label_is_told_with_its_line(tmp_path: Path, rest: str, message: str) -> None:
    path = save(tmp_path, "T_SP=webanno.custom.X|value", rest=rest)
    with pytest.raises(DataError, match=message):
        read(path)
    assert open_corpus(path, ReadOptions(repair=("drop-sentence",))) is not None


def test_a_word_is_cut_where_a_label_ends_if_that_is_asked_for(tmp_path: Path) -> None:
    rest = tokens("_", "_", "_\n1-3.1\t8-11\tBer\tX")
    [sentence] = read(save(tmp_path, "T_SP=webanno.custom.X|value", rest=rest), repair="cut-words")
    assert (sentence.words, sentence.labels) == (("Ada", "saw", "Ber", "lin"), ((2, 3, "X"),))
