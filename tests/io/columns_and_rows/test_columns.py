"""How the columns of a file are found: which line is a word, which column holds it, and which its tag."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.core.sentence import Entity, Sentence
from nersery.core.warnings import forget_notes
from nersery.io import read, write
from nersery.io.base import ReadOptions
from nersery.io.columns_and_rows.columns import TAG_MARK, WORD_MARK, Layout, detect_layout, paragraphs, split_line
from nersery.io.input_files.text_file import TextFile


def found(folder: Path, text: str, **options: int) -> Layout | None:
    path = folder / "a.conll"
    path.write_text(text, "utf-8")
    return detect_layout(TextFile(path), ReadOptions(**options))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1 a O\n2 b B-X\n\n1 c O\n2 d O\n", 1),
        ("1 a O\n\n1 b O\n2 c B-X\n", 1),  # a sentence of one word counts too, but proves nothing
        ("1 a O\n\n1 b B-X\n", 0),
        ("1 a O\n2 b B-X\n\n7 c O\n9 d O\n", 0),
        ("1 a O\n\n" * 9 + "5 b O\n7 c B-X\n", 0),
        ("1 a O\n2 b O\n\n" * 9 + "5 b O\n7 c B-X\n", 1),  # nearly all
        ("1 a O\n2 b O\n\n" * 8 + "5 b O\n7 c B-X\n", 0),
        ("0 a O\n1 b B-X\n", 1),
        ("0 a O\n1 b O\n\n0 c O\n1 d B-X\n", 1),
        ("5 a O\n6 b O\n\n7 c O\n8 d B-X\n", 1),  # over all sentences
        ("1-2 a O\n1 b O\n2 c B-X\n\n1 d O\n2-3 e O\n2 f O\n3 g O\n", 1),
        ("1-2 a O\n3 b O\n4-5 c B-X\n", 1),  # the words of a range may be left out
        ("1 a O\n1.1 b O\n1.2 c O\n2 d B-X\n", 1),
        ("1-1 a O\n1-2 b O\n\n2-1 c O\n2-2 d B-X\n", 1),  # sentence and word
        ("12 1 a O\n13 2 b B-X\n", 2),
        ("1 O\n2 B-X\n", 0),
        ("1 1 O\n2 2 B-X\n", 1),
        ("3 a O\n3 b B-X\n", 1),  # of a document
        ("a NN O\n\nb VB O\n\n" * 9 + "1 c O\n2 d B-X\n", 0),
        ("1999 a O\n1998 b B-X\n", 0),
        (f"{'1' * 5000} a O\n2 b B-X\n", 0),
        ("1 a O\n2 b O\n3 c B-X - x\n4 d O\n5 e O\n6 f I-X - x\n7 g O\n8 h O\n", 1),  # lines of another width between
    ],
)
def test_the_word_is_the_first_column_that_does_not_count_the_words(text: str, word: int, tmp_path: Path) -> None:
    layout = found(tmp_path, text)
    assert layout is not None
    assert (layout.word, layout.tag) == (word, layout.width - 1)
    named = found(tmp_path, text, word_column=1)
    assert named is not None
    assert named.word == 0


TEN = "1 {} _ NOUN _ _ 0 root _ {}\n\n".replace(" ", "\t")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("# sent_id = s1\n1\ta\tO\n\n# sent_id = s2\n1\tb\tB-X\n", 1),
        ("# newdoc\n#text=a\n1 a O\n\n1 b B-X\n", 1),
        (TEN.format("Yes", "O") + TEN.format("Oslo", "B-X"), 1),
        (TEN.format("Oslo", "B-X"), 1),
        (TEN.format("Yes", "O").replace("\t", " ") + "1 Oslo _ NOUN _ _ 0 root _ B-X\n", 0),
        ("# sent_id = s1\n1\ta\tO\n\n5\tb\tB-X\n", 0),  # no sentence begins with its fifth word
        ("# sent_id = s1\n1\tO\n\n1\tB-X\n", 0),
        ("# text d1\n1\ta\tO\n\n1\tb\tB-X\n", 0),
    ],
)
def test_finds_the_word_column_of_conllu_with_one_word_sentences(text: str, word: int, tmp_path: Path) -> None:
    layout = found(tmp_path, text)
    assert layout is not None
    assert (layout.word, layout.number) == (word, 0 if word else None)


@pytest.mark.parametrize(
    ("text", "word", "number"),
    [
        ("d1 0 Ada B-X\nd1 1 saw O\n\nd2 0 Bo B-X\nd2 1 ran O\n", 2, 1),
        ("d1 Ada B-X\nd1 saw O\n", 1, None),
        ("d1 Ada B-X\n\nd2 saw O\n", 0, None),  # no sentence of several words
        ("d1 s1 Ada B-X\nd1 s1 saw O\n", 2, None),
        ("ha a B-X\nha a O\n", 0, None),
        ("w B-NP O\nw I-NP O\nw O B-X\n", 0, None),  # tags are not words
        ("Ada 1 B-X\nAda 2 O\n", 0, 1),
        ("w a O\n" * 2 + "\nx b B-X\ny c O\n", 0, None),
    ],
)
def test_the_word_is_not_the_document(text: str, word: int, number: int | None, tmp_path: Path) -> None:
    layout = found(tmp_path, text)
    assert layout is not None
    assert (layout.word, layout.number) == (word, number)


OFFSETS = "0 3 Ada\n4 8 went\n9 11 to\n12 16 Oslo\n16 17 .\n"


@pytest.mark.parametrize(("before", "word"), [("{tag} ", 3), ("", 2), ("doc1 ", 3), ("{tag} NN ", 4)])
def test_word_column_follows_its_character_offsets(tmp_path: Path, before: str, word: int) -> None:
    """As in the output of brat's anntoconll.py, which begins with the tag."""
    rows = [f"{before}{row} {{tag}}" if "{tag}" not in before else f"{before}{row}" for row in OFFSETS.splitlines()]
    tags = ["B-PER", "O", "O", "B-LOC", "O"]
    layout = found(tmp_path, "\n".join(row.format(tag=tag) for row, tag in zip(rows, tags, strict=True)))
    assert layout is not None
    assert layout.word == word


