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


def save(tmp_path: Path, *layers: str, rest: str = TOKENS, name: str = "a.tsv") -> Path:
    path = tmp_path / name
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


def test_reads_labels_of_the_only_span_layer_or_the_named_column(tmp_path: Path) -> None:
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
        DataError, match=r"columns 4 \(Who\.kind\), 5 \(Who\.sure\), 6 \(Where\), expected one\n.*`tag_column`"
    ):
        read(path)
    assert [s.labels for s in read(path, tag_column=4)] == [((0, 1, "PER"),)]
    assert (
        "others in 4 (Who.kind), 5 (Who.sure): --tag-column" in open_corpus(path, ReadOptions(tag_column=6)).description
    )
    with pytest.raises(DataError, match="expected one"):
        read(path, tag_column=9)


ENTITIES, MOODS = f"T_SP={ENTITY}", "T_SP=webanno.custom.Mood|value"


def test_a_folder_uses_one_layer_even_if_some_files_lack_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path, f"T_SP={POS}", rest=tokens("N\tN", "V\tV", "N\tN"))
    save(tmp_path, MOODS, ENTITIES, rest=tokens("_\t*\tPER", "x\t_\t_", "_\t_\t_"), name="b.tsv")
    save(tmp_path, ENTITIES, rest=tokens("*\tPER", "_\t_", "_\t_"), name="c.tsv")
    save(tmp_path, MOODS, rest=tokens("x", "_", "_"), name="d.tsv")
    assert open_corpus(tmp_path / "a.tsv").description == "webanno, no labels"
    assert [s.labels for s in read(tmp_path)] == [(), ((0, 1, "PER"),), ((0, 1, "PER"),), ()]
    notes = capsys.readouterr().err
    assert "a.tsv: no layer NamedEntity, so its sentences have no entities" in notes
    assert "d.tsv: no layer NamedEntity.value, so" in notes
    assert [s.labels for s in read(tmp_path, tag_column=4)] == [(), ((1, 2, "x"),), (), ((0, 1, "x"),)]
    (tmp_path / "b.tsv").rename(tmp_path / "e.tsv")
    (tmp_path / "d.tsv").rename(tmp_path / "b.tsv")
    with pytest.raises(
        DataError, match=r"c\.tsv: labels are in the layer NamedEntity, .*before .* Mood\.value\n.*rename"
    ):
        read(tmp_path)


@pytest.mark.parametrize("repair", [(), ("utf16-offsets",)])
def test_an_emoji_counts_once(tmp_path: Path, repair: tuple[str, ...]) -> None:
    rest = (
        "\n#Text=😊 it, 😊Ada B\n1-1\t0-2\t😊\t*\n1-2\t3-5\tit\t_\n1-3\t5-6\t,\t_\n"
        "1-4\t7-12\t😊Ada\t_\n1-4.1\t9-12\tAda\t*[1]\n1-5\t13-14\tB\t*[1]\n"
    )
    path = save(tmp_path, "T_SP=webanno.custom.X", rest=rest)
    [sentence] = read(path, repair=("cut-words", *repair))
    assert (sentence.words, sentence.labels) == (("😊", "it", ",", "😊", "Ada", "B"), ((0, 1, "X"), (4, 6, "X")))
    assert sentence.offsets == ((0, 1), (2, 4), (4, 5), (6, 7), (7, 10), (11, 12))
    with pytest.raises(DataError) as caught:
        read(path, repair=repair)
    assert "covers 'Ada B', a part of '😊Ada B'" in str(caught.value)
    assert "utf16-offsets" not in str(caught.value)


def test_words_are_not_escaped(tmp_path: Path) -> None:
    rest = "\n#Text=C:\\\\temp AC\\\\DC\n1-1\t0-7\tC:\\temp\t_\n1-2\t8-13\tAC\\DC\ta\\|b\n"
    [sentence] = read(save(tmp_path, MOODS, rest=rest))
    assert (sentence.words, sentence.labels) == (("C:\\temp", "AC\\DC"), ((1, 2, "a|b"),))


