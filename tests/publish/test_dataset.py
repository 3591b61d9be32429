import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from nersery import Entity, Origin, Sentence, io
from nersery.core.entity import SoftLabel
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.system.files import content_hash
from nersery.evaluate.error_analysis import find_errors
from nersery.evaluate.scores import score
from nersery.publish.about import About, CitedSource, gather, read_about, read_evaluation
from nersery.publish.dataset import check_folder, check_parquet, publish
from nersery.publish.splits import Division, divide

GOLD = [
    Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),), id="a", language="en"),
    Sentence(("दिल्ली", "में"), (Entity(0, 1, "creative work"),), id="b", language="hi", columns=(("N", "P"),)),
    Sentence(("nothing", "here"), id="c", language="en", comments=("kept",)),
]
NEW = Sentence(
    ("Grace", "wrote"), (Entity(0, 1, "PER", 0.5),), id="a~m-1", language="en", origin=Origin("m", ("a",), 1),
    scores={"agreement": 0.9},
)  # fmt: skip
GIVEN = {"a": "train", "a~m-1": "train", "b": "validation", "c": "test"}
RECORD = {
    "inputs": [{"file": "x.conll", "sha256": "12ab", "split": "", "sentences": 4, "rejected": {"too long": 7}}],
    "division": {"similarity": 0.8, "seed": 3},
    "evaluation": None,
}
EVIL = ["<script>alert(1)</script>", "a|b`c`*d*[f](g)&amp;", "# head", "---", "{{ 7 }}", "q\"' : #"]


def written(folder: Path, about: About | None = None, *, parquet: bool = False, **changes: object) -> Path:
    divided = divide([*GOLD, NEW], GIVEN, Division())
    publish(divided, folder / "data", about or About(), {**RECORD, **changes}, parquet=parquet, force=True)
    return folder / "data"


@pytest.fixture
def parquet() -> None:
    pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")


def split_card(folder: Path) -> tuple[dict[str, object], str]:
    _, front, text = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(front), text


def rows_of(text: str, heading: str) -> list[list[str]]:
    lines = text[text.index(heading) :].split("\n")[2:]
    rows = lines[: lines.index("")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if not row.startswith("|:")]


def test_jsonl_survives_a_round_trip(tmp_path: Path):
    folder = written(tmp_path)
    assert list(io.read(folder / "spans/train.jsonl")) == [GOLD[0], NEW]
    assert list(io.read(folder / "spans/validation.jsonl")) == [GOLD[1]]
    assert list(io.read(folder / "spans/test.jsonl")) == [GOLD[2]]


@pytest.mark.usefixtures("parquet")
def test_parquet_has_tags_by_number(tmp_path: Path):
    from pyarrow.parquet import read_table

    folder = written(tmp_path, parquet=True)
    front, _ = split_card(folder)
    features = {feature["name"]: feature for feature in front["dataset_info"]["features"]}
    names = features["ner_tags"]["list"]["class_label"]["names"]
    assert names == {"0": "O", "1": "B-PER", "2": "I-PER", "3": "B-creative work", "4": "I-creative work"}
    rows = read_table(folder / "tags/train.parquet").to_pylist()
    assert [[names[str(tag)] for tag in row["ner_tags"]] for row in rows] == [["B-PER", "I-PER", "O"], ["B-PER", "O"]]
    assert [row["tokens"] for row in rows] == [["Ada", "Lovelace", "wrote"], ["Grace", "wrote"]]
    assert [row["origin"] for row in rows] == [None, {"method": "m", "parents": ["a"], "copy": 1}]
    assert [(row["id"], row["language"]) for row in rows] == [("a", "en"), ("a~m-1", "en")]


def test_the_folder_is_a_corpus_of_all_splits(tmp_path: Path):
    assert list(io.read(written(tmp_path))) == [GOLD[2], GOLD[0], NEW, GOLD[1]]


@pytest.mark.usefixtures("parquet")
def test_reads_parquet_files_without_the_card(tmp_path: Path):
    from pyarrow.parquet import read_schema

    folder = written(tmp_path, parquet=True)
    assert list(io.read(folder)) == [GOLD[2], GOLD[0], NEW, GOLD[1]]
    assert len(io.read(folder / "spans")) == 4
    read = io.read(folder / "tags/train.parquet")
    assert [(s.id, s.words, s.labels, s.language, s.origin) for s in read] == [
        (s.id, s.words, s.labels, s.language, s.origin) for s in (GOLD[0], NEW)
    ]
    assert [s.labels for s in io.read(folder / "tags")] == [s.labels for s in io.read(folder)]
    schema = read_schema(folder / "tags/train.parquet")
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == schema.names, "datasets refuses a description of other columns"


