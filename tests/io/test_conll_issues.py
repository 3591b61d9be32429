"""Issues of CoNLL files, with their line and sentence."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import read
from tests.io.conll_texts import ADA, issues, labels, opened


def test_reports_a_range_that_is_followed_by_its_words(path: Path) -> None:
    text = "1\tfin\tO\n2-3\tdel\tO\n2\tde\tO\n3\tel\tO\n4\tNilo\tB-LOC\n"
    for named in ({}, {"word_column": 2, "tag_column": 3}):
        (issue,) = issues(path, text, **named)
        assert issue == ":2 (sentence train:1): 'del' combines the words 2-3, which follow; expected each word once"
    with pytest.raises(DataError, match=r'repair="extra-rows" .*delete the lines of the words if'):
        read(path)
    source = opened(path, f"{text}\n1\tAda\tB-PER\n2\twrote\tO\n", repair="drop-sentence")
    assert [(sentence.words, sentence.labels) for sentence in source] == [ADA]
    assert [reject.reason for reject in source.rejects] == ["range of words"]


def test_a_word_that_is_not_in_the_text_is_reported(path: Path) -> None:
    text = "1\tAda\tB-PER\n1.1\twrites\tO\n2\tand\tO\n3\treads\tO\n3.1\tit\tO\n"
    assert issues(path, text) == [
        ":2 (sentence train:1): 'writes' with the number 1.1 is not a word of the text, expected none",
        ":5 (sentence train:1): 'it' with the number 3.1 is not a word of the text, expected none",
    ]
    assert labels(path, "4.1\tAda\tB-PER\n4.2\twrote\tO\n") == [ADA]  # sentence and word


def test_a_hash_word_with_too_many_columns_is_reported(path: Path) -> None:
    (issue,) = issues(path, "Ada\tB-PER\nwrote\tO\n\n#MH17\tB-MISC\t\ncrashed\tO\n")
    assert issue.startswith(":4 (sentence train:2): the number of columns is 3, expected 2")


def test_clashing_ids_name_both_lines(path: Path) -> None:
    text = "# id a\nx\tO\n\n# id train:3\ny\tO\n\nz\tO\n\n# id a\nv\tO\n"
    assert issues(path, text) == [
        ':7 (sentence train:3): the id "train:3" is already used in line 5; expected another',
        ':10 (sentence a): the id "a" is already used in line 2; expected another',
    ]
    assert [words for words, _ in labels(path, text, repair=["drop-sentence"])] == [("x",), ("y",)]


def test_reports_all_issues_of_a_file_with_line_and_sentence(path: Path) -> None:
    text = "a O\nb B_X\n\nc O O\nd O\n\ne -X\nf -\n\ng O\nh I-X\n"
    found = issues(path, text)
    places = [issue.partition("): ")[0] for issue in found]
    assert places == [f":{line} (sentence train:{number}" for line, number in _PLACES]
    assert "'B_X'" in found[0]
    assert "the number of columns is 3, expected 2 (word 1, tag 2): 'c', 'O', 'O'" in found[1]
    with pytest.raises(DataError) as caught:
        read(path)
    for name in ("underscore", "ragged-lines", "lost-prefix", "bare-dash", "orphan-inside"):
        assert f"--repair {name} " in caught.value.fix


@pytest.mark.parametrize("sign", "|,")
def test_tags_of_several_levels_in_one_column_are_refused(path: Path, sign: str) -> None:
    text = f"A\tB-PER{sign}B-ORG\nB\tI-PER{sign}O\n.\tO{sign}O\n{sign}\tO\n\n"
    found = issues(path, text)
    assert [issue.partition(" the tag")[0] for issue in found] == [f":{line} (sentence train:1):" for line in (1, 2, 3)]
    assert {issue.partition("read: ")[2] for issue in found} == {"it holds several tags; expected O, B-TYPE or I-TYPE"}
    with pytest.raises(DataError, match=r"nested entities are not supported.*`tag_column` chooses one") as caught:
        read(path)
    assert "orphan-inside" not in caught.value.fix
    (command,) = re.findall("sed -E '.+?'", caught.value.fix)
    mended = subprocess.run(f"{command} {path}", shell=True, capture_output=True, check=True, text=True).stdout
    assert labels(path, mended) == [(("A", "B", ".", sign), ((0, 2, "PER"),))]
    with pytest.raises(DataError, match=r"no column looks like tags.*\n.*nested entities are not supported"):
        labels(path, "A\tO|O\nB\tO|O\n")


def test_a_type_may_contain_a_bar(path: Path) -> None:
    assert labels(path, "A\tB-PER|ORG\nB\tI-PER|ORG\n") == [(("A", "B"), ((0, 2, "PER|ORG"),))]


_PLACES = [(2, 1), (4, 2), (7, 3), (8, 3), (11, 4)]


def test_a_wrong_column_count_on_line_17(path: Path) -> None:
    lines = ["word\tO"] * 30
    lines[16] = "word"
    (issue,) = issues(path, "\n".join(lines))
    assert issue.startswith(":17 ")
    assert "the number of columns is 1, expected 2" in issue


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\tO", "the word is '', expected at least one character"),
        (" \tO", "the word is ' ', expected at least one character"),
        ("word \tO", "the word 'word ' begins or ends with a space"),
        ("wo\rrd\tO", "there is a carriage return inside the line"),
    ],
)
def test_refuses_invalid_words(path: Path, line: str, message: str) -> None:
    (issue,) = issues(path, f"a\tO\n{line}\nb\tO\n")
    assert issue.startswith(":2 ")
    assert message in issue


@pytest.mark.parametrize(
    "text",
    [
        "Ada B-PER\rwrote O\r\rBob B-PER\r",
        "Ada\tB-PER\rwrote\tO\r\rBob\tB-PER\r",
        "# id 1\rAda B-PER\rwrote O\r",
        "# a remark\r\rAda B-PER\r",
        "Ada B-PER x\rwrote O x\r",
        "Ada B-PER\nwrote O\ry\n",
    ],
)
def test_refuses_columns_with_bare_carriage_returns(path: Path, text: str) -> None:
    with pytest.raises(DataError, match="carriage return") as caught:
        list(opened(path, text))
    assert r"convert the line ends, e.g. with tr '\r' '\n'" in str(caught.value)
    source = opened(path, f"a O\n\n{text}", repair="drop-sentence", tag_column=2)
    assert [sentence.words for sentence in source][:1] == [("a",)]
    assert len(source.rejects) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fix_for_a_carriage_return_in_a_word_keeps_the_word(path: Path, end: str) -> None:
    rows = ["came\tO", "home\r\tO", "", "In\tO", "Oslo\tB-LOC", ""]
    with pytest.raises(DataError, match="carriage return") as caught:
        list(opened(path, end.join(rows)))
    assert r"tr -d '\r'" in caught.value.fix
    subprocess.run(f"tr -d '\\r' < {path.name} > new.conll", shell=True, cwd=path.parent, check=True)
    assert [sentence.words for sentence in read(path.with_name("new.conll"))] == [("came", "home"), ("In", "Oslo")]


def test_fix_for_tables_pasted_from_windows_files_is_the_same(path: Path) -> None:
    with pytest.raises(DataError, match=r"inside its lines(.|\n)*tr -d '.r'"):
        list(opened(path, "She left .\r\tEr ging .\r\nShe met Ada .\r\tEr traf Ada .\r\n"))


def test_never_loses_a_sentence_that_cannot_be_built(path: Path) -> None:
    """UTF-7 can write half a surrogate pair, which no sentence can hold."""
    text = "# id +2AA-\na O +2AA-\n\nb O x\n"
    (issue,) = issues(path, text, encoding="utf-7", tag_column=2)
    assert issue.startswith(r":2 (sentence \ud800): ")
    assert "lone surrogate" in issue
    source = opened(path, text, encoding="utf-7", tag_column=2, repair="drop-sentence")
    assert [sentence.words for sentence in source] == [("b",)]
    (reject,) = source.rejects
    assert reject.sentence is not None
    assert (reject.reason, reject.sentence.id, reject.sentence.words) == ("invalid sentence", "?", ("a O ?",))


def test_no_sentence_comes_after_the_first_issue(path: Path) -> None:
    stream = iter(opened(path, "a\tO\n\nb\tI-X\n\nc\tO\n\nd\tB-X\n"))
    assert next(stream).words == ("a",)
    with pytest.raises(DataError):
        next(stream)


def test_issues_are_found_by_reading_everything(path: Path) -> None:
    source = opened(path, "a\tO\n\nb\tI-X\n\nd\tB-X\n")
    with pytest.raises(DataError, match="continues an entity"):
        list(source)


def test_stops_reading_after_too_many_issues(path: Path) -> None:
    found = issues(path, "a\tO\n\n" * 600 + "a\tx\n\n" * 10_200)
    assert len(found) == 10_001
    assert "reading stopped after 10,000 issues" in found[-1]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a b c\nd e f\n", {}, "no column looks like tags .*'a', 'b', 'c'"),
        ("word\n", {}, "no column looks like tags"),
        ("Ada B-PER\nran 0\nto 0\nher 0\n. 0\n", {}, "digit 0 .* write the letter O"),
        ("Ada PER\nran 0\nto 0\nher 0\n. 0\n", {}, "digit 0 .* write the letter O"),
        ("Ada 1\nran 0\n", {}, "numbers stand for tags, .* awk"),
        ("a O\n", {"tag_column": 3}, "no tag column 3: its lines have 2 columns"),
        ("a O\n", {"word_column": 5}, "no word column 5"),
    ],
)
def test_refuses_a_file_without_columns_to_read(path: Path, text: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(path, text, **options)


def _run(path: Path, fix: str) -> None:
    """Run the command of a fix on a file."""
    command = re.search(r"awk .* old > new", fix)
    assert command is not None
    path.rename(path.with_name("old"))
    subprocess.run(command[0], shell=True, cwd=path.parent, check=True)
    path.with_name("new").rename(path)


@pytest.mark.parametrize(("separator", "end"), [("\t", "\n"), (" ", "\r\n")])
def test_fix_turns_numbers_into_tags(path: Path, separator: str, end: str) -> None:
    text = "Ada 1\nLovelace 2\nran 0\n\nBob 1\nsat 0\n".replace(" ", separator).replace("\n", end)
    with pytest.raises(DataError, match="numbers stand for tags") as caught:
        opened(path, text)
    _run(path, caught.value.fix)
    assert [s.labels for s in read(path)] == [((0, 2, "PER"),), ((0, 1, "PER"),)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fix_makes_comments_of_lines_that_name_sentences(path: Path, end: str) -> None:
    """As in the tweets with images, each of which begins with a line such as ``IMGID:7``."""
    text = "IMGID:7\nAda\tB-PER\nwrote\tO\n\nIMGID:8\nRome\tB-LOC\n".replace("\n", end)
    with pytest.raises(DataError, match=r":1 .*number of columns is 1") as caught:
        list(opened(path, text))
    _run(path, caught.value.fix)
    assert [(s.words, s.comments) for s in read(path)] == [
        (("Ada", "wrote"), ("# IMGID:7",)),
        (("Rome",), ("# IMGID:8",)),
    ]
    with pytest.raises(DataError) as caught:
        list(opened(path, "Ada\tB-PER\nwrote\n"))
    assert "awk" not in caught.value.fix, "a line within a sentence is a word without a tag"


def test_reports_a_header_as_a_header(path: Path) -> None:
    text = "Token\tTag\nAda\tB-PER\nwrote\tO\n\n"
    with pytest.raises(DataError, match=r"1.*looks like the header of a table.*'Token', 'Tag'") as caught:
        list(opened(path, text))
    assert 'delete the line, or read the file as a table: format="csv"' in str(caught.value)
    assert next(iter(read(path, format="csv"))).words == ("Ada", "wrote")
    assert "bare-type" not in str(caught.value)
    assert labels(path, "token\tO\ntag\tB-X\n\n") == [(("token", "tag"), ((1, 2, "X"),))]


def test_suggests_tabs_for_a_table_separated_by_spaces(path: Path) -> None:
    text = "sentence_id token tag\n1 Anna B-PER\n1 sleeps O\n2 Bob B-PER\n"
    with pytest.raises(DataError, match=r"1.*looks like the header of a table.*'sentence_id'") as caught:
        list(opened(path, text, format="conll"))
    assert "separate the columns with tabs" in caught.value.fix
    assert "bare-type" not in caught.value.fix
    path.write_text(text.replace(" ", "\t"), "utf-8")
    assert [sentence.words for sentence in read(path)] == [("Anna", "sleeps"), ("Bob",)]


def test_comments_after_a_header_are_not_reported(path: Path) -> None:
    """As in the data of HIPE."""
    header, rest = "TOKEN\tNE-COARSE-LIT\tMISC\n", "# hipe:date = 1860\nRIGA\tB-LOC\t_\n,\tO\t_\n\nOct\tO\t_\n"
    with pytest.raises(DataError, match="looks like the header of a table") as caught:
        list(opened(path, header + rest))
    assert [issue.line for issue in caught.value.issues] == [1]
    assert labels(path, rest) == [(("RIGA", ","), ((0, 1, "LOC"),)), (("Oct",), ())]


def test_reports_an_invalid_word_in_its_line(path: Path) -> None:
    text = "# a comment\nAda\tB-PER\nx\x01y\tO\n"
    assert issues(path, text) == [":3 (sentence train:1): word 1 is 'x\\x01y': it holds the control character U+0001"]
    (issue,) = issues(path, "1\tAda\tB-PER\n1.1\tit\tO\n2\tx\x01y\tO\n", repair="extra-rows")
    assert issue.startswith(":3 (sentence train:1): word 1 is")


def test_reports_an_empty_node_within_an_entity_once(path: Path) -> None:
    text = "1\tin\tO\n2\tNew\tB-LOC\n2.1\tis\t_\n3\tYork\tI-LOC\n4\t.\tO\n"
    (issue,) = issues(path, text)
    assert "'is' with the number 2.1 is not a word of the text" in issue
    assert read(path, repair="extra-rows")[0].labels == ((1, 3, "LOC"),)


@pytest.mark.parametrize("separator", [",", ";", "|", "\u3000", "\xa0"])
def test_suggests_a_fix_for_other_column_separators(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "a.conll"
    path.write_text("".join(f"{row}\n".replace(" ", separator) for row in ("Ada B-PER", "ran O", ". O")), "utf-8")
    with pytest.raises(DataError, match="no column looks like tags") as caught:
        read(path)
    if separator.isspace():
        command = caught.value.fix.partition(": ")[2].replace("old > new", "a.conll > b.conll")
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)
        sentences = read(tmp_path / "b.conll")
    else:
        assert caught.value.fix == "read it as a table: --format csv"
        sentences = read(path, format="csv")
    assert [(sentence.words, sentence.labels) for sentence in sentences] == [(("Ada", "ran", "."), ((0, 1, "PER"),))]


@pytest.mark.parametrize("name", ["a.conll", "a.txt"])
def test_fix_converts_bracketed_entities_to_tags(tmp_path: Path, name: str) -> None:
    text = "went *\r\nAda (PERSON)\r\nto *\r\nNew (GPE*\r\nYork *)\r\n\r\nBo (PERSON)\r\n"
    (tmp_path / name).write_text(text, "utf-8", newline="")
    with pytest.raises(DataError) as caught:
        read(tmp_path / name)
    command = caught.value.fix.partition(": ")[2].replace("old > new.conll", f"{name} > new.conll")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    first, second = read(tmp_path / "new.conll")
    assert (first.labels, second.labels) == (((1, 2, "PERSON"), (3, 5, "GPE")), ((0, 1, "PERSON"),))


@pytest.mark.parametrize(("good", "is_advised"), [(True, True), (False, False)])
@pytest.mark.parametrize("is_first", [True, False])
def test_dropping_sentences_is_advised_only_if_some_are_left(
    path: Path, good: bool, is_advised: bool, is_first: bool
) -> None:
    sentences = ["a B_X\n", "b O\n" if good else "b O\nc -X\n"]
    path.write_text("\n".join(reversed(sentences) if is_first else sentences), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert ("--repair drop-sentence" in caught.value.fix) is is_advised
    assert "--repair underscore" in caught.value.fix


def test_an_empty_tag_in_a_column_can_be_repaired(path: Path) -> None:
    """Spreadsheets and pandas write no value for O."""
    text = "Ada\tB-X\nran\t\n.\t\n\nso\t\n"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match="the tag '' cannot be read: it is empty") as caught:
        read(path)
    assert "--repair bare-dash (-, _ or nothing becomes O)" in caught.value.fix
    assert labels(path, text, repair=["bare-dash"]) == [(("Ada", "ran", "."), ((0, 1, "X"),)), (("so",), ())]