def test_a_column_as_long_as_the_word_does_not_replace_it(tmp_path: Path) -> None:
    rows = [" ".join([row.split()[2], row.upper(), "O"]) for row in OFFSETS.splitlines()]
    layout = found(tmp_path, "\n".join([*rows, "Bob 18 21 BOB B-PER"]))
    assert layout is not None
    assert layout.word == 0


@pytest.mark.parametrize(
    ("inner", "outer", "tag"),
    [
        ("B-X O O O O O O O O O O O", "B-X I-X I-X B-X O O O O O O O O", 1),
        ("O O O O O O O O O O O O", "B-X I-X I-X B-X O O O O O O O O", 1),
        ("B-X O O O O O O O O O O O", "B-X I-X O O O O O O O O O O", 2),  # not more than twice as many
        ("B-Y O O O O O O O O O O O", "B-X I-X I-X B-X O O O O O O O O", 2),  # not all its types
        ("B-X O O O O O O O O O O O", "B-X I-X I-X I-X B-X B-X I-X O O O O O", 2),  # more than half: chunks
        ("B-X O O O O O O O O O O O", "B-X I-X I-X I-X B-X B-X O O O O O O", 1),  # half
        ("B-X B-X O O O O O O O O O O", "B-X I-X I-X I-X B-X B-X O O O O O O", 2),  # more than a tenth
    ],
)
def test_the_outer_level_of_nested_entities_is_read(inner: str, outer: str, tag: int, tmp_path: Path) -> None:
    rows = [f"w {left} {right}" for left, right in zip(outer.split(), inner.split(), strict=True)]
    layout = found(tmp_path, "\n".join(rows) + "\n")
    assert layout is not None
    assert (layout.tag, layout.rivals) == (tag, (3 - tag,))


@pytest.mark.parametrize("inner", ["O O O O O O O O O O O O", "B-X O O O O O O O O O O O"])
def test_reads_the_level_with_the_most_entities(inner: str, tmp_path: Path) -> None:
    """As in CADEC, where one of each overlapping pair of entities is in a column of its own."""
    outer, middle = "B-X I-X I-X B-X B-X O O O O O O O", "B-X I-X I-X O O O O O O O O O"
    rows = [f"w {' '.join(tags)}" for tags in zip(outer.split(), middle.split(), inner.split(), strict=True)]
    layout = found(tmp_path, "\n".join(rows) + "\n")
    assert layout is not None
    assert layout.tag == 1


def test_the_last_column_is_the_tag_if_a_mark_says_so(tmp_path: Path) -> None:
    rows = "".join(f"w {tag} O\n" for tag in "B-X I-X I-X B-X O O O O O O O O".split())
    for text, tag in ((rows, 1), (f"a O O\n\n# x\n{TAG_MARK} \n{rows}", 2), (f"a O O\n{TAG_MARK}\n{rows}", 1)):
        layout = found(tmp_path, text)
        assert layout is not None
        assert layout.tag == tag