@pytest.mark.usefixtures("parquet")
@pytest.mark.parametrize("part", ["", "spans"])
def test_datasets_opens_it_offline(tmp_path: Path, monkeypatch, part: str):
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder = written(tmp_path, parquet=True)
    loaded = datasets.load_dataset(str(folder / part), cache_dir=str(tmp_path / "cache"))
    assert {split: part["id"] for split, part in loaded.items()} == {
        "train": ["a", "a~m-1"], "validation": ["b"], "test": ["c"],
    }  # fmt: skip
    if part:
        assert [row["scores"] for row in loaded["train"]] == [None, {"agreement": 0.9}]
        assert loaded["validation"][0]["entities"] == [{"start": 0, "end": 1, "type": "creative work", "score": None}]
    else:
        tags = loaded["train"].features["ner_tags"].feature
        assert tags.names == ["O", "B-PER", "I-PER", "B-creative work", "I-creative work"]
        assert tags.int2str(loaded["validation"][0]["ner_tags"]) == ["B-creative work", "O"]
        alone = datasets.Dataset.from_parquet(str(folder / "tags/test.parquet"), cache_dir=str(tmp_path / "cache"))
        assert alone.features["ner_tags"].feature.names == tags.names


def test_datasets_opens_sentences_with_offsets_and_soft_labels(tmp_path: Path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    own = replace(GOLD[0], document="d", offsets=tuple((3 * n, 3 * n + 2) for n in range(len(GOLD[0]))))
    own = replace(own, soft_labels=(SoftLabel(0, "PER", 0.9, 0.05),))
    folder = tmp_path / "data"
    publish(divide([own, NEW], {"a": "train", "a~m-1": "train"}, Division()), folder, About(), RECORD, parquet=False)
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert [row["document"] for row in loaded["train"]] == ["d", None]
    assert loaded["train"][0]["soft_labels"] == [{"word": 0, "type": "PER", "begin": 0.9, "inside": 0.05}]


def test_metadata_of_the_card(tmp_path: Path):
    front, _ = split_card(written(tmp_path, About(license="cc-by-4.0")))
    assert front["pretty_name"] == "data"
    assert front["language"] == ["en", "hi"]
    assert front["license"] == "cc-by-4.0"
    assert front["size_categories"] == ["n<1K"]
    files = {one["split"]: one["path"] for one in front["configs"][0]["data_files"]}
    assert list(files) == ["train", "validation", "test"]
    assert all((tmp_path / "data" / path).is_file() for path in files.values())


def test_counts_by_split_type_and_language(tmp_path: Path):
    _, text = split_card(written(tmp_path))
    assert rows_of(text, "## Sentences and entities") == [
        ["", "train", "validation", "test"],
        ["sentences", "2", "1", "1"],
        ["words", "5", "2", "2"],
        ["entities", "2", "1", "0"],
        ["PER", "2", "0", "0"],
        ["creative work", "0", "1", "0"],
    ]
    assert rows_of(text, "### Language: en")[1:] == [
        ["sentences", "2", "0", "1"], ["words", "5", "0", "2"], ["entities", "2", "0", "0"], ["PER", "2", "0", "0"],
    ]  # fmt: skip
    assert rows_of(text, "### Language: hi")[1] == ["sentences", "0", "1", "0"]


def test_how_it_was_made(tmp_path: Path):
    folder = written(tmp_path)
    _, text = split_card(folder)
    assert rows_of(text, "## How it was made")[1:] == [["as it was read", "1", "1", "1"], ["m", "1", "0", "0"]]
    assert "| agreement | 1 | 0.9 | 0.9 |" in text
    assert "- x.conll: 4 sentences (sha256 12ab)\n  - left out before: too long 7\n" in text
    assert "3 groups, the largest of 2 sentences. Seed 3." in text
    record = json.loads((folder / "nersery.json").read_text("utf-8"))
    assert record["splits"] == {"train": 2, "validation": 1, "test": 1}
    assert record["inputs"] == RECORD["inputs"]


@pytest.mark.parametrize(
    ("leaks", "message"), [("drop", "Left out of train, because"), ("keep", "Kept in train, although")]
)
def test_card_reports_leaks(tmp_path: Path, leaks, message: str):
    made = [GOLD[0], replace(GOLD[0], id="x"), GOLD[2]]
    divided = divide(made, {"a": "train", "x": "test", "c": "train"}, Division(leaks=leaks))
    record = publish(divided, tmp_path / "data", About(), RECORD, parquet=False)
    assert (
        f"{message} test has similar sentences or others made from the same parent: 1 sentence."
        in split_card(tmp_path / "data")[1]
    )
    assert record["dropped"] == (["a"] if leaks == "drop" else [])


def test_card_lists_the_errors_of_an_evaluation(tmp_path: Path):
    guess = [GOLD[0].with_entities([Entity(0, 1, "PER")]), *GOLD[1:]]
    found = {**score(GOLD, guess).as_dict(), "errors": find_errors(GOLD, guess).as_dict(3)}
    (tmp_path / "found.json").write_text(json.dumps(found))
    _, text = split_card(written(tmp_path, evaluation=read_evaluation(tmp_path / "found.json")))
    assert "F1 over whole entities 50.0." in text
    assert "| PER | 0 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| creative work | 1 | 0 | 0 | 0 | 0 | 0 |" in text


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", '{"micro": {"f1": 0.5}, "errors": {"per_type": {"PER": {}}}}'])
def test_refuses_another_file_as_an_evaluation(tmp_path: Path, text: str):
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(
        DataError, match=r"--errors --json > errors\.json$"
    ):  # redirecting into the same file would truncate it
        read_evaluation(tmp_path / "found.json")


def test_card_uses_the_singular_for_one_sentence(tmp_path: Path):
    divided = divide([GOLD[0]], {"a": "train"}, Division())
    one = {**RECORD["inputs"][0], "sentences": 1}
    publish(divided, tmp_path / "data", About(), {**RECORD, "inputs": [one]}, parquet=False)
    text = split_card(tmp_path / "data")[1]
    assert "- x.conll: 1 sentence (" in text
    assert "in one split: 1 group, the largest of 1 sentence." in text


def test_hostile_text_is_text_in_the_card(tmp_path: Path):
    evil = " ".join(EVIL)
    about = About(evil, f"{evil}\n\n{EVIL[2]}\n\n{EVIL[3]}", evil, evil, [CitedSource(evil, evil, evil, evil)])
    made = Sentence(
        ("w",), (Entity(0, 1, evil),), id=evil, language=evil, origin=Origin(evil, (evil,)), scores={evil: 1}
    )
    one = {"file": evil, "sha256": "12", "split": "train", "sentences": 1, "rejected": {evil: 1}}
    evaluation = {"file": evil, "f1": 0.1, "per_type": {evil: dict.fromkeys(["a", "b", "c", "d", "e", "f"], 0)}}
    divided = divide([made, Sentence(("x", "y"), id="2")], {}, Division(0, 0))
    publish(divided, tmp_path / "data", about, {**RECORD, "inputs": [one], "evaluation": evaluation}, parquet=False)
    front, text = split_card(tmp_path / "data")
    assert front["pretty_name"] == front["license"] == evil
    assert front["language"] == [evil]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or () if token.type == "inline"]
    kinds = {token.type for token in [*tokens, *inline]}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "em_open", "hr"})
    shown = "".join(child.content for child in inline)
    assert shown.count(EVIL[0]) > 10
    assert [token.markup for token in tokens if token.type == "heading_open"].count("#") == 1
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_card_has_name_and_licence_on_one_line(tmp_path: Path):
    folder = written(tmp_path, About("my\ndata", license="cc-by-4.0\x85\n"))
    front, text = split_card(folder)
    assert (front["pretty_name"], front["license"]) == ("my data", "cc-by-4.0")
    assert {"# my data", "Licence of the whole: cc-by-4.0."} <= {*text.split("\n")}


