"""Offsets that do not count characters, in any format with labels by characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Literal
from unicodedata import normalize

import pytest

from nersery.core.errors import DataError
from nersery.core.warnings import forget_notes
from nersery.io import ReadOptions, open_corpus, read, write

TEXT = "Dear all,\r\n\r\nI saw Ada in Oslo,\r\nand Sjögren too 😀 in Rome."
SPLIT = {
    "spaces": ["Ilé-Ifẹ̀,", "a.b!"],
    "punctuation": ["Ilé-Ifẹ̀", ",", "a.b", "!"],
    "signs": ["Ilé", "-", "Ifẹ̀", ",", "a", ".", "b", "!"],
    "characters": ["Ilé-Ifẹ̀", ",", "a.b", "!"],
}
LABELS = {"Ada": "PER", "Oslo": "LOC", "Sjögren": "PER", "Rome": "LOC"}


def advised(error: DataError) -> list[str]:
    """The repairs that an error advises, but for that of the sentences that are still broken."""
    return [name for name in re.findall(r"--repair (\S+)", error.fix) if name != "drop-sentence"]


def save(path: Path, counted: str, *, utf16: bool = False) -> Path:
    """The text with labels whose offsets were counted in another form of it."""
    starts = {name: counted.index(name) for name in LABELS}
    if utf16:
        starts = {name: len(counted[:start].encode("utf-16-le")) // 2 for name, start in starts.items()}
    label = [[start, start + len(name), LABELS[name]] for name, start in starts.items()]
    if path.suffix == ".jsonl":
        path.write_text(json.dumps({"text": TEXT, "label": label}), "utf-8")
        return path
    path.mkdir()
    (path / "a.txt").write_bytes(TEXT.encode())
    lines = [
        f"T{n}\t{type_} {start} {end}\t{name}\n"
        for n, (name, (start, end, type_)) in enumerate(zip(LABELS, label, strict=True))
    ]
    (path / "a.ann").write_text("".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "folder"])
def test_crlf_offsets_repair_moves_labels_that_count_line_ends_once(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, TEXT.replace("\r\n", "\n"))
    with pytest.raises(DataError) as caught:
        read(path)
    assert "--repair crlf-offsets" in caught.value.fix
    assert "whole-words" not in caught.value.fix
    assert "cut-words" not in caught.value.fix
    source = open_corpus(path, ReadOptions(repair=("crlf-offsets",)))
    assert {"".join(s.mention(e)): e.type for s in source for e in s.entities} == LABELS
    assert source.repaired == {"crlf-offsets": 4}


def test_crlf_and_utf16_offsets_repairs_combine(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", TEXT.replace("\r\n", "\n"), utf16=True)
    source = open_corpus(path, ReadOptions(repair=("crlf-offsets", "utf16-offsets")))
    assert {"".join(s.mention(e)): e.type for s in source for e in s.entities} == LABELS


def test_reads_offsets_that_count_line_ends_as_two_characters(tmp_path: Path) -> None:
    assert {"".join(s.mention(e)): e.type for s in read(save(tmp_path / "a.jsonl", TEXT)) for e in s.entities} == LABELS
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"text": "One\r\nOslo-based, Rome", "label": [[5, 9, "LOC"], [17, 21, "LOC"]]}), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert "--repair whole-words" in caught.value.fix
    assert "crlf-offsets" not in caught.value.fix


@pytest.mark.parametrize("split", [None, *SPLIT])
@pytest.mark.parametrize("name", ["a.jsonl", "a.pubtator", "a.ann"])
def test_text_is_split_as_the_option_says(tmp_path: Path, name: str, split: str | None) -> None:
    text, path = " ".join(SPLIT["spaces"]), tmp_path / name
    path.write_text({".jsonl": json.dumps({"text": text}), ".ann": ""}.get(path.suffix, f"1|t|{text}\n"), "utf-8")
    if path.suffix == ".ann":
        path.with_suffix(".txt").write_text(text, "utf-8")
    [sentence] = read(path, split=split)
    assert [*sentence.words] == SPLIT[split or ("punctuation" if name == "a.jsonl" else "signs")]


EMOJI = "😀😀 Zürich, Ada met Bo"


def counted(tmp_path: Path, unit: str, text: str = EMOJI, names: tuple[str, ...] = ("Ada", "Bo")) -> Path:
    """A text whose labels count characters, or units of an encoding."""

    def size(part: str) -> int:
        width = {"utf-16-le": 2, "utf-8": 1}.get(unit)
        return len(part) if width is None else len(part.encode(unit)) // width

    labels = [[size(text[: (at := text.index(name))]), size(text[: at + len(name)]), "PER"] for name in names]
    path = tmp_path / f"{unit}.jsonl"
    path.write_text(json.dumps({"text": text, "label": labels}), "utf-8")
    return path


@pytest.mark.parametrize(("unit", "repair"), [("utf-16-le", "utf16-offsets"), ("utf-8", "utf8-offsets")])
def test_suggests_only_the_repair_that_makes_labels_fit(tmp_path: Path, unit: str, repair: str) -> None:
    path = counted(tmp_path, unit)
    with pytest.raises(DataError) as caught:
        read(path)
    assert advised(caught.value) == [repair]
    [sentence] = read(path, repair=(repair,))
    assert [sentence.mention(entity) for entity in sentence.entities] == [("Ada",), ("Bo",)]


DECOMPOSED = {
    "Latin": ("Adé Ọláṣùpọ̀ met Bo", "Ọláṣùpọ̀"),
    "Hangul": ("서울에 김연아 있다", "김연아"),
    "kana": ("が ぎ", "ぎ"),
}


@pytest.mark.parametrize("script", DECOMPOSED)
@pytest.mark.parametrize(("form", "counted_in"), [("NFD", "NFC"), ("NFC", "NFD")])
@pytest.mark.parametrize("name", [True, False])
def test_suggests_offsets_in_the_other_unicode_form(
    tmp_path: Path, script: str, form: Literal["NFC", "NFD"], counted_in: Literal["NFC", "NFD"], *, name: bool
) -> None:
    text, mention = (normalize(counted_in, part) for part in DECOMPOSED[script])
    start = text.index(mention)
    label = {"start": start, "end": start + len(mention), "label": "X", **({"text": mention} if name else {})}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": normalize(form, text), "entities": [label]}), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    repair = f"{counted_in.lower()}-offsets"
    assert advised(caught.value) == [repair]
    [sentence] = read(path, repair=(repair,))
    assert [sentence.mention(entity) for entity in sentence.entities] == [(normalize(form, mention),)]


def test_bytes_and_nfd_are_distinguished(tmp_path: Path) -> None:
    """An accented letter of Latin-1 is two bytes, and two characters in NFD; a letter such as ß is only two bytes."""
    path, text = tmp_path / "a.jsonl", "Hélène und Großmann trafen Zoé Léger"
    sizes: dict[str, Callable[[str], int]] = {
        "utf8": lambda part: len(part.encode()),
        "nfd": lambda part: len(normalize("NFD", part)),
    }
    for repair, size in sizes.items():
        ends = [(text.index(name), text.index(name) + len(name)) for name in ("Großmann", "Léger")]
        labels = [[size(text[:start]), size(text[:end]), "PER"] for start, end in ends]
        path.write_text(json.dumps({"text": text, "label": labels}), "utf-8")
        with pytest.raises(DataError) as caught:
            read(path)
        assert advised(caught.value) == [f"{repair}-offsets"]


def test_does_not_suggest_nfc_offsets_for_a_label_within_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": normalize("NFD", "In Köln met Adas"), "label": [[14, 17, "X"]]}), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert advised(caught.value) == ["whole-words", "cut-words"]


@pytest.mark.parametrize(
    ("text", "mention", "start"), [("😀😀😀 no no", "no", 4), ("Hi Bob😀", "Bob😀", 3), ("😀", "😀", 0)]
)
def test_prefers_the_moved_place_of_a_label_if_it_fits(tmp_path: Path, text: str, mention: str, start: int) -> None:
    units = [len(part.encode("utf-16-le")) // 2 for part in (text[:start], mention)]
    label = {"start": units[0], "end": sum(units), "label": "X", "text": mention}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text, "label": [label]}), "utf-8")
    [sentence] = read(path, repair=("utf16-offsets",), split="signs")
    assert sentence.character_spans == ((start, start + len(mention), "X"),)


@pytest.mark.parametrize("text", ["Zoe\u0301 ran", "Zo\xe9 ran"])
@pytest.mark.parametrize("mention", ["Zoe\u0301", "Zo\xe9"])
def test_a_label_may_write_its_text_in_another_unicode_form(tmp_path: Path, text: str, mention: str) -> None:
    label = {"start": 0, "end": text.index(" "), "label": "PER", "text": mention}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text, "label": [label]}), "utf-8")
    assert read(path)[0].labels == ((0, 1, "PER"),)


def test_suggests_utf16_offsets_for_a_label_past_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Bob😀", "label": [{"start": 0, "end": 5, "label": "X", "text": "Bob😀"}]}))
    with pytest.raises(DataError, match=r"X \[0, 5\) does not lie within the 4 characters") as caught:
        read(path)
    assert "--repair utf16-offsets" in caught.value.fix


def test_suggests_removing_or_replacing_an_unsuitable_repair(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(counted(tmp_path, "characters"), repair=("utf16-offsets",))
    assert "leave out --repair utf16-offsets: more labels fit without" in caught.value.fix
    assert "PER [11, 14)" in str(caught.value), "as the file has it"
    with pytest.raises(DataError) as caught:
        read(counted(tmp_path, "utf-8"), repair=("utf16-offsets",))
    assert "--repair utf8-offsets in place of --repair utf16-offsets: more labels fit" in caught.value.fix


FRENCH = {"Zoé met André Müller in Orléans": ("Zoé", "André Müller", "Orléans")}
SPANISH = {"José Peña left Málaga for Córdoba": ("José Peña", "Málaga", "Córdoba")}


def in_forms(text_form: str, **names: dict[str, tuple[str, ...]]) -> str:
    """A line of JSON with a text in a Unicode form, and labels whose offsets count as in the forms by their name."""
    text = " and ".join(text for texts in names.values() for text in texts)
    label = []
    for form, texts in names.items():
        for name in (normalize(form, name) for mentions in texts.values() for name in mentions):
            start = normalize(form, text).index(name)
            label.append([start, start + len(name), "X"])
    return json.dumps({"text": normalize(text_form, text), "label": label}) + "\n"


@pytest.mark.parametrize(
    ("form", "repair", "fit"), [("NFD", ["nfc-offsets"], "without --repair nfc"), ("NFC", [], "with --repair")]
)
def test_a_text_whose_labels_are_counted_in_two_ways(tmp_path: Path, form: str, repair: list[str], fit: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(in_forms(form, NFC=FRENCH, NFD=SPANISH), "utf-8")
    with pytest.raises(DataError, match="'for Có', a part of 'for Córdoba'" if form == "NFC" else "part") as caught:
        read(path, repair=repair)
    assert f"some labels of a text fit only {fit}" in caught.value.fix
    assert "whole-words" not in caught.value.fix, "it would label words beside the mentions"
    assert "leave out" not in caught.value.fix


def test_texts_that_are_counted_in_two_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(in_forms("NFD", NFC=FRENCH) + in_forms("NFD", NFD=SPANISH), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert "nfc-offsets" in caught.value.fix
    with pytest.raises(DataError) as caught:
        read(path, repair=["nfc-offsets"])
    assert "labels of other texts fit only with --repair nfc-offsets" in caught.value.fix
    assert "leave out" not in caught.value.fix, "which would lead back to the advice to use it"


@pytest.mark.parametrize("repair", ["whole-words", "cut-words"])
def test_labels_that_are_stretched_and_should_be_moved_are_noted(tmp_path: Path, repair: str, capsys) -> None:
    read(counted(tmp_path, "utf-16-le", names=("Ada",)), repair=(repair,))
    assert f'counted differently. Try repair="utf16-offsets" in place of repair="{repair}"' in capsys.readouterr().err


def test_labels_that_fit_however_an_emoji_counts_are_noted(tmp_path: Path, capsys) -> None:
    path = counted(tmp_path, "utf-16-le", "😀我爱北京了", ("北京",))
    read(path, split="characters")
    assert "some labels come after an emoji (first in utf-16-le:1), and fit words whether" in capsys.readouterr().err
    forget_notes()
    for text, names in (("我爱北京了😀", ("北京",)), (EMOJI, ("Ada",))):
        read(counted(tmp_path, "characters", text, names), split="characters")
    [sentence] = read(path, split="characters", repair=("utf16-offsets",))
    assert sentence.labels == ((3, 5, "PER"),)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(("unit", "repair"), [("utf-16-le", "utf16-offsets"), ("utf-8", "utf8-offsets")])
def test_uses_all_texts_of_a_file_to_find_how_it_counts(tmp_path: Path, unit: str, repair: str) -> None:
    texts = ["😀 राम दिल्ली में रहता है", "😀 दिल्ली", "😀😀 दि दिल्ली 😀 में", "दिल्ली"]
    lines = [counted(tmp_path, unit, text, ("दिल्ली",)).read_text("utf-8") for text in texts]
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join([*lines, json.dumps({"text": "😀 Oslos", "label": [[2, 6, "LOC"]]})]), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert advised(caught.value) == [repair]


def test_endings_that_labels_leave_out_do_not_look_like_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, place = "Հովհաննես Թումանյան", "Երևան"
    texts = [f"{name}ը {place}ում", f"{place} գնաց {name}ը", f"{name}ը գնաց {place}", f"{place} եկավ {name}ից"]
    rows = [{"text": t, "label": [[t.index(x), t.index(x) + len(x), "X"] for x in (name, place)]} for t in texts]
    path = tmp_path / "hy.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert advised(caught.value) == ["whole-words", "cut-words"]
    assert len(read(path, repair=("cut-words",))) == len(texts)
    assert "counted differently" not in capsys.readouterr().err


def test_does_not_suggest_utf8_offsets_for_part_of_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Häuser in Öslo", "label": [[0, 3, "X"]]}), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert advised(caught.value) == ["whole-words", "cut-words"]


def test_suggests_another_split_only_if_it_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for text, offered in (("TiO2-based cells", True), ("TiO2based cells", False)):
        path.write_text(json.dumps({"text": text, "label": [[0, 4, "MAT"]]}), "utf-8")
        with pytest.raises(DataError) as caught:
            read(path)
        assert ("--split signs" in caught.value.fix) is offered
    path.write_text(json.dumps({"text": "TiO2-based cells", "label": [[0, 4, "MAT"]]}), "utf-8")
    assert [s.words for s in read(path, split="signs")] == [("TiO2", "-", "based", "cells")]


@pytest.mark.parametrize(
    ("text", "start", "end", "is_advised"),
    [("ຢູ່ວຽງຈັນ ລາວ", 4, 10, True), ("ལྷ་ས་ལ་འགྲོ།", 0, 4, False), ("Oslo 北京", 0, 2, False)],
)
def test_suggests_to_split_characters_only_if_it_helps(
    tmp_path: Path, text: str, start: int, end: int, is_advised: bool
) -> None:
    """A label of Tibetan that ends before the point of a syllable ends within it."""
    (tmp_path / "a.txt").write_text(text, "utf-8")
    (tmp_path / "a.ann").write_text(f"T1\tLOC {start} {end}\t{text[start:end]}\n", "utf-8")
    with pytest.raises(DataError, match="a part of") as caught:
        read(tmp_path)
    assert ('split="characters"' in str(caught.value)) == is_advised
    assert 'repair="whole-words"' in str(caught.value)


def test_types_that_seem_to_be_tags_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    labels = [[0, 3, "B-PER"], [4, 12, "I-PER"], [16, 22, "B-cell"]]
    path.write_text(json.dumps({"text": "Ada Lovelace in London", "label": labels}), "utf-8")
    assert len(read(path)[0].entities) == 3
    assert "the types B-PER and I-PER seem to be tags of single words" in capsys.readouterr().err
    path.write_text(json.dumps({"text": "Ada Lovelace in London", "label": [[16, 22, "B-cell"]]}), "utf-8")
    forget_notes()
    assert read(path)[0].labels == ((3, 4, "B-cell"),)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "fix"), [("a.jsonl", "jq -c 'walk("), ("a.pubtator", r"tr '\r' '\n'")])
def test_suggests_a_tool_that_finds_the_carriage_returns(tmp_path: Path, name: str, fix: str) -> None:
    text = "Ada in\rOslo"
    path = tmp_path / name  # JSON escapes the character, so tr would find none
    path.write_text(json.dumps({"text": text}) if name == "a.jsonl" else f"1|t|{text}\n1|a|\n", "utf-8", newline="\n")
    with pytest.raises(DataError, match="carriage return inside the line") as caught:
        read(path)
    assert fix in caught.value.fix


@pytest.mark.parametrize("counted_in", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_a_composed_text_keeps_its_labels_and_spaces(
    tmp_path: Path, counted_in: Literal["NFC", "NFD"], written: Literal["NFC", "NFD"]
) -> None:
    """Whatever form its offsets were counted in. Offsets in JSONL stay those in the document."""
    text, names = "Fẹ́mi (Ìbàdàn) wá, Ṣeyí lọ.", ("Fẹ́mi", "Ìbàdàn", "Ṣeyí")
    counted, given = normalize(counted_in, text), normalize(written, text)
    starts = {name: counted.index(normalize(counted_in, name)) for name in names}
    labels = [[start, start + len(normalize(counted_in, name)), "X"] for name, start in starts.items()]
    path, kept, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl"
    path.write_text(json.dumps({"text": given, "label": labels}), "utf-8")
    moved = () if counted_in == written else (f"{counted_in.lower()}-offsets",)
    [sentence] = read(path, repair=(*moved, "nfc"))
    composed = [normalize("NFC", name) for name in names]
    assert [" ".join(sentence.mention(entity)) for entity in sentence.entities] == composed
    assert [given[start:end] for start, end, _ in sentence.character_spans] == [normalize(written, n) for n in names]
    write([sentence], kept)
    write(read(kept), copy, format="spans")
    row = json.loads(copy.read_text("utf-8"))
    assert row["text"] == normalize("NFC", text)
    assert [row["text"][start:end] for start, end, _ in row["label"]] == composed


def test_many_labels_within_words_of_one_line_take_linear_time(tmp_path: Path) -> None:
    """Each of them needs the line as other splittings split it, which is the same line for all."""
    label = [[at + 1, at + 5, "PER"] for at in range(0, 12 * 800, 12)]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "Adaline ran " * 800, "label": label}), "utf-8")
    began = process_time()
    with pytest.raises(DataError, match="800 issues"):
        read(tmp_path / "a.jsonl")
    assert process_time() - began < 1, "the line was split for each label, which took 4 s"