def test_two_documents_in_a_file_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path, MOODS, rest=tokens("X", "_", "_"))
    path.write_text(path.read_text("utf-8") * 2, "utf-8")
    with pytest.raises(DataError, match=r":8: a second document .*\n.*to its own file"):
        read(path, repair="drop-sentence")


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (tokens("*", "_", "_"), r":5 \(sentence a:1\): a label of 'Ada' has no type in column 4 \(X\.value\)"),
        (tokens("A[1]|B[2]", "A[1]", "_"), r"A \[0, 7\) 'Ada saw' overlaps B \[0, 3\)"),
        (tokens("_", "_", "_\n1-3.1\t8-11\tBer\tX"), r":8 .*X \[8, 11\) covers 'Ber', a part of 'Berlin'"),
        (tokens("_", "_", "A[1]\n\n2-1\t15-16\t.\tA[1]"), "continues past the end of its line"),
        (tokens("_", "_", "_\nBerlin\tLOC"), r":8 .*'Berlin\\tLOC', expected e\.g\. 1-1"),
        (f"\n{tokens('_', '_', '_').replace('1-1', '1-1.1')}", r":6 .*'1-1\.1\\t0-3\\tAda\\t_', expected e\.g\. 1-1"),
        (tokens("_", "_", "_\n1-3.1\t8-11\tBär\tX"), r":8 .*X \[8, 11\) covers 'Ber', but should cover 'Bär'"),
        (tokens("_", "_\tA", "_"), r":6 .*'saw' has 5 columns, expected 4 as in the header"),
        (tokens("_", "_", "_").replace("saw\t_", "saw"), r":6 .*'saw' has 3 columns, expected 4 as in the header"),
        (tokens("_", "", "_"), r":6 .*a label of 'saw' has no type in column 4"),
        (tokens("_", "_", "_\n1-4\t999999999-999999999\tx\t_"), r":8 .*'x' begins 999,999,985 characters after the"),
        (tokens("_", "_", f"_\n1-4\t{'9' * 5000}-9\tx\t_"), ":8 .*expected e"),
    ],
)
def test_assigns_each_issue_to_its_sentence(tmp_path: Path, rest: str, message: str) -> None:
    path = save(tmp_path, "T_SP=webanno.custom.X|value", rest=f"{rest}\n7-1\t30-32\tOh\tX[7]\n7-2\t33-34\t!\tX[7]\n")
    with pytest.raises(DataError, match=message):
        read(path)
    for repair in ((), ("whole-words", "cut-words")):
        corpus = open_corpus(path, ReadOptions(repair=("drop-sentence", *repair)))
        assert [s.labels for s in corpus][-1:] == [((0, 2, "X"),)]
        assert len(corpus.rejects) + len(list(corpus)) == 2 + ("\n2-1" in rest)


def test_cut_words_repair_splits_a_word_at_a_label(tmp_path: Path) -> None:
    rest = tokens("_", "_", "_\n1-3.1\t8-11\tBer\tX")
    [sentence] = read(save(tmp_path, "T_SP=webanno.custom.X|value", rest=rest), repair="cut-words")
    assert (sentence.words, sentence.labels) == (("Ada", "saw", "Ber", "lin"), ((2, 3, "X"),))


def test_reports_bare_carriage_returns(tmp_path: Path) -> None:
    path = save(tmp_path, f"T_SP={ENTITY}")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    with pytest.raises(DataError, match=r"end with carriage returns, expected line feeds\nFix: .*tr "):
        read(path)


def test_a_label_without_a_type_names_a_fix(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a label of 'Ada' has no type") as caught:
        read(save(tmp_path, "T_SP=webanno.custom.X|value", rest=tokens("*", "_", "_")))
    assert "give each label a value in the tool, and export again" in caught.value.fix