@pytest.mark.usefixtures("parquet")
def test_same_input_same_bytes(tmp_path: Path):
    one, other = (written(tmp_path / name, parquet=True) for name in "ab")
    assert content_hash(one) == content_hash(other)


def test_a_failure_leaves_no_files_and_keeps_the_old_folder(tmp_path: Path, monkeypatch):
    folder = written(tmp_path)
    before = content_hash(folder)
    monkeypatch.setattr("nersery.publish.dataset.card", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        written(tmp_path)
    assert content_hash(folder) == before
    with pytest.raises(ZeroDivisionError):
        written(tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "new"}
    assert list((tmp_path / "new").iterdir()) == []


def test_a_folder_of_somebody_else_is_never_overwritten(tmp_path: Path):
    folder = written(tmp_path)
    with pytest.raises(SettingsError, match="exists already"):
        check_folder(folder, force=False)
    check_folder(folder, force=True)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/thesis.tex").write_text("precious")
    with pytest.raises(SettingsError, match="even force=True does not overwrite"):
        check_folder(tmp_path / "thesis", force=True)
    with pytest.raises(SettingsError, match="is a file"):
        check_folder(tmp_path / "thesis/thesis.tex", force=True)


def test_a_folder_that_appears_during_the_work_is_kept(tmp_path: Path, monkeypatch):
    def card(*args: object) -> str:
        (tmp_path / "data").mkdir()
        (tmp_path / "data/thesis.tex").write_text("precious")
        return ""

    monkeypatch.setattr("nersery.publish.dataset.card", card)
    for force in (False, True):
        with pytest.raises(SettingsError, match="does not overwrite" if force else "exists already"):
            publish(divide(GOLD, GIVEN, Division()), tmp_path / "data", About(), RECORD, parquet=False, force=force)
        assert (tmp_path / "data/thesis.tex").read_text() == "precious"
        shutil.rmtree(tmp_path / "data")


def test_names_the_extra_if_pyarrow_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingResourceError, match=r"nersery\[parquet\].*--no-parquet"):
        check_parquet()


