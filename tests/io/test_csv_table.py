"""Tables in CSV: Kaggle's with a row for each word, and those with lists in their cells."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import nersery
from nersery.core.errors import DataError
from nersery.io import ReadOptions, csv_table, open_corpus, read, write

WORDS = (("Ada", "Lovelace", ",", "too"), ("Oslo",))
LABELS = (((0, 2, "PER"),), ((0, 1, "LOC"),))
KAGGLE = (
    "Sentence #,Word,POS,Tag\nSentence: 1,Ada,NNP,B-PER\n,Lovelace,NNP,I-PER\n"
    ',",",",",O\n,too,,O\nSentence: 2,Oslo,NN P,B-LOC\n'
)
ROWS = 'Ada,B-PER\nLovelace,I-PER\n",",O\ntoo,O\n'


def save(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    return path


TAGS = "['B-PER', 'I-PER', 'O', 'O']"
BY_WORD, BY_SENTENCE = "IOB2, a row for each word: word ", "IOB2, a row for each sentence: word "


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (KAGGLE, f"{BY_WORD}2, tag 4, sentence 1"),
        ("\ufeff" + KAGGLE.replace("\n,", "\nSentence: 1,"), f"{BY_WORD}2, tag 4, sentence 1"),
        (
            "id;word;tag\n1;Ada;B-PER\n1;Lovelace;I-PER\n1;,;O\n1;too;O\n2;Oslo;B-LOC\n",
            f"{BY_WORD}2, tag 3, sentence 1",
        ),
        (
            "\ufeffsep=;\r\nword;tag\r\nAda;B-PER\r\nLovelace;I-PER\r\n,;O\r\ntoo;O\r\n\r\nOslo;B-LOC\r\n",
            f"{BY_WORD}1, tag 2",
        ),
        (f"{ROWS},O\nOslo,B-LOC\n", f"{BY_WORD}1, tag 2"),
        (f"{ROWS}\nOslo,B-LOC\n", f"{BY_WORD}1, tag 2"),
        ('id,tag,word\n1,B-PER,Ada\n2,I-PER,Lovelace\n3,O,","\n4,O,too\n\n5,B-LOC,Oslo\n', f"{BY_WORD}3, tag 2"),
        (
            f",tokens,ner_tags\n0,\"['Ada', 'Lovelace', ',', 'too']\",\"{TAGS}\"\n1,['Oslo'],['B-LOC']\n",
            f"{BY_SENTENCE}2, tag 3",
        ),
        (
            f'Sentence #,Sentence,Tag\nSentence: 1,"Ada Lovelace , too","{TAGS}"\nSentence: 2,Oslo,[\'B-LOC\']\n',
            f"{BY_SENTENCE}2, tag 3, sentence 1",
        ),
        (
            "tokens,tags\n\"['Ada' 'Lovelace' ','\n \"\"too\"\"]\",\"['B-PER' 'I-PER' 'O' 'O']\"\n['Oslo'],['B-LOC']\n",
            f"{BY_SENTENCE}1, tag 2",
        ),
        ('text,labels\n"Ada Lovelace , too",B-PER I-PER O O\nOslo,B-LOC\n', f"{BY_SENTENCE}1, tag 2"),
        ("tokens;tags\n[Ada, Lovelace, ,, too];[B-PER, I-PER, O, O]\n[Oslo];[B-LOC]\n", f"{BY_SENTENCE}1, tag 2"),
        (f"tokens;tags\n[Ada, Lovelace, ,, too];{TAGS}\n[Oslo];['B-LOC']\n", f"{BY_SENTENCE}1, tag 2"),
        ("text;labels\nAda Lovelace , too;[B-PER, I-PER, O, O]\nOslo;[B-LOC]\n", f"{BY_SENTENCE}1, tag 2"),
        ("text;labels\nAda Lovelace , too;B-PER,I-PER,O,O\nOslo;B-LOC\n", f"{BY_SENTENCE}1, tag 2"),
        ("text;labels\nAda, Lovelace, ,, too;B-PER, I-PER, O, O\nOslo;B-LOC\n", f"{BY_SENTENCE}1, tag 2"),
    ],
)
def test_reads_equivalent_tables_alike(tmp_path: Path, text: str, description: str) -> None:
    path = save(tmp_path, text)
    assert open_corpus(path).description == f"csv, {description}"
    found = read(path)
    assert tuple(s.words for s in found) == WORDS
    assert tuple(s.labels for s in found) == LABELS


@pytest.mark.parametrize("tags", ["['B-PER', 'O', 'O', 'O', 'O']", "B-PER O O O O", "B-PER,O,O,O,O"])
def test_does_not_read_text_with_brackets_and_commas_as_a_list(tmp_path: Path, tags: str) -> None:
    found = read(save(tmp_path, f"text;tags\n[1] Ada, not Bob [2];{tags}\nAda left , but stayed;{tags}\n"))
    assert [s.words for s in found] == [("[1]", "Ada,", "not", "Bob", "[2]"), ("Ada", "left", ",", "but", "stayed")]


@pytest.mark.parametrize("dump", [repr, json.dumps])
@pytest.mark.parametrize("word", ["Oslo", "😀", "it's", '"\\', "a\u200b"])
def test_escapes_in_lists_are_characters(tmp_path: Path, dump: Callable[[list[str]], str], word: str) -> None:
    with (tmp_path / "a.csv").open("w", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["tokens", "ner_tags"], [dump([word, "is"]), dump(["B-LOC", "O"])]])
    [sentence] = read(tmp_path / "a.csv")
    assert (sentence.words, sentence.labels) == ((word, "is"), ((0, 1, "LOC"),))


@pytest.mark.parametrize("rows", ["['Oslo'],['B-LOC']\n", "['Oslo'],[\"B-LOC\"]\n['is'],['O']\n"])
def test_a_list_of_one_word_is_a_list(tmp_path: Path, rows: str) -> None:
    first, *_ = read(save(tmp_path, f"tokens,ner_tags\n{rows}"))
    assert (first.words, first.labels) == (("Oslo",), ((0, 1, "LOC"),))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sent_no,word,tag\n1,a,O\n1,b,O\n2,c,O\n", [("1", "a b"), ("2", "c")]),
        ("Sentence Number,word,tag\n1,a,O\n1,b,O\n2,c,O\n", [("1", "a b"), ("2", "c")]),
        ("sentence_id,word,tag\n1,a,O\n2,b,O\n3,c,O\n", [("1", "a"), ("2", "b"), ("3", "c")]),
        ("id,word,tag\n1,a,O\n2,b,O\n3,c,O\n", [("a:1", "a b c")]),
        (
            "doc,sentence_id,word,tag\nd1,1,a,O\n,,b,O\nd2,1,c,O\n,2,d,O\n",
            [("d1:1", "a b"), ("d2:1", "c"), ("d2:2", "d")],
        ),
    ],
)
def test_finds_the_column_that_identifies_sentences(tmp_path: Path, text: str, found: list[tuple[str, str]]) -> None:
    assert [(sentence.id, sentence.text) for sentence in read(save(tmp_path, text))] == found


def test_sentence_row_keeps_its_ids_and_reports_unread_columns(tmp_path: Path) -> None:
    rows = "news-1,d,de,Ada ran,B-PER O,x\n,d,,Oslo,B-LOC,y\n"
    path = save(tmp_path, f"id,document,language,sentence,tags,source\n{rows}")
    assert [(s.id, s.document, s.language) for s in read(path, language="en")] == [
        ("d:news-1", "d", "de"),
        ("a:2", "d", "en"),
    ]
    columns = "word 4, tag 5, sentence 1, document 2"
    assert open_corpus(path).description == f"csv, IOB2, a row for each sentence: {columns}, left out: source"
    path = save(tmp_path, "sentence,tokens,tags\nAda ran,Ada ran,B-PER O\nAda ran,Ada ran,B-PER O\n")
    assert [s.id for s in read(path)] == ["a:1", "a:2"]
    path = save(tmp_path, "id,sentence,tags\nnews,Ada ran,B-PER O\nnews,Oslo is,B-LOC O\n")
    assert [s.id for s in read(path)] == ["a:1", "a:2"], "the id names a document"
    assert open_corpus(path).description.endswith("left out: id")
    path = save(tmp_path, "id,doc,sentence,tags\n1,x,Ada ran,B-PER O\n1,y,Oslo is,B-LOC O\n")
    assert [s.id for s in read(path)] == ["x:1", "y:1"]


def test_a_row_for_each_word_has_the_language_of_its_sentence(tmp_path: Path) -> None:
    """As in a data frame of `Corpus.to_pandas`. A sentence in two languages has none, and keeps the column."""
    rows = "s1,Oslo,B-LOC,en\ns2,Hallo,O,de\ns2,Oslo,B-LOC,de\ns3,Hi,O,en\ns3,Oslo,B-LOC,de\n"
    sentences = read(save(tmp_path, f"sentence,word,tag,language\n{rows}"))
    assert [s.language for s in sentences] == ["en", "de", ""]
    assert sentences[2].columns == (("en", "de"),)


def test_a_document_ends_a_sentence(tmp_path: Path) -> None:
    path = save(tmp_path, "word,tag,doc_id\nAda,O,x\nleft,O,\n,,\nBob,O,x\nOslo,O,y\n")
    assert [(s.id, s.text, s.document) for s in read(path)] == [
        ("a:1", "Ada left", "x"),
        ("a:2", "Bob", "x"),
        ("a:3", "Oslo", "y"),
    ]
    assert open_corpus(path).description == f"csv, {BY_WORD}1, tag 2, document 3"


HEADED = "sentence_id\ttoken\ttag\n1\tAda\tB-PER\n1\tLovelace\tI-PER\n1\t,\tO\n1\ttoo\tO\n2\tOslo\tB-LOC\n"


@pytest.mark.parametrize("name", ["a.tsv", "a.conll", "a.txt", "a"])
@pytest.mark.parametrize(
    "text",
    [
        HEADED,
        KAGGLE.replace(",", "\t").replace('"\t"', ","),
        "\tword\ttag\n0\tAda\tB-PER\n1\tLovelace\tI-PER\n2\t,\tO\n3\ttoo\tO\n\t\t\n4\tOslo\tB-LOC\n",
        f"Sentence #\tSentence\tTag\n1\tAda Lovelace , too\t{TAGS}\n2\tOslo\t['B-LOC']\n",
        f"\ttokens\tner_tags\n0\t['Ada' 'Lovelace' ',' 'too']\t{TAGS}\n1\t['Oslo']\t['B-LOC']\n",
        f"tokens\tner_tags\n['Ada' 'Lovelace' ',' 'too']\t{TAGS}\n['Oslo']\t['B-LOC']\n",
    ],
)
def test_tables_with_tabs_are_known_by_their_header(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    found = read(path)
    assert (tuple(s.words for s in found), tuple(s.labels for s in found)) == (WORDS, LABELS)
    with pytest.raises(DataError, match="the file seems to be csv: leave out `format`"):
        read(path, format="conll")


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("Token\tTag\nAda\tB-PER\nLovelace\tI-PER\n" + "x\tO\n" * 20, "conll"),  # whose error asks to delete the header
        ("# id\tword\ttag\n1\tAda\tB-PER\n\n", "conll"),
        ("id\ttext\tlabel\n1\tI like it\tgood\n", "text"),
    ],
)
def test_does_not_recognise_other_files_as_tables(tmp_path: Path, text: str, format: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    assert open_corpus(path).description.startswith(format)


@pytest.mark.parametrize("line", ["-DOCSTART-\t-X-\tO\n\n", "# sent_id = 1\n"])
def test_fix_for_columns_with_comments_below_a_header_works(tmp_path: Path, line: str) -> None:
    path, rest = tmp_path / "a.tsv", f"{line}N\tAda\tB-PER\nV\tcame\tO\n"
    path.write_text(f"x\ttext\tner\n{rest}", "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert "delete the line, and name the columns: --word-column 2 --tag-column 3" in caught.value.fix
    path.write_text(rest, "utf-8")
    assert read(path, word_column=2, tag_column=3)[-1].words == ("Ada", "came")


def test_reads_a_lone_quotation_mark_between_tabs_as_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    for quote in ('"', '""""'):  # by hand, and as pandas writes it
        path.write_text(HEADED.replace("1\t,", f"1\t{quote}").replace("too", quote), "utf-8")
        assert [s.words for s in read(path)] == [("Ada", "Lovelace", '"', '"'), ("Oslo",)]