def test_fits_lines_of_another_width_to_the_layout() -> None:
    layout = Layout(3, 0, 1, tabs=False)
    assert layout.fitted(["Oslo", "_", "B-LOC", "x"]) == ["Oslo", "B-LOC", "_"]
    for same in (["a", "B-LOC", "x"], ["B-LOC", "x"], ["B-LOC"], ["a", "b", "c", "d"]):
        assert layout.fitted(same) is same
    last = Layout(2, 0, 1, tabs=False)
    for same in (["B-LOC"], ["a", "b", "c"]):
        assert last.fitted(same) is same
    assert last.fitted(["a", "b", "-LOC"]) == ["a", "-LOC"], "a repair can mend the tag"
    assert last.fitted(["a", "B-LOC", "x", "-"]) == ["a", "B-LOC"], "further columns behind the tags of entities alone"
    assert last.fitted(["blood", "type", "O", "I-X"]) == ["blood", "I-X"]
    assert Layout(3, 1, 2, tabs=False).fitted(["B-LOC", "B-LOC"]) == ["B-LOC", "B-LOC"]


@pytest.mark.parametrize(
    ("tabs", "line", "is_comment"),
    [
        (False, "# text", True),
        (False, "#MH17 B-X", False),
        (False, "#MH17 -X", False),
        (False, "#MH17\tB-X", True),  # split differently
        (False, "# id B-X", True),
        (False, "# one\rtwo", False),
        (False, "-DOCSTART- O", True),
        (False, "-DOCSTART- B-X", False),
        (False, "-DOCSTART- -X- O O", True),
        (False, "-DOCSTART-", True),
        (False, "- O", False),
        (True, "#MH17\tB-X", False),
        (True, "#MH17\t_X", True),
        (True, "#MH17\tB-X\t", False),  # of another width, so it is reported
        (True, "#MH17\tNN\tO", False),
        (True, "#MH17\tNN\t-", True),
        (True, "# U-Bahn\ttext", True),
        (True, "# id = 7\tsplit\tB-12", True),
        (True, "# sent_id = B-12", True),
        (True, "#id:\tO", False),
        (True, "# O", True),
    ],
)
def test_recognises_comments(tabs: bool, line: str, is_comment: bool) -> None:
    assert Layout(2, 0, 1, tabs=tabs).is_comment(line) is is_comment


@pytest.mark.parametrize("line", ["# sent_id = B-12", "#  id = B-12", "# id: B-12"])
def test_an_id_may_look_like_a_tag(line: str) -> None:
    assert Layout(4, 0, 3, tabs=False).is_comment(line)
    assert Layout(3, 0, 2, tabs=False).count_comments([line, "a x y B-X"]) == 1
    ragged = Layout(3, 0, 2, tabs=False, ragged=True)
    assert ragged.count_comments(["# sent_id = B-12", "a x y B-X"]) == 1


@pytest.mark.parametrize(
    ("lines", "ragged", "count"),
    [
        (["# one", "# two", "a O"], False, 2),
        (["# one", "# two"], False, 2),
        (["#a x B-X", "b y O"], False, 1),
        (["#a x B-X", "b y O"], True, 0),  # both of a width that can be repaired
        (["#a x B-X", "# y O"], True, 2),
        (["#a x B-X", "b O"], True, 1),
        (["#a\tx\tB-X", "b y O"], True, 1),
        (["#a x B-X"], True, 1),
        ([f"{WORD_MARK}\n", "# b", "a O"], False, 1),
        (["# one", f"{WORD_MARK}\r\n", "# a"], False, 2),
        (["a O", "# b"], False, 0),
    ],
)
def test_comments_before_the_first_word(lines: list[str], ragged: bool, count: int) -> None:
    assert Layout(2, 0, 1, tabs=False, ragged=ragged).count_comments(lines) == count


