"""Raw text as people have it: what lines can hold, and what is not a sentence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.core.sentence import Entity, Sentence
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.io import ReadOptions, open_corpus, open_text, read, reject_line, write
from nersery.io import text as module
from nersery.io.input_files.text_file import TextFile
from nersery.pipeline.stage_job import corpus_job

SHORT = 20


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of text whose lines may have at most 20 characters."""
    monkeypatch.setattr(module, "MAX_LINE_LENGTH", SHORT)
    return tmp_path / "raw.txt"


def test_keeps_invisible_characters_in_words(path: Path) -> None:
    path.write_bytes("\ufeffAda\n\u200b\nक्\u200dष नई\u200cद\n\ufeffBo\n".encode())
    assert [s.words for s in read(path)] == [("Ada",), ("क्\u200dष", "नई\u200cद"), ("\ufeffBo",)]


def test_leading_byte_order_mark_of_a_word_survives_a_round_trip(path: Path) -> None:
    sentences = [Sentence(("\ufeffIn",)), Sentence(("\ufeff", "x")), Sentence(("Oslo",))]
    write(sentences, path)
    assert path.read_text("utf-8") == "\ufeff\ufeffIn\n\ufeff x\nOslo\n"
    assert [s.words for s in read(path)] == [s.words for s in sentences]
    corpus_job(path, {}).run(sentences, list, overwrite=True)
    assert [s.words for s in read(path)] == [s.words for s in sentences]


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_line_may_just_be_long(path: Path, end: str) -> None:
    line = "a " * (SHORT // 2 - 1) + "bc"
    path.write_bytes(f"{line}{end}".encode())
    assert [s.text for s in read(path)] == [line]


@pytest.mark.parametrize("line", ["a " * SHORT, "東京" * SHORT, " " * SHORT + " a", "x" * (SHORT + 1), "a " * 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_a_line_that_is_too_long_is_named(path: Path, line: str, encoding: str) -> None:
    path.write_bytes(f"\ufeffone\n{line}\nthree\n".encode(encoding))
    with pytest.raises(DataError) as caught:
        read(path, encoding=encoding, format="text")
    issue = caught.value.issues[0]
    assert (issue.line, issue.sentence) == (2, "raw:2")
    assert issue.message.startswith("the line has more than 20 characters, expected one sentence")
    assert "put each sentence on a line of its own" in caught.value.fix


def test_rejects_a_line_that_is_too_long_and_reads_the_others(path: Path) -> None:
    path.write_text("a " * 1000 + "\nb\n" + " " * 999 + "\nc", "utf-8")
    source = open_corpus(path, replace(ReadOptions(), repair=("drop-sentence",)))
    assert [s.id for s in source] == ["raw:2", "raw:4"]
    assert [reject.reason for reject in source.rejects] == ["line too long, its beginning kept"] * 2
    assert all("more than 20 characters" in reject_line(reject) for reject in source.rejects)


def test_no_line_fills_the_memory(path: Path) -> None:
    with path.open("w") as stream:
        for _ in range(500):
            stream.write("a b c d " * 1000)
        stream.write("\nb\n")
    tracemalloc.start()
    lines = list(TextFile(path).beginnings(SHORT))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == [("a b c d " * 3)[: SHORT + 1], "b\n"]
    assert peak < 2**20, "the line has four megabytes"


@pytest.mark.parametrize(
    ("text", "split", "is_cut"),
    [
        ("王小明在北京工作很多年。\n", "spaces", False),
        ("王小明在北京工作很多年，很好。\n", "punctuation", False),
        ("王小明在北京工作很多年，很好。\n", "characters", True),
        ("王小明 在 北京 工作 很多 年 。\n", "spaces", True),
        ("นายกรัฐมนตรีไปกรุงเทพ สมชายวงศ์สวัสดิ์\n", "punctuation", False),
        ("นายก รัฐมนตรี ไป ที่ กรุงเทพมหานคร แล้ว\n", "spaces", True),
        ("of the people who live here now " * 4 + "王小明在北京工作很多年\n", "spaces", True),
        ("राष्ट्रपति प्रतिनिधिमंडल के साथ\n", "spaces", True),
    ],
)
def test_reports_phrases_in_scripts_without_spaces(tmp_path: Path, text: str, split: str, is_cut: bool) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(text, "utf-8")
    suffix = (
        "" if is_cut else '; its script has no spaces, so whole phrases are taken for words (the split "characters"'
    )
    opened = (
        open_corpus(path, ReadOptions(split=split)).description,
        open_side(path, ReadOptions(split=split)).description,
    )
    assert [description.partition(" cuts")[0] for description in opened] == [
        f"text{suffix}",
        f"text, line by line{suffix}",
    ]


def test_suggests_splitting_phrases_at_zero_width_spaces(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_text("ខ្ញុំ\u200bរស់នៅ\u200bក្នុង\u200bទីក្រុង\u200bភ្នំពេញ\n", "utf-8")
    as_given, parted = (open_corpus(path, ReadOptions(split=split)).description for split in ("spaces", "punctuation"))
    assert as_given.endswith('(the split "punctuation" cuts them)')
    assert parted == "text"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Ada kam, sah: «Oslo».\n", ["Ada", "kam", ",", "sah", ":", "«", "Oslo", "»", "."], "punctuation is split off"),
        ("  सीता  दिल्ली गई।\n", ["सीता", "दिल्ली", "गई", "।"], "punctuation is split off"),
        ('She said "Oslo."\n', ["She", "said", '"', "Oslo", ".", '"'], "punctuation is split off"),
        ("Elle a vu « Oslo. »\n", ["Elle", "a", "vu", "«", "Oslo", ".", "»"], "punctuation is split off"),
        ("ذهبت إلى أوسلو؟\n", ["ذهبت", "إلى", "أوسلو", "؟"], "punctuation is split off"),
        ("王小明在北京。\n", [*"王小明在北京。"], "each character is a word"),
        ("我在 Google 工作。\n", [*"我在", "Google", *"工作。"], "each character is a word"),
        ("བོད་སྐད་དང་ཡིག་གེ་ལྷ་ས\n", ["བོད་", "སྐད་", "དང་", "ཡིག་", "གེ་", "ལྷ་", "ས"], "each syllable is a word"),
        ("ရန်ကုန်မြို့တွင်\n", ["ရန်", "ကုန်", "မြို့", "တွင်"], "each syllable is a word"),
        ("我 在 北京 工作 。\n", ["我", "在", "北京", "工作", "。"], ""),
        ("ខ្ញុំ\u200bរស់នៅ\u200bក្នុង\u200bភ្នំពេញ\n", ["ខ្ញុំ", "រស់នៅ", "ក្នុង", "ភ្នំពេញ"], "punctuation is split off"),
        ("Ada (1815) , 🧑🏽‍🚀 !\n", ["Ada", "(1815)", ",", "🧑🏽‍🚀", "!"], ""),
        ("Ada met Mr. Bo\n", ["Ada", "met", "Mr.", "Bo"], ""),
    ],
)
def test_detects_how_to_split_text(tmp_path: Path, text: str, words: list[str], expected: str) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(text, "utf-8")
    sentence, source = read(path)[0], open_corpus(path)
    assert list(sentence.words) == words
    assert (expected in source.description) if expected else source.description == "text"
    assert read(path, split="spaces")[0].words == tuple(text.split())
    assert not read(path, split="spaces")[0].offsets
    if expected:
        assert [text[start:end] for start, end in sentence.offsets] == words


@pytest.mark.parametrize("text", ["  «Ada» came to Oslo, (twice)…\n", "王小明在北京。\n", "Şırnak'ta “kaldı”.\n"])
def test_labels_of_split_text_return_to_the_original_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "raw.txt").write_text(text, "utf-8")
    labelled = [sentence.with_entities([Entity(1, 3, "X")]) for sentence in read(tmp_path / "raw.txt")]
    write(labelled, tmp_path / "spans.jsonl", format="spans")
    assert json.loads((tmp_path / "spans.jsonl").read_text("utf-8"))["text"] == text.strip()
    assert read(tmp_path / "spans.jsonl")[0].labels == labelled[0].labels


def test_splits_text_like_the_labelled_sentences(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("Ada kam, sah.\n", "utf-8")
    for attached, count in {None: 5, 0.1: 5, 0.9: 3}.items():
        assert [len(sentence) for sentence in open_text(tmp_path / "raw.txt", attached_share=attached)] == [count]
    options = ReadOptions(split="punctuation")
    assert [len(sentence) for sentence in open_text(tmp_path / "raw.txt", options, 0.9)] == [5]
    description = "text; punctuation stays in the words, as in the labelled sentences"
    assert open_text(tmp_path / "raw.txt", attached_share=0.9).description == description
    (tmp_path / "zh.txt").write_text("王小明在北京。\n", "utf-8")
    assert [len(sentence) for sentence in open_text(tmp_path / "zh.txt", attached_share=0.9)] == [7]
    (tmp_path / "folder").mkdir()
    (tmp_path / "raw.txt").rename(tmp_path / "folder" / "raw.txt")
    assert [len(sentence) for sentence in open_text(tmp_path / "folder", attached_share=0.9)] == [3]


@pytest.mark.parametrize(
    ("text", "split", "word"),
    [
        ("Ada came to Oslo, and Bo left.\n" * 10, "spaces", "Oslo,"),
        ("सीता दिल्ली गई।\n" * 10, "spaces", "गई।"),
        ("Ada came to Oslo.\n" * 10, "spaces", "Oslo."),
        ("وہ لاہور گئی۔\n" * 10, "spaces", "گئی۔"),
        ("አዲስ አበባ ሄደች።\n" * 10, "spaces", "ሄደች።"),
        ("Նա գնաց Երևան։\n" * 10, "spaces", "Երևան։"),
        ("Նա գնաց Երևան ։\n" * 10, "spaces", ""),
        ("Ada et al. came to Oslo .\n" * 10, "spaces", ""),
        ("Ada came to Oslo, and Bo left.\n" * 10, "punctuation", ""),
        ("Ada came to Oslo , and Bo left .\n" * 10, "spaces", ""),
        ("Ada came to Oslo, and Bo left.\n" * 2, "spaces", ""),  # too few to tell
    ],
)
def test_reports_punctuation_in_words(tmp_path: Path, text: str, split: str, word: str) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(text, "utf-8")
    suffix = f'; punctuation is in the words, as in "{word}" (the split "punctuation"' if word else ""
    assert open_corpus(path, ReadOptions(split=split)).description.partition(" separates")[0] == f"text{suffix}"


@pytest.mark.parametrize("split", ["spaces", "punctuation"])
@pytest.mark.parametrize(
    ("text", "found"),
    [("Herr M&uuml;ller kam .", "&uuml;"), ("it&#39;s &nbsp;", "&#39;"), ("AT&T; R&D , a && b;", ""), ("& ; &x;", "")],
)
def test_reports_html_entities(tmp_path: Path, split: str, text: str, found: str) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(f"Ada came .\n{text}\n", "utf-8")
    description = open_corpus(path, ReadOptions(split=split)).description
    assert (f"as HTML writes them, as in {found} (decode them: python3 -c" in description) == bool(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\tShe met Ada .\n2\tShe left .\n", "2 columns, all read as words (keep only the text, e.g. cut -f2 raw.txt"),
        ("She left .\tEr ging .\t7\r\n\r\nShe met\tEr traf\t8\r\n", "3 columns, all read as words (keep only the text"),
        (
            "Geh !\tShe left .\tCC-BY 2.0 (France) #1\nSie traf\tShe met\tCC-BY 2.0 (France) #2\n",
            "3 columns, all read as words (keep only the text, e.g. cut -f2 raw.txt",
        ),
        ("She left . ||| Er ging .\nAda ||| Ada\nShe met ||| \n", "several texts separated by |||, all read as words"),
        ('<doc id="1">\n<seg id="1">She met Ada</seg>\n<seg>She left</seg>\n', "sed -E 's/<[^>]*>//g'"),
    ],
)
def test_reports_table_rows_and_xml_with_a_command_for_text(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "raw.txt").write_text(text, newline="")
    description = open_corpus(tmp_path / "raw.txt", ReadOptions(format="text")).description
    assert expected in description
    command = description.rsplit(" (", 1)[1].strip(")").rsplit("e.g. ", 1)[-1].removeprefix("delete them: ")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    source = open_corpus(tmp_path / "text.txt", ReadOptions(format="text"))
    assert [sentence.words[0] for sentence in source][-1] == "She"
    assert source.description == "text"


@pytest.mark.parametrize(
    "text",
    ["a\tb\n", "\ta b\n\tc d\n", "a\tb\nc\n", "a <unk> b\n<unk> c\nd e\n", "< 5 a\n< 6 > b\n", "a ||| b\nc\nd\n"],
)
def test_does_not_report_tabs_and_angle_brackets_in_plain_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "raw.txt").write_text(text)
    assert open_corpus(tmp_path / "raw.txt", ReadOptions(format="text")).description == "text"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "Ada\x00 m\x07 \x1b[31m \x00\n", ("Ada", "m", "[31m")),
        ("a.conll", "Ada\x00\tB-PER\nm\x7f\tO\n", ("Ada", "m")),
        ("a.jsonl", '{"words": ["Ada\\u0000", "m\\u0085"]}\n', ("Ada", "m")),
        ("b.jsonl", '{"text": "Ada\\u0000 m", "label": [[0, 4, "PER"]]}\n', ("Ada", "m")),
    ],
)
def test_control_characters_are_refused_with_their_place_or_removed(
    tmp_path: Path, name: str, text: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=r":1 .*word 0 is 'Ada.*control character U\+0000") as caught:
        read(path)
    assert "--repair control-characters" in caught.value.fix
    source = open_corpus(path, ReadOptions(repair=("control-characters",)))
    assert [sentence.words for sentence in source] == [words]
    assert source.repaired["control-characters"] > 0
    dropped = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert list(dropped) == []
    assert len(dropped.rejects) == 1