def test_refuses_an_empty_dataset(tmp_path: Path):
    with pytest.raises(SettingsError, match="no sentence"):
        publish(divide([], {}, Division()), tmp_path / "data", About(), RECORD, parquet=False)
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_without_a_name_is_named_after_its_folder(tmp_path: Path):
    front, _ = split_card(written(tmp_path, About(" ")))
    assert front["pretty_name"] == "data"


def test_reads_the_description_of_the_user(tmp_path: Path):
    path = tmp_path / "about.toml"
    path.write_text('name = "Mine"\nlicense = "cc0-1.0"\n[[sources]]\nname = "there"\nurl = "https://x.y"\n')
    assert read_about(path) == About("Mine", license="cc0-1.0", sources=[CitedSource("there", "https://x.y")])
    path.write_text('licence = "cc0-1.0"\nname = 3\n[[sources]]\nnane = "there"\n')
    with pytest.raises(SettingsError) as caught:
        read_about(path)
    for part in ("3 issues", 'did you mean "license"', "about.name", "about.sources"):
        assert part in str(caught.value)
    path.write_text('[[sources]]\nname = " "\nurl = "https://x.y"\n')
    with pytest.raises(SettingsError, match=r"about\.sources .*expected a name for each source"):
        read_about(path)
    path.write_text("= no")
    with pytest.raises(SettingsError, match="not TOML"):
        read_about(path)
    with pytest.raises(MissingResourceError, match=r"none\.toml"):
        read_about(tmp_path / "none.toml")


def test_gathers_sentences_and_records_of_files(tmp_path: Path):
    io.write(GOLD[:1], tmp_path / "one.jsonl")
    io.write(GOLD[1:], tmp_path / "two.jsonl")
    (tmp_path / "one.jsonl.rejects.jsonl").write_text('{"id": "z", "words": ["w"], "entities": [], "reason": "dull"}\n')
    one, two = (io.open_corpus(tmp_path / f"{name}.jsonl") for name in ("one", "two"))
    gathered = gather([(two, ""), (one, "test")], "drop")
    assert list(gathered.sentences) == GOLD
    assert gathered.given == {"a": "test"}
    records = gathered.records[::-1]
    assert [(r["file"], r["split"], r["sentences"], r["rejected"]) for r in records] == [
        ("one.jsonl", "test", 1, {"dull": 1}), ("two.jsonl", "", 2, {})
    ]  # fmt: skip
    assert records[0]["sha256"] == content_hash(tmp_path / "one.jsonl")
    with pytest.raises(DataError, match="it also has the same words: remove it from one of the files"):
        gather([(one, ""), (one, "")], "drop")
    with pytest.raises(DataError, match="or from the earlier split \\(--leaks drop\\)"):
        gather([(one, ""), (one, "test")])
    io.write([Sentence(("other",), id="a")], tmp_path / "other.jsonl")
    with pytest.raises(DataError, match="rename one of the files"):
        gather([(one, ""), (io.open_corpus(tmp_path / "other.jsonl"), "test")])


def test_never_deletes_other_files_or_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = written(tmp_path)
    (folder / ".git").mkdir()
    with pytest.raises(SettingsError, match=r"holds \.git, which is not part of the dataset and would be lost"):
        check_folder(folder, force=True)
    monkeypatch.chdir(folder)
    for here in (".", "..", str(folder)):
        with pytest.raises(SettingsError, match="is the current folder"):
            check_folder(Path(here), force=True)