def test_paragraphs_have_the_numbers_of_their_first_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.conll"
    path.write_text("\n\na\nb\n \t\n\n\u3000\n\nd", "utf-8")
    assert list(paragraphs(TextFile(path))) == [(3, ["a\n", "b\n"]), (7, ["\u3000\n"]), (9, ["d"])]
    path.write_text("\na\nb\nc\n\n", "utf-8")
    monkeypatch.setattr("nersery.io.columns_and_rows.columns.MAX_ROWS", 2)
    with pytest.raises(DataError, match=r"a\.conll:2: a sentence has more than 2 lines\nFix: put a blank line after"):
        list(paragraphs(TextFile(path)))
    path.write_text("\na\nb\n\n", "utf-8")
    assert list(paragraphs(TextFile(path))) == [(2, ["a\n", "b\n"])]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("a b\tO\r\n", ["a b", "O"]),
        ("\ta\t\tO\n", ["", "a", "", "O"]),
        ("  a   O \n", ["a", "O"]),
        ("a\u00a0b\u2028 O", ["a\u00a0b\u2028", "O"]),
    ],
)
def test_splits_lines_into_columns(line: str, values: list[str]) -> None:
    assert split_line(line) == values


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a B-X\n", {"word_column": 3}, "no word column 3: its lines have 2 columns\nFix: name one of them by `word_"),
        ("a B-X\n", {"tag_column": 3}, "no tag column 3: its lines have 2 columns\nFix: name one of them by `tag_"),
        ("a\nb\n", {"tag_column": 1}, "its lines have one column, expected a word and a tag\nFix: separate word"),
        ("a b\nc d\n", {}, "looks like tags .*; the first line has: 'a', 'b'\nFix: name the column by `tag_col"),
    ],
)
def test_refuses_files_without_the_expected_columns(
    text: str, options: dict[str, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"^.*/a\.conll: (there is |no column |)" + message):
        found(tmp_path, text, **options)


def test_the_word_may_be_the_last_column(tmp_path: Path) -> None:
    layout = found(tmp_path, "a x B-X\n", word_column=3, tag_column=2)
    assert layout is not None
    assert (layout.word, layout.tag) == (2, 1)


LABEL_STUDIO = (
    "-DOCSTART- -X- O\nAda -X- _ B-New Person\nLovelace -X- _ I-New Person\nsaw -X- _ O\n\nOslo -X- _ B-in (old)\n"
)


@pytest.mark.parametrize("text", [LABEL_STUDIO, LABEL_STUDIO.replace("-X- _ ", "")])
def test_reports_tags_with_spaces_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.conll"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match="a tag seems to have spaces: 'B-New Person'") as caught:
        read(path)
    assert len(caught.value.issues) == 1
    assert "export JSON" in caught.value.fix
    path.write_text(text.replace("New Person", "Person").replace("in (old)", "in"), "utf-8")
    assert [s.words for s in read(path)] == [("Ada", "Lovelace", "saw"), ("Oslo",)]


@pytest.mark.parametrize("word", ["#MH17", "# id 3", "-DOCSTART-"])
def test_words_like_comments_are_recognised_by_their_tags(tmp_path: Path, word: str) -> None:
    corpus = [Sentence((word,), (Entity(0, 1, "MISC"),), document="d", comments=("# from a tweet",))]
    write(corpus, tmp_path / "a.conll")
    [sentence] = read(tmp_path / "a.conll")
    assert (sentence.words, sentence.labels) == ((word,), ((0, 1, "MISC"),))


@pytest.mark.parametrize("stop", [".", "。", "።"])
def test_notes_a_missing_blank_line_with_a_command_to_split_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stop: str
):
    rows = ["Ada B-PER", "came O", f"{stop} O"] * 200
    path = tmp_path / "anercorp.txt"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    assert [len(sentence) for sentence in read(path)] == [600]
    note = capsys.readouterr().err
    assert "the first 600 words are one sentence, because there is no blank line" in note
    command = note.partition("awk '")[2].partition("'")[0]
    parted = subprocess.run(["awk", command, path], capture_output=True, text=True, check=True).stdout
    path.write_text(parted, "utf-8")
    forget_notes()
    assert [len(sentence) for sentence in read(path)] == [3] * 200
    assert not capsys.readouterr().err


PLACES_FIRST = "d 0:3 Ada B-PER\nd 4:9 wrote O\n"


@pytest.mark.parametrize("options", [{}, {"word_column": 2}])
def test_a_word_column_without_letters_gets_a_note_that_names_another_column(
    tmp_path: Path, options: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    found(tmp_path, PLACES_FIRST, **options)
    assert "column 2 has no letters, e.g. '0:3'" in (note := capsys.readouterr().err)
    assert "add word_column=3" in note
    found(tmp_path, PLACES_FIRST, word_column=3)
    found(tmp_path, "12 O\n13 B-X\n")  # no other column has letters
    assert capsys.readouterr().err == ""


def test_a_tag_column_without_tags_names_the_column_that_has_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 3 has no tags, e.g. 'Ada', but column 4 has\nFix: .*tag_column=4"):
        found(tmp_path, PLACES_FIRST, tag_column=3)
    (tmp_path / "types.conll").write_text("Ada PER B-NP\nwrote O O\n", "utf-8")
    with pytest.raises(DataError, match="bare-type"):  # O is a tag
        read(tmp_path / "types.conll", tag_column=2)
    assert read(tmp_path / "types.conll", tag_column=2, repair="bare-type")[0].labels == ((0, 1, "PER"),)