def test_text_refuses_labels_and_words_with_white_space(tmp_path: Path) -> None:
    labelled = Sentence(("Ada", "met", "Bo"), (Entity(0, 1, "PER"), Entity(2, 3, "PER")), "7")
    with pytest.raises(DataError, match="sentence 7: plain text cannot hold its 2 labels") as caught:
        write([labelled], tmp_path / "a.txt")
    assert "--to words" in caught.value.fix
    assert not list(tmp_path.iterdir())
    assert write([labelled], tmp_path / "a.txt", format="words") == 1
    assert (tmp_path / "a.txt").read_text() == "Ada met Bo\n"
    for format in ("text", "words"):
        with pytest.raises(DataError, match="sentence 8: word 1 is 'New York'"):
            write([Sentence(("in", "New York"), id="8")], tmp_path / "b.txt", format=format)


def test_blank_lines_in_front_of_sentences_are_left_out_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("none.txt", "a\nb\n\n \n"), ("one.txt", "a\n\nb\n\n"), ("two.txt", "\na\n \t\nb\n")):
        Path(name).write_text(text)
        source = open_corpus(name)
        assert [sentence.words for sentence in [*source, *source]] == [("a",), ("b",)] * 2
        assert len([*open_side(name, ReadOptions())]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "note: one.txt: left out a blank line, line 2; delete the same lines from its translation, if there is one",
        "note: two.txt: left out 2 blank lines, the first is line 1; delete the same lines from its "
        "translation, if there is one",
    ]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x0b"])
