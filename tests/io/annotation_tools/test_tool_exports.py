"""Files for other tools: written, opened as the tools open them, and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Entity, Sentence
from nersery.core.errors import DataError, SettingsError
from nersery.io import open_corpus, read, write
from nersery.pipeline.job import FileJob
from nersery.pipeline.stage_job import corpus_job
from tests.cli.calls import call
from tests.io.annotation_tools.exported import CORPUS, TEXT, covered


@pytest.mark.parametrize("name", ["prodigy", "spans"])
def test_json_lines_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    write(CORPUS, tmp_path / "a.jsonl", format=name)
    first = json.loads((tmp_path / "a.jsonl").read_text("utf-8").partition("\n")[0])
    assert first["text"] == TEXT.partition("\n")[0]
    back = read(tmp_path / "a.jsonl")
    assert [s.words for s in back] == [s.words for s in CORPUS]
    assert [s.labels for s in back] == [s.labels for s in CORPUS]


def test_doccano_lines_are_ascii_with_the_same_keys(tmp_path: Path) -> None:
    write([*CORPUS, Sentence(("Bonn",), id="c", language="de")], tmp_path / "a.jsonl", format="spans")
    text = (tmp_path / "a.jsonl").read_text("ascii")
    assert len({tuple(json.loads(line)) for line in text.splitlines()}) == 1


def test_reads_what_doccano_exports_from_a_project_with_relations(tmp_path: Path) -> None:
    """It adds the tasks' other keys, also ``tokens``, to entities and relations. SpERT has the same three keys."""
    corpus = [*CORPUS, Sentence(("Oslo,", "so"), (Entity(0, 1, "LOC"),), "c")]
    write(corpus, tmp_path / "a.jsonl", format="spans")
    tasks = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert {type(task["tokens"]) for task in tasks} == {list, type(None)}
    lines = []
    for number, task in enumerate(tasks, start=1):
        labels = [
            {"id": n, "label": t, "start_offset": s, "end_offset": e} for n, (s, e, t) in enumerate(task.pop("label"))
        ]
        lines.append(json.dumps({**task, "id": number, "entities": labels, "relations": [], "Comments": []}))
    for path, text in ((tmp_path / "b.jsonl", "\n".join(lines)), (tmp_path / "c.json", f"[{','.join(lines)}]")):
        path.write_text(text, "utf-8")
        assert [(s.words, s.labels) for s in read(path)] == [(s.words, s.labels) for s in corpus]


