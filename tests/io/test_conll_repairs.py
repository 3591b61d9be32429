"""Repairs of CoNLL files: each is requested by name, and counted."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from nersery.core.errors import DataError
from nersery.io import read
from tests.io.conll_texts import ADA, issues, labels, opened


def test_extra_rows_repair_removes_ranges(path: Path) -> None:
    text = "1\tAda\tB-PER\n2-3\tdel\t_\n2\tde\tO\n3\tel\tO\n4\tNilo\t{}\n\n1-2\tal\tO\n1\ta\tO\n2\tel\tO\n2.1\tvan\tO\n"
    source = opened(path, text.format("B-LOC"), repair="extra-rows")
    assert [(sentence.words, sentence.labels) for sentence in source] == [
        (("Ada", "de", "el", "Nilo"), ((0, 1, "PER"), (3, 4, "LOC"))),
        (("a", "el"), ()),
    ]
    assert source.repaired == {"extra-rows": 3}
    (issue,) = issues(path, text.format("X-LOC"), repair="extra-rows")
    assert issue.startswith(":5 (sentence train:1): "), "the line in the file, with that of the range"
    (issue,) = issues(path, text.format("O").replace("4\tNilo", "4\t "), repair="extra-rows")
    assert issue.startswith(":5 (sentence train:1): ")


def test_nfc_repair_joins_an_entity_whose_types_are_written_in_two_forms(path: Path) -> None:
    decomposed, composed = "E\N{COMBINING ACUTE ACCENT}", "\N{LATIN CAPITAL LETTER E WITH ACUTE}"
    text = f"a\tI-{decomposed}\nb\tI-{composed}\nc\tO\n"
    source = opened(path, text, repair="nfc")
    assert source.scheme == "IOB1"
    assert [sentence.labels for sentence in source] == [((0, 2, composed),)]
    assert source.repaired == {"nfc": 1}
    separated = opened(path, text.replace("b\tI", "b\tB"), repair="nfc")
    assert [sentence.labels for sentence in separated] == [((0, 1, composed), (1, 2, composed))]


def test_blank_words_repair_removes_spaces_as_words(path: Path) -> None:
    """As in KLUE, whose words are characters."""
    text = "A\tB-PS\n \tI-PS\nB\tI-PS\n\tO\nc\tO\n\n \tO\n"
    with pytest.raises(DataError, match=r"2 .*the word is ' ', expected at least one character") as caught:
        list(opened(path, text))
    assert "--repair blank-words" in caught.value.fix
    source = opened(path, text, repair=("blank-words", "drop-sentence"))
    assert [(s.words, s.labels) for s in source] == [(("A", "B", "c"), ((0, 2, "PS"),))]
    assert source.repaired == {"blank-words": 2, "drop-sentence": 1}
    with pytest.raises(DataError, match=r":5 .*'junk' cannot be read"):
        list(opened(path, text.replace("c\tO", "c\tjunk"), repair=("blank-words",)))


@pytest.mark.parametrize("last", ["", "c\tjunk\n"])
def test_many_blank_words_of_one_sentence_take_linear_time(last: str, path: Path) -> None:
    """A file without blank lines is one sentence."""
    began = process_time()
    source = opened(path, "a\tO\n \tO\n" * 15_000 + last, repair=("blank-words", "drop-sentence"))
    assert sum(map(len, source)) == (0 if last else 15_000)
    assert process_time() - began < 2, "a search in the list of blank words for each word took 5 s"


def test_repairs_are_counted_and_dropped_sentences_are_kept_as_rejects(path: Path) -> None:
    text = "a O\nb -X\nc -X\n\nd -\ne B-X\n\nf I-\ng O\n\nh O\ni\n"
    source = opened(path, text, repair=("drop-sentence", "bare-dash", "lost-prefix"))
    for _ in range(2):
        assert [sentence.labels for sentence in source] == [((1, 3, "X"),), ((1, 2, "X"),)]
        assert source.repaired == {"lost-prefix": 2, "bare-dash": 1, "drop-sentence": 2}
        tags, columns = source.rejects
    assert tags.sentence is not None
    assert columns.sentence is not None
    assert (tags.reason, tags.sentence.id, tags.sentence.words) == ("unknown tag", "train:3", ("f", "g"))
    assert tags.sentence.columns == (("I-", "O"),)
    assert f"{path}:8 (sentence train:3): the tag 'I-'" in tags.sentence.comments[0]
    assert (columns.reason, columns.sentence.words) == ("wrong number of columns", ("h O", "i"))


def test_a_sentence_that_is_dropped_counts_for_no_other_repair(path: Path) -> None:
    source = opened(path, "a -\nb I-\nc O\n", repair=("bare-dash", "drop-sentence"))
    assert list(source) == []
    assert source.repaired == {"drop-sentence": 1}


def test_repairs_ragged_lines_and_spaces_around_words(path: Path) -> None:
    text = (
        "a\tO\nb \tB-X\n\n# _ _ O\nc _ _ B-X\n\n# id 4 domain=ru\nd _ _ I-X \n\n"
        "# text = S-Bahn\ne\tO\n\n# to O\nf\tO \n"
    )
    source = opened(path, text, repair=("ragged-lines", "outer-space", "orphan-inside"))
    assert [(sentence.words, sentence.labels) for sentence in source] == [
        (("a", "b"), ((1, 2, "X"),)),
        (("#", "c"), ((1, 2, "X"),)),
        (("d",), ((0, 1, "X"),)),
        (("e",), ()),
        (("f",), ()),
    ]
    assert source.repaired == {"ragged-lines": 3, "outer-space": 2, "orphan-inside": 1}


def test_bare_dash_repair_reads_an_empty_conllu_column_as_no_entity(path: Path) -> None:
    rows = (
        "1\tAda\t_\tPROPN\t_\t_\t0\troot\t_\tB-PER\n2\tran\t_\tVERB\t_\t_\t1\tx\t_\t_\n3\t.\t_\tP\t_\t_\t1\tx\t_\t_\n"
    )
    with pytest.raises(DataError, match="the tag '_' cannot be read") as caught:
        list(opened(path, rows))
    assert "bare-dash" in caught.value.fix
    [sentence] = opened(path, rows, repair="bare-dash")
    assert (sentence.words, sentence.labels) == (("Ada", "ran", "."), ((0, 1, "PER"),))


def test_makes_only_the_named_repairs(path: Path) -> None:
    path.write_text("a x O\nb B-X\nc y O\n\n d \tz\tO\n", "utf-8")
    with pytest.raises(DataError, match="the number of columns is 2, expected 3"):
        read(path, repair=["outer-space"])


def test_a_small_file_with_broken_tags_is_still_recognised(path: Path) -> None:
    assert labels(path, "a -X\nb O\n", repair=["lost-prefix"]) == [(("a", "b"), ((0, 1, "X"),))]
    assert "'X-PER'" in issues(path, "a X-PER\nb O\n")[0]


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("In\tO\nOslo\tB-LOC\n", 2),
        ("-DOCSTART-\tO\n\nIn\tO\nOslo\tB-LOC\n", 2),
        ("# id = 7\nIn\tO\nOslo\tB-LOC\n", 2),
        ("\nIn\tO\nOslo\tB-LOC\n", 2),
    ],
)
def test_the_byte_order_mark_of_a_joined_file_is_reported(path: Path, second: str, sentence: int) -> None:
    text = f"\ufeffAda\tB-PER\nwrote\tO\n\n\ufeff{second}\nBo\tB-PER\n\n\ufeff"
    found = issues(path, text)
    assert found[0].startswith(f":4 (sentence train:{sentence}): there is a byte order mark (U+FEFF) inside the file")
    with pytest.raises(DataError, match='repair="byte-order-mark"'):
        read(path)
    source = opened(path, text, repair="byte-order-mark")
    assert [(s.words, s.labels) for s in source] == [
        ADA,
        (("In", "Oslo"), ((1, 2, "LOC"),)),
        (("Bo",), ((0, 1, "PER"),)),
    ]
    assert source.repaired == {"byte-order-mark": 1}


def test_control_characters_repair_removes_a_page_break_line(path: Path) -> None:
    text = "Ada\tB-PER\n\f\tO\nwro\fte\tO\nx\n"
    source = opened(path, text.removesuffix("x\n"), repair="control-characters")
    assert [(s.words, s.labels) for s in source] == [ADA]
    assert source.repaired == {"control-characters": 2}
    with pytest.raises(DataError, match=r":4 .* the number of columns is 1"):
        list(opened(path, text, repair="control-characters"))
    with pytest.raises(DataError, match="word 0 is empty"):
        list(opened(path, "\f\tO\n", repair="control-characters"))


def test_languages_in_front_of_all_words_are_reported_or_removed(path: Path) -> None:
    text = "en:Oslo\tB-LOC\nen::\tO\nen:re:x\tO\n\nzh-yue:北京\tB-LOC\n"
    source = opened(path, text)
    note = '; words begin with a language, as in "en:Oslo": --repair language-prefix'
    assert source.description.endswith(f"word 1, tag 2{note}")
    assert [sentence.words for sentence in source] == [("en:Oslo", "en::", "en:re:x"), ("zh-yue:北京",)]
    source = opened(path, text, repair="language-prefix")
    assert source.description.endswith("word 1, tag 2")
    assert [sentence.words for sentence in source] == [("Oslo", ":", "re:x"), ("北京",)]
    assert source.repaired == {"language-prefix": 4}
    with pytest.raises(DataError, match=r":2 .*the word is '', expected at least one character"):
        list(opened(path, "en:Oslo\tB-LOC\nen:\tO\n", repair="language-prefix"))


def test_reports_or_removes_digits_after_characters(path: Path) -> None:
    """As in Weibo, where a number is the position of a character in its word."""
    text = "#0\tO\n西0\tB-ORG\n山1\tI-ORG\n\n80\tO\nx10\tO\n"
    note = 'word 1, tag 2; words end with a number, as in "西0": --repair word-digit'
    assert opened(path, text).description.endswith(note)
    source = opened(path, text, repair="word-digit")
    assert source.description.endswith("word 1, tag 2")
    assert [sentence.words for sentence in source] == [("#", "西", "山"), ("8", "x")]
    assert source.repaired == {"word-digit": 5}
    for other in ("A4\tO\nOslo\tB-LOC\n", "4\tO\n80\tB-N\n"):
        assert "number" not in opened(path, other).description
        assert opened(path, other, repair="word-digit").repaired == {}


@pytest.mark.parametrize("text", ["en:Oslo\tB-LOC\nin\tO\n", "11:30\tO\n12:00\tB-T\n", "EN:Oslo\tB-LOC\n", ""])
def test_keeps_language_prefixes_unless_every_word_has_one(path: Path, text: str) -> None:
    source = opened(path, text, repair="language-prefix")
    assert "language" not in opened(path, text).description
    assert [word for sentence in source for word in sentence.words] == [row.split("\t")[0] for row in text.splitlines()]
    assert not source.repaired


def test_repairs_tags_with_a_misplaced_or_lower_case_letter(path: Path) -> None:
    for text, repair in (
        ("Ada\tPER-B\nL.\tPER-I\nran\tO\n", "letter-last"),
        ("Ada\tb-PER\nL.\ti-PER\nran\to\n", "small-letter"),
    ):
        with pytest.raises(DataError, match=repair):
            list(opened(path, text))
        with pytest.raises(DataError, match=f'repair="{repair}"'):
            list(opened(path, text, tag_column=2))
        assert labels(path, text, tag_column=2, repair=[repair]) == [(("Ada", "L.", "ran"), ((0, 2, "PER"),))]


def test_repairs_tabs_and_spaces_after_tags(path: Path) -> None:
    """Lines that end with a tab among others that do not, and a space after every tag."""
    (sentence,) = source = opened(path, "Ada\tB-X\t\nran\tO\n.\tO\n", repair=("ragged-lines",))
    assert (sentence.labels, source.repaired) == (((0, 1, "X"),), {"ragged-lines": 1})
    text = "Ada\tB-X \nran\tO \n.\tO \n"
    (sentence,) = source = opened(path, text, repair=("outer-space",))
    assert (sentence.labels, source.repaired) == (((0, 1, "X"),), {"outer-space": 3})
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=r"begins or ends with a space(.|\n)*outer-space"):
        read(path)