def test_notes_line_breaks_within_a_line(mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(f"a{mark}\n{mark}b\nc{mark}d\n\u00a0e{mark}f\n", "utf-8")
    assert [sentence.words for sentence in open_corpus(path)] == [("a",), ("b",), ("c", "d"), ("e", "f")]
    err = capsys.readouterr().err
    assert "raw.txt: a line break other than a line feed, such as U+2028, is within 2 of its lines, first in" in err
    convert = re.search("python3 -c '.*' < raw.txt > text.txt", err)
    assert convert is not None
    subprocess.run(convert[0], shell=True, cwd=tmp_path, check=True)
    assert [sentence.words for sentence in read(tmp_path / "text.txt")] == [
        ("a",),
        ("b",),
        ("c",),
        ("d",),
        ("e",),
        ("f",),
    ]
    assert "line break" not in capsys.readouterr().err


@pytest.mark.parametrize("unseen", ["\u200b", "\u200e\u200f", "\xad", "\u2060 \u200b", " \u200d\t"])
def test_a_line_of_invisible_characters_is_blank(tmp_path: Path, unseen: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{unseen}\nAda\n{unseen} b\n", "utf-8")
    for splitting in ("spaces", "punctuation", "signs", "characters"):
        found = [*open_corpus(path, ReadOptions(split=splitting))]
        assert [sentence.id for sentence in found] == ["a:2", "a:3"]
        assert found[1].words[-1] == "b"
        sides = [*open_side(path, ReadOptions(split=splitting)).in_order()]
        assert [isinstance(side, Sentence) for side in sides] == [False, True, True]
    path.write_text(unseen, "utf-8")
    assert open_corpus(path).description == "text, empty"
    with pytest.raises(DataError, match="sentence 7: it has only invisible characters"):
        write([Sentence((unseen.split()[0],), id="7")], tmp_path / "b.txt")
    labelled = tmp_path / "a.conll"
    labelled.write_text("\u200b\tB-PER\nAda\tI-PER\n\n", "utf-8")
    assert [(sentence.words, sentence.labels) for sentence in read(labelled)] == [(("\u200b", "Ada"), ((0, 2, "PER"),))]


MEMORY = """
import sys
from nersery import io
from nersery.core.errors import DataError
try:
    for sentence in io.open_corpus(sys.argv[1], io.ReadOptions(format=sys.argv[2])):
        pass
except DataError as error:
    print(error)
# ru_maxrss would include the memory of the process that started this one
status = open("/proc/self/status").read()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this file")
@pytest.mark.parametrize("format", ["auto", "conll", "text"])
@pytest.mark.parametrize("name", ["/dev/full", "zeros"])
def test_neither_an_endless_file_nor_an_endless_line_fills_the_memory(tmp_path: Path, name: str, format: str) -> None:
    path = Path(name)
    if name == "zeros":
        path = tmp_path / "zeros.txt"
        with path.open("wb") as stream:
            stream.truncate(300 * 2**20)
    run = subprocess.run([sys.executable, "-c", MEMORY, path, format], capture_output=True, text=True, timeout=20)
    *message, megabytes = run.stdout.splitlines()
    assert "has more than" in "".join(message), run
    assert int(megabytes) < 250


def test_paragraphs_are_noted(tmp_path: Path) -> None:
    paragraph = "Ada met Bob in Oslo. They spoke about the budget of the city. Then Ada left for Rome. " * 3
    (tmp_path / "a.txt").write_text(f"Heading\n\n{paragraph}\n\n{paragraph}\n")
    assert (
        "several sentences, as line 3 has, and each is read as one (put each"
        in open_corpus(tmp_path / "a.txt").description
    )
    (tmp_path / "a.txt").write_text("Dr. J. R. R. Tolkien, who met Ada " + "and others " * 20 + "there.\nShe left.\n")
    assert "several" not in open_corpus(tmp_path / "a.txt").description


@pytest.mark.parametrize(
    "sentence",
    [
        "አበበ በቂላ ወደ ጎንደር ሄደ።",
        "ဦးနုသည် ရန်ကုန်မြို့တွင် နေသည်။",
        "សុខ អាន រស់នៅក្នុងភ្នំពេញ។",
        "Արամը ծնվել է Գյումրիում։",
        "ᠨᠠᠴᠤᠭᠳᠣᠷᠵᠢ ᠬᠥᠬᠡᠬᠣᠲᠠ ᠳᠤ ᠪᠠᠢᠢᠨ᠎ᠠ᠃",
    ],
)
def test_paragraphs_are_noted_in_scripts_with_their_own_full_stop(tmp_path: Path, sentence: str) -> None:
    (tmp_path / "a.txt").write_text(" ".join([sentence] * 12) + "\n", "utf-8")
    description = open_corpus(tmp_path / "a.txt").description
    assert "several sentences, as line 1 has" in description
    assert sentence[-1] in description.partition("sed")[2], "the command cuts there"


def test_lines_without_spaces_among_others_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("We saw them there again\n" * 9 + "李明在上海工作。\n", "utf-8")
    note = "; in 1 of its first lines, such as line 10, whole phrases are taken for words"
    assert note in open_corpus(path).description
    assert open_corpus(path, ReadOptions(split="characters")).description == "text"
    path.write_text("我们 在 北京 工作 。\n" * 9 + "中华人民共和国\n", "utf-8")
    assert open_corpus(path).description == "text", "split words, one of them long"
    path.write_text("We saw them there again\n" * 9 + "We saw 李明 there\n北京\n", "utf-8")
    assert open_corpus(path).description == "text"