@pytest.mark.parametrize(
    ("written", "word"), [('""', '""'), ('"Ada"', '"Ada"'), ('"Yes', '"Yes'), ('"a ""b"""', 'a "b"')]
)
def test_keeps_unpaired_quotation_marks_of_words_between_tabs(tmp_path: Path, written: str, word: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(HEADED.replace("too", written), "utf-8")
    assert read(path)[0].words == ("Ada", "Lovelace", ",", word)
    rows = ("\t".join(f'"{cell}"' for cell in line.split("\t")) for line in HEADED.splitlines())
    path.write_text("\n".join(rows), "utf-8")
    assert read(path, format="csv")[0].words == ("Ada", "Lovelace", ",", "too")


def test_word_numbers_are_not_sentence_ids_across_a_blank_row(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tword\tner\n1\tYes\tO\n\n1\tAda\tB-PER\n2\tByron\tI-PER\n\n1\tOslo\tB-LOC\n2\tis\tO\n", "utf-8")
    assert [sentence.words for sentence in read(path)] == [("Yes",), ("Ada", "Byron"), ("Oslo", "is")]


def test_other_columns_are_kept_for_every_word(tmp_path: Path) -> None:
    found = read(save(tmp_path, KAGGLE))
    assert [s.id for s in found] == ["Sentence: 1", "Sentence: 2"]
    assert [s.columns for s in found] == [(("NNP", "NNP", ",", "_"),), (("NN_P",),)]
    write(found, tmp_path / "b.conll")
    assert [s.labels for s in read(tmp_path / "b.conll")] == list(LABELS)
    assert read(save(tmp_path, KAGGLE.replace("POS", "")))[0].columns == ()


@pytest.mark.parametrize(
    "table",
    [
        "Sentence #,Word,Tag\nSentence: 1,Ada,B-New Person\n,Lovelace,I-New Person\nSentence: 2,Oslo,B-place (old)\n",
        "n,Word,NER\n1,Ada,B-New Person\n2,Lovelace,I-New Person\n,,\n3,Oslo,B-place (old)\n",
        "Ada,B-New Person\nLovelace,I-New Person\n\nOslo,B-place (old)\n",
    ],
)
def test_a_type_may_have_spaces(tmp_path: Path, table: str) -> None:
    assert [(s.words, s.labels) for s in read(save(tmp_path, table))] == [
        (("Ada", "Lovelace"), ((0, 2, "New Person"),)),
        (("Oslo",), ((0, 1, "place (old)"),)),
    ]


def test_named_columns_win(tmp_path: Path) -> None:
    path = save(tmp_path, "sentence,form,word,tag,label\n1,Ada,ada,O,B-PER\n1,saw,see,O,O\n")
    with pytest.raises(DataError, match=r"which column has the tags: sentence, form, word.*\n.*`tag_column`"):
        read(path)
    [sentence] = read(path, word_column=2, tag_column=5)
    assert (sentence.words, sentence.labels, sentence.columns) == (
        ("Ada", "saw"),
        ((0, 1, "PER"),),
        (("ada", "see"), ("O", "O")),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "which column has the tags: a, b"),
        ("tag,x\nO,a\n", "which column has the words: tag, x"),
        ("word,tag\nAda,B-PER\nsaw,O\nx,junk\n", r"a\.csv:4 \(sentence a:1\): word 2: the tag 'junk' cannot be read"),
        ("word,tag\nAda,B-PER\nsaw\n", "the tag '' cannot be read"),
        ("word,tag\nAda,B\nsaw,O\n", r"its type is missing(.|\n)*sed -E"),
        ("tokens,tags\n['a' 'b'],[3 0]\n['a' 'b'],[0 3]\n", "word 0: the tag '3' cannot be read: it is not a tag"),
        ("sentence_id,word,tag\n1,a,O\n2,b,O\n1,c,O\n", r'a\.csv:4 .*the id "1" is already used in line 2'),
        ('word,tag\nAda,B-PER\n",O\nx,O\n', r"a\.csv:3: not CSV: .*; a quotation mark in this row may have no end"),
        ("tokens,tags\n\"['a', 'b']\",\"['O']\"\n\"['a']\",\"['O', 'O']\"\n", '2 words and 1 "ner_tags"'),
        ('word,tag\nAda,B-PER\nsaw,O\n\n"never ends,O\n' + "x,O\n" * 40_000, r"a\.csv:\d+: not CSV"),
    ],
)
def test_reports_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(save(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("tokens,ner_tags\n\"['Zoë', 'ran']\",\"[1, 0]\"\n['Oslo'],[2]\n", "utf-8"),
        ("id;Sentence;Tag\n1;Zoë ran;[1 0]\n2;Oslo;[2]\n", "latin-1"),
        ("sentence_id,word,tag\n1,Zoë,1\n1,ran,0\n2,Oslo,2\n", "utf-8"),
        ("Sentence #\tWord\tTag\nx\tZoë\t1\n\tran\t0\ny\tOslo\t2\n", "latin-1"),
        ('sent_id\tid\tword\ttag\n1\t1\tZoë\t1\n1\t2\t"\t0\n2\t3\tOslo\t2\n', "utf-8"),
    ],
)
def test_fix_gives_numeric_tags_their_names(tmp_path: Path, text: str, encoding: str) -> None:
    path = save(tmp_path, text)
    path.write_text(text, encoding)
    with pytest.raises(DataError, match="the tag '1' cannot be read") as error:
        read(path, encoding=encoding, format="csv")
    fix = error.value.fix
    assert "--scheme-in" not in fix
    code = re.search(r"nersery\.write\(.*\)", fix)
    assert code
    named = code[0].replace("…", '"B-LOC"').replace("train.jsonl", str(tmp_path / "train.jsonl"))
    exec(named, {"nersery": nersery, "pandas": pytest.importorskip("pandas")})
    found = read(tmp_path / "train.jsonl")
    assert [s.words for s in found] == [("Zoë", '"' if '"\t0' in text else "ran"), ("Oslo",)]
    assert [s.labels for s in found] == [((0, 1, "PER"),), ((0, 1, "LOC"),)]


