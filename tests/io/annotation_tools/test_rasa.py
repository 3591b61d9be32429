"""Training data of Rasa, with labels inside the sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import open_corpus, read

YAML = """version: "3.1"
nlu:
- intent: travel/book
  examples: |
    - hi there
    - fly from [Oslo](city) to [New York](city:NYC) today
    - note: [Bonn]{"entity": "city", "role": "to"}
- synonym: NYC
  examples: |
    - [Gotham](city)
- lookup: city
  examples: |
    - Rome
responses:
  utter_hi:
  - text: Hello!
stories:
- story: one
  steps:
  - intent: travel/book
"""
MARKDOWN = """## intent:travel/book
- hi there
* fly from [Oslo](city) to [New York](city:NYC) today
- note: [Bonn]{"entity": "city", "role": "to"}

## synonym:NYC
- [Gotham](city)
## regex:zip
- [0-9]{5}
"""
BLOCKS = """nlu:
- intent: travel/book
  examples:
  - text: |
      hi there
    metadata:
      mood: good
  - text: |
      fly from [Oslo](city) to [New York](city:NYC) today
  - text: |
      note: [Bonn]{"entity": "city", "role": "to"}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("nlu.yml", YAML), ("nlu.yaml", YAML.replace("\n", "\r\n")), ("nlu.md", MARKDOWN), ("nlu.yml", BLOCKS)],
)
def test_items_below_intents_are_sentences(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8", newline="")
    assert open_corpus(path).description == "rasa"
    assert [(s.id, " ".join(s.words), s.labels) for s in read(path)] == [
        ("nlu:1", "hi there", ()),
        ("nlu:2", "fly from Oslo to New York today", ((2, 3, "city"), (4, 6, "city"))),
        ("nlu:3", "note : Bonn", ((2, 3, "city"),)),
    ]


@pytest.mark.parametrize(
    "label", ['[Oslo][{"entity": "city"}, {"entity": "place"}]', '[Oslo]{"role": "to"}', "[Oslo]{x}"]
)
def test_a_label_without_a_single_type_is_an_error(tmp_path: Path, label: str) -> None:
    path = tmp_path / "nlu.yml"
    path.write_text(f"nlu:\n- intent: go\n  examples: |\n    - hi\n    - to {label}\n", "utf-8")
    with pytest.raises(DataError, match=r"nlu\.yml:5 \(sentence nlu:2\): a label has no single"):
        read(path)


def test_does_not_read_brackets_in_other_text_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "nlu.yml"
    path.write_text("nlu:\n- intent: go\n  examples: |\n    - to [Oslo] (now)\n    - [a] b\n", "utf-8")
    assert [sentence.labels for sentence in read(path)] == [(), ()]