def test_prodigy_finds_its_spans_and_tokens(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.jsonl", format="prodigy")
    for line, sentence in zip((tmp_path / "a.jsonl").read_text("utf-8").splitlines(), CORPUS, strict=True):
        task = json.loads(line)
        assert [task["text"][t["start"] : t["end"]] for t in task["tokens"]] == list(sentence.words)
        assert "".join(t["text"] + " " * t["ws"] for t in task["tokens"]).split() == task["text"].split()
        for span, entity in zip(task["spans"], sentence.entities, strict=True):
            assert (span["token_start"], span["token_end"] + 1) == (entity.start, entity.end)
            assert span["start"] == task["tokens"][entity.start]["start"]
        assert task["meta"]["id"] == sentence.id


def test_label_studio_imports_predictions_and_its_export_is_read(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.json", format="label-studio")
    tasks = json.loads((tmp_path / "a.json").read_text("utf-8"))
    for task in tasks:
        for result in task["predictions"][0]["result"]:
            value = result["value"]
            assert task["data"]["text"][value["start"] : value["end"]] == value["text"]
    accepted = [{"data": task["data"], "annotations": task["predictions"]} for task in tasks]
    (tmp_path / "export.json").write_text(json.dumps(accepted), "utf-8")
    assert covered(read(tmp_path / "export.json")) == covered(CORPUS)


CUT_OTHERWISE = [
    Sentence(("我", "在", "北京", "用", "iPhone", "。"), (Entity(2, 3, "LOC"), Entity(4, 5, "PROD")), "zh", "zh"),
    Sentence(("東京", "へ", "行く"), (Entity(0, 1, "LOC"),), "ja", "ja"),
    Sentence(("กรุงเทพ", "สวย"), (Entity(0, 1, "LOC"),), "th", "th"),
    Sentence(("U", ".", "S", ".", "troops"), (Entity(0, 4, "LOC"),), "en", "en"),
    Sentence(("Oslo!", "(Norway)"), (Entity(0, 2, "LOC"),), "odd", "en"),
]


@pytest.mark.parametrize("format", ["prodigy", "spans", "label-studio"])
def test_keeps_words_however_text_would_be_split(format: str, tmp_path: Path) -> None:
    write(CUT_OTHERWISE, tmp_path / "a.jsonl", format=format)
    text = (tmp_path / "a.jsonl").read_text("utf-8")
    tasks = json.loads(text) if format == "label-studio" else [json.loads(line) for line in text.splitlines()]
    texts = [one["data"]["text"] if format == "label-studio" else one["text"] for one in tasks]
    assert texts[:3] == ["我在北京用 iPhone。", "東京へ行く", "กรุงเทพสวย"]
    if format == "label-studio":
        tasks = [{"data": one["data"], "annotations": one["predictions"]} for one in tasks]
    (tmp_path / "back.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in tasks), "utf-8")
    back = read(tmp_path / "back.jsonl")
    assert [(s.id, s.words, s.labels) for s in back] == [(s.id, s.words, s.labels) for s in CUT_OTHERWISE]


@pytest.mark.parametrize("words", [["in", "Oslo"], [], [1, 2], [[0, 1, 2]], [["a", 1]], [[0, 99]], [[3, 5]], [[-7, 7]]])
def test_words_of_another_tool_or_text_are_split_again(words: list[object], tmp_path: Path) -> None:
    task = {"data": {"text": "in Oslo!", "meta": {"id": "a", "words": words}}, "annotations": [{"result": []}]}
    (tmp_path / "a.json").write_text(json.dumps([task]), "utf-8")
    assert read(tmp_path / "a.json")[0].words == ("in", "Oslo", "!")


def test_a_given_split_overrides_stored_words(tmp_path: Path) -> None:
    text, words = "北京很大", [[0, 2], [2, 3], [3, 4]]
    task = {"data": {"text": text, "meta": {"id": "a", "words": words}}, "annotations": [{"result": []}]}
    (tmp_path / "a.json").write_text(json.dumps([task]), "utf-8")
    assert read(tmp_path / "a.json")[0].words == ("北京", "很", "大")
    assert read(tmp_path / "a.json", split="characters")[0].words == tuple(text)


def test_brat_keeps_spaces_between_words(tmp_path: Path) -> None:
    write(CUT_OTHERWISE[:3], tmp_path / "brat", format="brat")
    assert [s.words for s in read(tmp_path / "brat")] == [s.words for s in CUT_OTHERWISE[:3]]


@pytest.mark.parametrize("format", ["prodigy", "label-studio"])
def test_reordered_exports_keep_their_ids(format: str, tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.jsonl", format=format)
    text = (tmp_path / "a.jsonl").read_text("utf-8")
    tasks = json.loads(text) if format == "label-studio" else [json.loads(line) for line in text.splitlines()]
    back = [*reversed(tasks), tasks[0]]  # which two people have annotated
    if format == "label-studio":
        back = [{"id": n, "data": one["data"], "annotations": one["predictions"]} for n, one in enumerate(back)]
    (tmp_path / "back.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in back), "utf-8")
    found = read(tmp_path / "back.jsonl")
    assert {s.id: (s.labels, s.language) for s in found[:-1]} == {s.id: (s.labels, s.language) for s in CORPUS}
    assert found[-1].id not in {s.id for s in CORPUS}
    for sentence in CORPUS:
        if sentence.document:
            place = found.by_id[sentence.id]
            assert (place.document, place.character_spans) == (sentence.document, sentence.character_spans)


def test_gliner_ends_include_the_last_word(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.json", format="gliner")
    examples = json.loads((tmp_path / "a.json").read_text("utf-8"))
    found = [
        [(tuple(one["tokenized_text"][start : last + 1]), type_) for start, last, type_ in one["ner"]]
        for one in examples
    ]
    assert found == covered(CORPUS)


def test_words_that_brat_s_reader_splits_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaced = [Sentence(("an", "AK-47", "."), (Entity(1, 2, "WEAPON"),), id="1")]
    write(spaced, tmp_path / "spaced", format="brat")
    note = 'note: brat does not store words: "AK-47" is split when its files are read. To keep such words, '
    assert capsys.readouterr().err == f'{note}read them with split="spaces"\n'
    assert [s.words for s in read(tmp_path / "spaced", split="spaces")] == [spaced[0].words]
    touching = replace(spaced[0], offsets=((0, 2), (3, 8), (8, 9)))
    write([touching], tmp_path / "touching", format="brat")
    assert capsys.readouterr().err == f"{note}write .jsonl\n"
    write([Sentence(("an", "Uzi", "."), id="1")], tmp_path / "kept", format="brat")
    assert capsys.readouterr().err == ""


def test_characters_that_brat_s_reader_splits_alike_are_not_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.txt").write_text("王小明在北京工作很多年。\n他的老师住在AK-47街。\n", "utf-8")
    raw = read(tmp_path / "raw.txt")
    write(raw, tmp_path / "brat", format="brat")
    assert "does not store words" not in capsys.readouterr().err
    assert [s.words for s in read(tmp_path / "brat")] == [s.words for s in raw]
    whole = Sentence(("王小明", "在", "北京", "工作"), offsets=((0, 3), (3, 4), (4, 6), (6, 8)), id="1")
    write([whole], tmp_path / "words", format="brat")
    assert '"王小明" is split' in capsys.readouterr().err


def test_brat_puts_entities_where_they_were(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "brat", format="brat")
    assert sorted(path.name for path in (tmp_path / "brat").iterdir()) == [
        "a.ann",
        "a.txt",
        "sentences.ann",
        "sentences.txt",
    ]
    assert (tmp_path / "brat" / "a.txt").read_text("utf-8") == f"{TEXT}\n"
    for line in (tmp_path / "brat" / "a.ann").read_text("utf-8").splitlines():
        _, place, text = line.split("\t")
        start, end = map(int, place.split()[1:])
        assert TEXT[start:end] == text
    back = read(tmp_path / "brat")
    assert covered(back) == covered(CORPUS)
    assert [s.character_spans for s in back][:2] == [s.character_spans for s in CORPUS][:2]
    with pytest.raises(SettingsError, match="exists already"):
        write(CORPUS, tmp_path / "brat", format="brat")


def test_brat_keeps_the_order_of_raw_lines_and_their_text(tmp_path: Path) -> None:
    lines = "  Switzerland, too.\nAda (26) came.\nIn 北京.\n"
    (tmp_path / "raw.txt").write_text(lines, "utf-8")
    labelled = [sentence.with_entities([Entity(0, 1, "X")]) for sentence in read(tmp_path / "raw.txt")]
    write(labelled, tmp_path / "brat", format="brat")
    assert (tmp_path / "brat" / "sentences.txt").read_text("utf-8") == lines.lstrip()
    assert [sentence.words for sentence in read(tmp_path / "brat")] == [sentence.words for sentence in labelled]


def test_brat_has_two_files_per_document_without_offsets(tmp_path: Path) -> None:
    known = Sentence(("in", "Oslo"), (Entity(1, 2, "LOC"),), "1", document="a", offsets=((3, 5), (6, 10)))
    bare = [Sentence(("Oslo", "!"), (Entity(0, 1, "LOC"),), str(n), document=d) for n, d in enumerate("abab", start=2)]
    write([bare[0], known, *bare[1:]], tmp_path / "brat", format="brat")
    texts = {path.name: path.read_text("utf-8") for path in (tmp_path / "brat").glob("*.txt")}
    assert texts == {"a.txt": "   in Oslo\nOslo !\nOslo !\n", "b.txt": "Oslo !\nOslo !\n"}
    assert len(read(tmp_path / "brat")) == 5


def test_brat_replaces_spaces_in_types_unless_types_collide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaced = Sentence(("Oslo", "Rome"), (Entity(0, 1, "the city"), Entity(1, 2, "a town")), "1")
    write([spaced, replace(spaced, id="2")], tmp_path / "brat", format="brat")
    assert read(tmp_path / "brat")[0].labels == ((0, 1, "the_city"), (1, 2, "a_town"))
    assert capsys.readouterr().err.count("a town is a_town, the city is the_city") == 1
    other = Sentence(("Oslo",), (Entity(0, 1, "the_city"),), "3")
    with pytest.raises(DataError, match=r"'the city' and 'the_city' would both be the_city(.|\n)*with_types"):
        write([spaced, other], tmp_path / "more", format="brat")
    assert not (tmp_path / "more").exists()


def test_brat_refuses_a_gap_that_would_fill_the_memory(tmp_path: Path) -> None:
    far = Sentence(("Ada",), (), "far", document="d", offsets=((3_000_000_000, 3_000_000_003),))
    with pytest.raises(DataError, match="sentence far: 3,000,000,000 characters are before this sentence"):
        write([far], tmp_path / "brat", format="brat")
    assert not (tmp_path / "brat").exists()


@pytest.mark.parametrize("offsets", [(), ((0, 3), (4, 8))])
def test_no_text_of_brat_begins_with_a_byte_order_mark(tmp_path: Path, offsets: tuple[tuple[int, int], ...]) -> None:
    """Brat counts it as a character, others skip it."""
    sentence = Sentence(("\ufeffIn", "Oslo"), (Entity(1, 2, "LOC"),), "1", offsets=offsets)
    write([sentence, replace(sentence, id="2", document="b", offsets=())], tmp_path / "brat", format="brat")
    assert (tmp_path / "brat" / "sentences.txt").read_text("utf-8") == " \ufeffIn Oslo\n"
    assert (tmp_path / "brat" / "sentences.ann").read_text("utf-8") == "T1\tLOC 5 9\tOslo\n"
    assert [(s.words, s.labels) for s in read(tmp_path / "brat")] == [(sentence.words, sentence.labels)] * 2


def test_names_of_documents_cannot_leave_the_folder(tmp_path: Path) -> None:
    names = ["../../evil", "..", "/etc/passwd", "a/b", "a_b", "x" * 300, "A_B", "नि" * 300, "नि" * 301, "文" * 86]
    sentences = [
        Sentence(("Oslo",), (Entity(0, 1, "LOC"),), str(n), document=d, offsets=((0, 4),)) for n, d in enumerate(names)
    ]
    write(sentences, tmp_path / "out" / "brat", format="brat")
    assert len(list((tmp_path / "out" / "brat").glob("*.txt"))) == len(names)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(read(tmp_path / "out" / "brat")) == len(names)


def test_a_folder_does_not_take_the_place_of_a_file(tmp_path: Path) -> None:
    taken, source = tmp_path / "taken", str(tmp_path / "in.jsonl")
    taken.write_text("precious")
    write(CORPUS, source)
    with pytest.raises(SettingsError, match="taken exists already, expected the name of a new folder"):
        write(CORPUS, taken, format="brat")
    done = call("dataset", "convert", source, str(taken), "--to", "brat", "--force", "--quiet")
    assert (done.code, taken.read_text()) == (2, "precious")
    assert "taken exists already, expected the name of a new folder" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "taken"]


@pytest.mark.parametrize("name", ["brat", "gliner"])
def test_leaves_nothing_if_packing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nersery.io.writing.os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write(CORPUS, tmp_path / "a", format=name)
    assert list(tmp_path.iterdir()) == []


def test_reading_brat_splits_signs_from_words(tmp_path: Path) -> None:
    """As in texts of materials science, where labels end at hyphens, slashes and degrees."""
    text = "Ni-rich LiFePO4/C (500°C, 2.5wt%) was Oslo-based\n"
    labels = [("MAT", "Ni"), ("MAT", "LiFePO4"), ("MAT", "C "), ("NUM", "500"), ("UNIT", "°C"), ("LOC", "Oslo")]
    lines = []
    for number, (type_, mention) in enumerate(labels, start=1):
        start = text.index("/C") + 1 if mention == "C " else text.index(mention)
        lines.append(f"T{number}\t{type_} {start} {start + len(mention.strip())}\t{mention.strip()}\n")
    (tmp_path / "a.txt").write_text(text, "utf-8")
    (tmp_path / "a.ann").write_text("".join(lines), "utf-8")
    (sentence,) = read(tmp_path / "a.ann")
    assert [("".join(sentence.mention(e)), e.type) for e in sentence.entities] == [(m.strip(), t) for t, m in labels]
    assert [text[start:end] for start, end, _ in sentence.character_spans] == [mention.strip() for _, mention in labels]
    (tmp_path / "a.ann").write_text(
        "T1\tNUM 26 28\twt\n".replace("26 28", f"{text.index('wt')} {text.index('wt') + 2}"), "utf-8"
    )
    with pytest.raises(DataError, match=r"covers 'wt', a part of '5wt'"):
        list(open_corpus(tmp_path / "a.ann"))


def test_a_killed_job_packs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nersery import io

    def job() -> FileJob:
        return corpus_job(tmp_path / "a.json", {}, io.writer("gliner"))

    monkeypatch.setattr("nersery.pipeline.job.os.replace", lambda *names: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        job().run(list(CORPUS), list)
    monkeypatch.undo()
    assert not (tmp_path / "a.json").exists()
    assert job().run(list(CORPUS), list).written == len(CORPUS)
    assert len(json.loads((tmp_path / "a.json").read_text("utf-8"))) == len(CORPUS)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_convert_writes_every_format(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "in.jsonl")
    for name in ("label-studio", "prodigy", "gliner", "spacy", "brat", "spans"):
        done = call("dataset", "convert", str(tmp_path / "in.jsonl"), str(tmp_path / name), "--to", name, "--quiet")
        assert done.code == 0, done.err
        assert (tmp_path / name).exists()
