"""Files in formats that cannot be read are refused with what to do, instead of being read as text."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import open_corpus, open_text, read
from nersery.io.input_files.foreign import COMPARED, foreign_formats


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.xmi", '<?xml version="1.0"?>\n<xmi:XMI xmlns:cas="x">\n', r"UIMA CAS.*\n.*WebAnno TSV v3\.3"),
        ("a.json", '{\n  "%TYPES" : { },\n  "%FEATURE_STRUCTURES" : [ ]\n}\n', "UIMA CAS"),
        ("a.xml", '<?xml version="1.0"?><!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>\n', r"BioC.*\n.*bconv"),
        ("a.json", '{\n"source": "x", "infons": {}, "documents": [{"id": "1"}]}\n', r"BioC.*\n.*PubTator"),
        ("a.json", '{"source": "x", "infons": {}, "documents": [{"id": "1"}]}', "BioC"),
        ("a.jsonl", '{"id": "1", "infons": {}, "passages": [{"text": "Ada", "annotations": []}]}\n', "BioC"),
        ("a.json", '{"%TYPES": {}, "%FEATURE_STRUCTURES": []}\n', "UIMA CAS"),
        ("a.tsv", " # custom.X | value\n#id=1\n#text=Ada\n1-1\tAda\tB-PER\t\n", r"WebAnno TSV 2.*\n.*TSV v3\.3"),
        ("a.csv", 'id,text,label\n1,Ada,"[{""start"":0,""end"":3}]"\n', r"Label Studio's CSV.*\n.*JSON"),
        ("a.tsv", 'id\ttext\tlabel\n1\tAda\t"[{""start"":0,""end"":3}]"\n', "Label Studio's CSV"),
        ("a.csv", 'text,spans\nAda ran,[]\nBo,"[{""label"":""PER"",""start"":0,""end"":2}]"\n', "labels by characters"),
        ("a.csv", 'id,text,label\n1,Ada,"[[0, 3, ""PER""]]"\n', r"labels by characters.*\n.*lists of words and tags"),
        ("a.csv", "text,entities\nAda,\"[(0, 3, 'PER')]\"\n", "labels by characters"),
        ("a.tsv", "text\tentities\nAda\t[(0, 3, 'PER')]\n", "labels by characters"),
        ("a.csv", "text,spans\nAda,\"[{'start': 0, 'end': 3, 'label': 'PER'}]\"\n", "labels by characters"),
        ("a.json", '{\n "tokens": [\n  "a"\n ],\n "tags": [\n  "O"\n ]\n}', r"JSON on several lines.*\n.*jq -c \. "),
        ("a.xml", "<GateDocument>\n</GateDocument>\n", "XML"),
        ("a.xml", '<?xml version="1.0"?>\n<corpus><s>x</s></corpus>\n', r'XML.*\n.*\{"text": …'),
        ("a.txt", "<DOC>\n<DOCID>1</DOCID>\n<LOCAL>Braga</LOCAL>\n", "XML"),
        ("a.txt", "<START:person> Ada <END> wrote .\nNobody else did .\n", r"inline labels.*<START:person> Ada <END>"),
        ("a.txt", "Ada|NNP|I-PER ran|VBD|O\n\nBo|PRP|O saw|VBD|O Rome|NNP|I-LOC\n", r"WikiNER.*\n.*sed 's/\$/\\n/'"),
        ("a.txt", "Nobody else .\nAda/PER lives/O in/O Oslo/LOC\n", r"a slash and a tag.*\n.*sed -E"),
        ("a.train", "In <START> Rome <END> too .\n", "inline labels"),
        ("a.txt", "Sentence #,Word,POS,Tag\n1,Ada,NNP,B-per\n,ran,VB,O\n,.,.,O\n", "a table.*\n.*\"csv\""),
        ("a.train", "Ada|B-PER\nran|O\n.|O\n\nBo|O\n", "a table of words and tags without the extension"),
        ("a.txt", "London\tlocation-GPE\n's\tO\nTheatre\tbuilding-theater\n\n", r"Few-NERD(.|\n)*repair=\"bare-type\""),
        ("a.txt", "Ada PER\r\nleft O\r\nOslo LOC\r\n", "Few-NERD"),
        ("a.txt", "Ada\tNNP\tb-per\nleft\tVBD\to\n\nOslo\tNNP\tb-loc\n", "Few-NERD"),
        ("a.txt", 'In <ENAMEX TYPE="LOCATION">New York</ENAMEX> .\n', r'inline labels.*\n.*format="text"'),
    ],
)  # fmt: skip
def test_reports_the_format_and_what_to_do(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        open_corpus(path)
    assert len(read(path, format="text")) > 0
    if path.suffix not in (".txt", ".train", ".md", ".yml", ".xmi"):
        with pytest.raises(DataError, match=message):
            open_text(path)


@pytest.mark.parametrize("part", ["word ", "a/b ", "a|b ", "O ", ",[{a", "<START:a> x ", "<AAA>x ", "(", "x"])
def test_matching_time_grows_linearly_with_the_line(part: str) -> None:
    line = (part * COMPARED)[:COMPARED] + "\n"
    began = time.process_time()
    for foreign in foreign_formats().values():
        foreign.begins.search(line)
    assert time.process_time() - began < 2, "one that goes back at each place takes a minute"


@pytest.mark.parametrize("name", ["a.tmx", "a.xml", "a.txt"])
def test_a_translation_memory_gives_a_text_for_each_language(tmp_path: Path, name: str) -> None:
    """Its lines alternate between languages, so it is never read as text."""
    (tmp_path / name).write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n<header srclang="en"/><body>\n'
        '<tu tuid="1"><tuv xml:lang="en"><note>en</note><seg>Ada &amp; <hi>Bo</hi>\n met</seg></tuv>\n'
        '<tuv creationdate="1" xml:lang="de"><seg>Ada &amp; Bo\ttrafen sich</seg></tuv></tu>\n'
        '<tu><tuv xml:lang="de"><seg>Zoë</seg></tuv></tu>\n'
        '<tu><tuv xml:lang="de"><seg>Er ging.</seg></tuv><tuv xml:lang="en"><seg>He left.</seg></tuv></tu>\n'
        "</body></tmx>\n",
        "utf-8",
    )
    for reading in (open_corpus, open_text):
        with pytest.raises(DataError, match="this seems to be TMX, which cannot be read") as caught:
            reading(tmp_path / name)
        assert "format" not in caught.value.fix
    command = caught.value.fix.partition(": ")[2].replace("FILE.tmx", name)
    for language, lines in (("en", "Ada & Bo met\n\nHe left.\n"), ("de", "Ada & Bo trafen sich\nZoë\nEr ging.\n")):
        subprocess.run(command.replace(" en > text.en", f" {language} > text"), shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "text").read_text("utf-8") == lines


XLIFF_1 = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en"><body>\n'
    '<trans-unit id="1"><source>Ada &amp; <g id="1">Bo</g>\n met</source>\n<target>Ada &amp; Bo trafen sich</target>\n'
    "<alt-trans><source>x</source><target>y</target></alt-trans></trans-unit>\n"
    '<trans-unit id="2"><source>Zoë</source></trans-unit>\n</body></file></xliff>\n'
)
XLIFF_2 = (
    '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">\n'
    '<unit id="1"><segment><source>Ada &amp; Bo met</source><target>Ada &amp; Bo trafen sich</target></segment>\n'
    "<segment><source>Zoë</source></segment></unit></file></xliff>\n"
)


@pytest.mark.parametrize("content", [XLIFF_1, XLIFF_2], ids=["1.2", "2.0"])
@pytest.mark.parametrize("name", ["a.xlf", "a.sdlxliff", "a.txt"])
def test_xliff_gives_a_text_for_each_side(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{content}', "utf-8")
    for reading in (open_corpus, open_text):
        with pytest.raises(DataError, match="this seems to be XLIFF, which cannot be read") as caught:
            reading(tmp_path / name)
    command = caught.value.fix.partition(": ")[2].rpartition(" (and ")[0].replace("FILE.xlf", name)
    for side, lines in (("source", "Ada & Bo met\nZoë\n"), ("target", "Ada & Bo trafen sich\n\n")):
        subprocess.run(command.replace("source > text.source", f"{side} > text"), shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "text").read_text("utf-8") == lines


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "a <b>bold</b> word\nA <BR> and < START > and x <y> .\n"),
        ("a.jsonl", '{"text": "In <ENAMEX>Rome</ENAMEX> .", "label": [[11, 15, "LOC"]]}\n'),
        ("a.jsonl", '{"words": ["<LOC>x</LOC>", "\\"infons\\":", "<collection>"]}\n'),
        ("a.conll", "<LOC>x</LOC>\tB-LOC\nis\tO\n"),
        ("a.txt", "<LOC>x</LOC>\tB-LOC\nis\tO\n"),
        ("a.txt", "Ada/NNP left/VBD ./.\nI/O and TCP/IP\nAda/Bo I/O TCP/IP x\nI/O I/P\n"),
        ("a.txt", "Com o\nAda o\nBlood group O\nGive O\nSo\n"),
        ("a.txt", "Blood of group A,B or,O\nThe groups are A, B or O\nGive me an O\n"),
    ],
)
def test_does_not_read_signs_in_words_as_marks(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert len(list(open_corpus(path))) > 0
    assert len(list(open_text(path))) > 0


@pytest.mark.parametrize("tags", [("B-PER", "I-PER", "B-LOC"), ("PER", "PER", "LOC")])
@pytest.mark.parametrize("end", ["\n", " \r\n"])
def test_fix_converts_words_with_slashes_and_tags_to_columns(tmp_path: Path, tags: tuple[str, ...], end: str) -> None:
    first, second, place = tags
    text = f"Ada/{first} Lovelace/{second} lives/O in/O and/or/O Oslo/{place}{end}"
    (tmp_path / "old.txt").write_text(text * 2, "utf-8", newline="")
    with pytest.raises(DataError) as caught:
        open_corpus(tmp_path / "old.txt")
    command = re.search(r"sed .* > new\.conll", caught.value.fix)
    assert command is not None
    subprocess.run(command[0], shell=True, cwd=tmp_path, check=True)
    labels = ((0, 2, "PER"), (5, 6, "LOC"))
    assert [s.labels for s in read(tmp_path / "new.conll", repair="bare-type")] == [labels] * 2


def test_fix_for_types_in_columns_works(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("National\tbuilding-theater\nTheatre\tbuilding-theater\n's\tO\nstage\tO\n\n", "utf-8")
    with pytest.raises(DataError, match="Few-NERD"):
        read(path)
    with pytest.raises(DataError, match="Few-NERD"):
        open_text(path)
    [sentence] = read(path, tag_column=2, repair="bare-type")
    assert sentence.labels == ((0, 2, "building-theater"),)


def test_reports_data_of_spacy_2(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n  {\n    "id": 0,\n    "paragraphs": []\n  }\n]\n')
    with pytest.raises(DataError, match=r"training data of spaCy 2.*\n.*spacy convert"):
        read(path)


def test_in_raw_text_marks_are_words(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("<DOC>\nIn <TOWN>Rome</TOWN> .\n", "utf-8")
    assert [sentence.words for sentence in open_text(path)] == [("<DOC>",), ("In", "<TOWN>Rome</TOWN>", ".")]
    path.rename(tmp_path / "a.xml")
    with pytest.raises(DataError, match="XML"):
        open_text(tmp_path / "a.xml")


PYTHON = """[("Ada's in Oslo", {"entities": [(0, 3, "PER"), (9, 13, "LOC")]}),
('Bo "left"', {'entities': []}),
]
"""
QUESTION = '{"context": "in Ada Os lo", "end_position": [%s], "entity_label": "%s", "span_position": ["%s"]}'
UIE = '{"content": "Ada in Oslo", "result_list": [{"text": "x", "start": %d, "end": %d}], "prompt": "%s"}\n'
TRUTH = (
    '{"annotations": {"entities": [{"endOffset": 3, "startOffset": 0, "label": "PER"}], "labels": [{"label": "PER"}]}}'
)


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("a.txt", PYTHON, [((0, 1, "PER"), (3, 4, "LOC")), ()]),
        ("a.json", PYTHON, [((0, 1, "PER"), (3, 4, "LOC")), ()]),
        ("a.py", f"import spacy\nTRAIN_DATA = {PYTHON}", [((0, 1, "PER"), (3, 4, "LOC")), ()]),
        ("a.txt", PYTHON[1:-2], [((0, 1, "PER"), (3, 4, "LOC")), ()]),
        ("a.jsonl", "{'tokens': ['Ada', 'left'], 'ner_tags': ['B-PER', 'O']}\n", [((0, 1, "PER"),)]),
        ("a.txt", "{'text': 'Ada', 'label': [[0, 3, 'PER']]}\n\n{'text': 'Bo', 'label': []}\n", [((0, 1, "PER"),), ()]),
        ("a.txt", UIE % (0, 3, "PER") + UIE % (7, 11, "LOC"), [((0, 1, "PER"), (2, 3, "LOC"))]),
        (
            "a.json",
            f"[{QUESTION % (1, 'PER', '1;1')},\n{QUESTION % (3, 'LOC', '2;3')}]",
            [((1, 2, "PER"), (2, 4, "LOC"))],
        ),
        (
            "a.jsonl",
            '{"id": "0", "utt": "x", "annot_utt": "go [place : new york] at [time : ten]"}\n',
            [((1, 3, "place"), (4, 5, "time"))],
        ),
        ("a.manifest", f'{{"source": "Ada left", "job": {TRUTH}, "job-metadata": {{"x": 1}}}}\n', [((0, 1, "PER"),)]),
    ],
)
def test_fix_command_produces_readable_json(tmp_path: Path, name: str, text: str, labels: list[object]) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    for reading in (open_corpus, open_text):
        with pytest.raises(DataError, match="this seems to be") as caught:
            reading(tmp_path / name)
        assert "--format" not in caught.value.fix
    command = re.sub(r"\bold( >|$)", rf"{name}\1", caught.value.fix.partition(": ")[2])
    if command.startswith("jq") and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert [sentence.labels for sentence in read(tmp_path / "new.jsonl")] == labels


def test_fix_extracts_a_text_per_language_from_translations(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"id": "1", "translation": {"en": "Go\\n on .", "de": "Weiter ."}}\n', "utf-8")
    with pytest.raises(DataError, match="this seems to be parallel text") as caught:
        open_text(tmp_path / "old.jsonl")
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    subprocess.run(caught.value.fix.partition(": ")[2], shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "text.en").read_text("utf-8") == "Go on .\n"


ATIS = "BOS fly from new york EOS\tO O O B-from I-from atis_flight\n"


@pytest.mark.parametrize("name", ["a.txt", "a.iob", "a.tsv"])
@pytest.mark.parametrize("text", [ATIS, ATIS.replace("BOS ", "").replace("\tO", "\t").replace("\t ", "\t")])
def test_fix_converts_sentences_beside_their_tags_to_columns(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text + "hello there\tO O\n", "utf-8")
    with pytest.raises(DataError, match="make columns of it: awk") as caught:
        open_corpus(tmp_path / name)
    command = caught.value.fix.partition(": ")[2].replace("old >", f"{name} >")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert [s.labels for s in read(tmp_path / "new.conll")] == [((2, 4, "from"),), ()]


@pytest.mark.parametrize(
    "labels",
    [
        "[(0, 3, 'PER')]",
        "[{'label': 'PER', 'start': 0, 'end': 3}]",
        '[[0, 3, ""PER""]]',
        '[{""start"": 0, ""end"": 3, ""label"": ""PER"", ""score"": null}]',
        '[{""start"": 0, ""end"": 3, ""text"": ""Ada"", ""labels"": [""PER""]}]',
    ],
)
@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_fix_converts_a_table_of_character_labels_to_json(
    tmp_path: Path, labels: str, name: str, separator: str
) -> None:
    rows = [("id", "text", "label"), ("1", '"Ada, left"', f'"{labels}"')]
    (tmp_path / name).write_text("".join(separator.join(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError, match=r"a table (?:of texts )?with labels by characters") as caught:
        open_corpus(tmp_path / name)
    command = re.search(r"python3 -c '.*' < old > new\.jsonl", caught.value.fix)[0].replace("old >", f"{name} >")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert [s.labels for s in read(tmp_path / "new.jsonl")] == [((0, 1, "PER"),)]


def test_suggests_cut_for_a_table_of_parallel_text(tmp_path: Path) -> None:
    path = tmp_path / "deu.tsv"
    path.write_text("Go on.\tGeh weiter.\tCC-BY 2.0\nAda left.\tAda ging.\tCC-BY 2.0\n", "utf-8")
    for reading in (open_corpus, open_text):
        with pytest.raises(DataError, match="cut -f1 pairs"):
            reading(path)


@pytest.mark.parametrize(
    "text",
    [
        "In <LOC>New York</LOC> . <PER>Ada</PER>\nno one\n",
        'In <ENAMEX TYPE="LOC">New York</ENAMEX> . <ENAMEX TYPE="PER" ID="1">Ada</ENAMEX>\nno one\n',
        "In <START:LOC> New York <END> . <START:PER> Ada <END>\r\nno one\r\n",
    ],
)
def test_fix_converts_inline_marks_to_labels(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.txt").write_text(text, "utf-8", newline="")
    with pytest.raises(DataError, match="inline labels") as caught:
        open_corpus(tmp_path / "old.txt")
    command = caught.value.fix.partition(": ")[2].partition("; or read")[0].replace("old >", "old.txt >")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    sentences = read(tmp_path / "new.jsonl")
    assert [(s.text, s.labels) for s in sentences] == [
        ("In New York . Ada", ((1, 3, "LOC"), (4, 5, "PER"))),
        ("no one", ()),
    ]
