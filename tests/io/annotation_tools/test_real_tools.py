"""What the tools themselves say of our files. Install one to run its test; `test_tool_exports` checks the structure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nersery.io import read, write
from tests.io.annotation_tools.exported import CORPUS, covered


@pytest.mark.parametrize("export", ["JSON", "JSON_MIN"])
def test_label_studio_accepts_tasks_and_predictions_and_its_exports_are_read(tmp_path: Path, export: str) -> None:
    pytest.importorskip("label_studio_sdk")
    from label_studio_sdk.converter import Converter
    from label_studio_sdk.label_interface import LabelInterface

    labels = "".join(f'<Label value="{type_}"/>' for type_ in ("PER", "EMO"))
    config = f'<View><Labels name="label" toName="text">{labels}</Labels><Text name="text" value="$text"/></View>'
    write(CORPUS, tmp_path / "tasks.json", format="label-studio")
    tasks = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    interface = LabelInterface(config)
    for number, task in enumerate(tasks):
        (prediction,) = task.pop("predictions")
        assert interface.validate_task(task)
        assert interface.validate_prediction(prediction, return_errors=True) == []
        task |= {"id": number, "annotations": [{"id": number, "result": prediction["result"]}]}
    (tmp_path / "accepted.json").write_text(json.dumps(tasks), "utf-8")
    converter = Converter(config, project_dir=str(tmp_path), download_resources=False)
    converter.convert(str(tmp_path / "accepted.json"), str(tmp_path / "out"), export, is_dir=False)
    assert covered(read(tmp_path / "out" / "result.json")) == covered(CORPUS)


def test_brats_own_parser_finds_each_label_where_it_is(tmp_path: Path) -> None:
    annotation = pytest.importorskip("bratsubset.annotation", reason="brat's parser: pip install bratiaa")
    write(CORPUS, tmp_path / "brat", format="brat")
    found = []
    for path in sorted((tmp_path / "brat").glob("*.ann")):
        document = annotation.TextAnnotations(str(path.with_suffix("")))
        assert not document.failed_lines
        found += [(document.get_document_text()[slice(*t.spans[0])], t.text, t.type) for t in document.get_textbounds()]
    assert all(text == named for text, named, _ in found)
    assert [(*text.split(), type_) for text, _, type_ in found] == [
        (*words, type_) for sentence in covered(CORPUS) for words, type_ in sentence
    ]