@pytest.mark.parametrize("text", ["doc,sentence,word,tag\nd,1,a,1\nd,1,b,0\n", "word,tag\na,1\n\nb,0\n"])
def test_asks_for_tag_names_if_no_code_can_add_them(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"write the names of the tags, such as B-PER, in place of their numbers"):
        read(save(tmp_path, text))


@pytest.mark.parametrize("text", ["sentence,word,tag\n1,a,0\n1,b,0\n2,c,B-X\n", "sentence,word,tag\n1,a,\n"])
def test_does_not_ask_for_names_of_a_stray_digit_or_missing_tag(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError) as error:
        read(save(tmp_path, text))
    assert "names" not in error.value.fix


def test_reports_a_row_of_several_lines_by_its_first_line(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(save(tmp_path, 'sentence_id,word,tag\n1,Ada,B-PER\n\n1,"multi\nline",O\n2,x,junk\n'))
    assert [issue.line for issue in error.value.issues] == [4, 6]


@pytest.mark.parametrize("role", ["word", "tag"])
def test_a_named_column_must_exist(tmp_path: Path, role: str) -> None:
    with pytest.raises(DataError, match=f"there is no {role} column 9: its lines have 4 columns"):
        read(save(tmp_path, KAGGLE), **{f"{role}_column": 9})


def test_reads_an_empty_table_and_refuses_one_without_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_corpus(save(tmp_path, "")).description == "csv, empty"
    assert list(read(save(tmp_path, "word,tag\n"))) == []
    monkeypatch.setattr(csv_table, "MAX_WORDS", 3)
    by_document = save(tmp_path, "doc,word,tag\n" + "".join(f"{number // 3},w,O\n" for number in range(6)))
    assert [len(sentence) for sentence in read(by_document)] == [3, 3]
    for table in ("word,pos,tag\n" + "x,N,O\n" * 4, "x,O\n" * 4):
        with pytest.raises(DataError, match=r"a\.csv: no sentence ends among its first 4 words.*\n.*sentence_id"):
            read(save(tmp_path, table))
    assert len(read(save(tmp_path, "word,pos,tag\n" + "x,N,O\n" * 3 + ",,\nx,N,O\n"))) == 2


def test_reports_an_issue_with_a_word_in_its_line(tmp_path: Path) -> None:
    path = save(tmp_path, "sentence,word,tag\n1,Ada,B-PER\n,,O\n,again,O\n")
    with pytest.raises(DataError) as error:
        read(path)
    (issue,) = error.value.issues
    assert (issue.line, issue.message) == (3, "word 1 is empty")
    assert 'repair="blank-words"' in str(error.value)
    path.write_text(path.read_text("utf-8").replace(",,O\n,again,O", ",met,O\n,,O\n,again,I-PER"), "utf-8")
    source = open_corpus(path, ReadOptions(repair=("blank-words", "orphan-inside")))
    assert [(sentence.words, sentence.labels) for sentence in source] == [
        (("Ada", "met", "again"), ((0, 1, "PER"), (2, 3, "PER")))
    ]
    assert source.repaired == {"blank-words": 1, "orphan-inside": 1}
    with pytest.raises(DataError) as error:
        read(path, repair=["blank-words"])
    assert [issue.line for issue in error.value.issues] == [5]  # of a tag, after a row that is left out


@pytest.mark.parametrize("end", ["\u2028", "\x85"])
def test_reports_other_line_ends_instead_of_reading_only_a_header(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(end.join(("sentence,word,tag", "1,Ada,B-PER", "")), "utf-8")
    with pytest.raises(DataError, match=r"line breaks other than line feeds.*\nFix: convert the line ends: ") as caught:
        read(path)
    code = caught.value.fix.partition("convert the line ends: ")[2]
    subprocess.run(code.replace("old.csv", "a.csv"), shell=True, check=True, cwd=tmp_path)
    assert [s.labels for s in read(tmp_path / "new.csv")] == [((0, 1, "PER"),)]
    path.write_text("sentence,word,tag\n")
    assert not read(path)


def test_reports_bare_carriage_returns_of_excel_for_mac(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"sentence,word,tag\r1,Ada,B-PER\r1,runs,O\r")
    with pytest.raises(DataError, match=r"end with carriage returns, expected line feeds\nFix: .*tr '.r' '.n'"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("first", ["sentence", '"sentence"'])
def test_a_second_byte_order_mark_is_not_part_of_a_column_name(tmp_path: Path, first: str) -> None:
    path = save(tmp_path, f"\ufeff\ufeff{first},word,tag\n1,Ada,B-PER\n2,runs,O\n")
    assert [(s.id, s.words, s.columns) for s in read(path)] == [("1", ("Ada",), ()), ("2", ("runs",), ())]


@pytest.mark.parametrize(("tag", "repair"), [("PER", "bare-type"), ("b-PER", "small-letter"), ("PER-B", "letter-last")])
def test_a_first_row_whose_tag_recurs_is_not_a_header(tmp_path: Path, tag: str, repair: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Ada,{tag}\nleft,O\n,\nBo,{tag}\n", "utf-8")
    sentences = read(path, word_column=1, tag_column=2, repair=repair)
    assert [(s.words, s.labels) for s in sentences] == [
        (("Ada", "left"), ((0, 1, "PER"),)),
        (("Bo",), ((0, 1, "PER"),)),
    ]


def test_rows_between_sentences_do_not_hide_the_column_of_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Ada,B-PER\n,\nBo,B-PER\n,\n", "utf-8")
    assert [sentence.words for sentence in read(path)] == [("Ada",), ("Bo",)]


def test_fix_adds_a_type_to_tags_without_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Ada,B\nKing,I\nleft,O\n,\nBo,B\n", "utf-8")
    with pytest.raises(DataError, match="its type is missing") as caught:
        read(path, word_column=1, tag_column=2)
    command = re.search(r"sed .*? old > new", caught.value.fix)
    assert command is not None
    subprocess.run(command[0].replace("old > new", "a.csv > b.csv"), shell=True, check=True, cwd=tmp_path)
    assert [s.labels for s in read(tmp_path / "b.csv")] == [((0, 2, "Disease"),), ((0, 1, "Disease"),)]


def test_one_error_names_all_columns_that_a_table_lacks(tmp_path: Path) -> None:
    rows = "".join(f"{number // 10};Wort{number};O\n" for number in range(300))
    for name, text, header in (
        ("a", rows, True),
        ("b", rows[:500], False),
        ("c", rows.replace("9;O\n", "9;O\n\n"), False),
    ):
        (tmp_path / f"{name}.csv").write_text(f"Satz;Wort;Etikett\n{text}", "utf-8")
        with pytest.raises(DataError, match="not clear which column has the words") as caught:
            open_corpus(tmp_path / f"{name}.csv")
        only_by_header = "only a column named sentence ends a sentence" in caught.value.fix
        assert "header such as sentence;word;tag" in caught.value.fix, "commas would not separate the rows below"
        assert (only_by_header, "--word-column" in caught.value.fix) == (header, not header)


@pytest.mark.parametrize(
    "table",
    [
        "text,entity,type\nAda met Bob in Oslo.,Oslo,LOC\nEve left.,Eve,PER\nMax saw Kim in Bonn.,Kim,PER\n",
        "sentence,PER,LOC\nAda met Bob in Oslo.,Ada;Bob,Oslo\nNo one came.,,\n",
        "text;label\nAda met Bob in Oslo.;PER,LOC\nNo one came.;\n",
    ],
)
def test_a_table_of_whole_texts_is_one_error(tmp_path: Path, table: str) -> None:
    (tmp_path / "texts.csv").write_text(table)
    with pytest.raises(
        DataError, match=r"have whole texts, such as \'Ada met Bob in Oslo\.\'[^$]*write JSONL"
    ) as error:
        read(tmp_path / "texts.csv")
    assert len(error.value.issues) == 1


def test_an_empty_tag_can_be_repaired(tmp_path: Path) -> None:
    path = save(tmp_path, "sentence,word,tag\n1,Ada,B-PER\n1,ran,\n2,so,\n")
    with pytest.raises(DataError, match="it is empty") as caught:
        read(path)
    assert "--repair bare-dash (-, _ or nothing becomes O)" in caught.value.fix
    assert [sentence.labels for sentence in read(path, repair="bare-dash")] == [((0, 1, "PER"),), ()]
