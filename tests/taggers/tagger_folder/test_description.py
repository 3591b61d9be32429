from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import MissingResourceError
from nersery.taggers.base import load_tagger


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("runs/grow/tager", r"^there is no folder runs/grow/tager \(did you mean runs/grow/tagger\?\)$"),
        ("./my-taggr", r"^there is no folder \./my-taggr \(did you mean my-tagger\?\)$"),
        ("no/such/tagger", r"^there is no folder no/such/tagger: expected a folder that `nersery\.train` wrote$"),
        (
            "my-taggr",
            r"^there is no folder my-taggr \(did you mean my-tagger\?\)\. Nor is it a Hugging Face model: the",
        ),
        ("runs/gone", r"^there is no folder runs/gone\. Nor is it a Hugging Face model: the model \"runs/gone\""),
        ("dslim/bert-base-NER", r"^the model \"dslim/bert-base-NER\" cannot be loaded"),
        ("file", r"^file is not a tagger: expected a folder"),
    ],
)
def test_error_about_a_missing_tagger_suggests_similar_folders(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("my-tagger", "runs/grow/tagger"):
        Path(folder).mkdir(parents=True)
    Path("file").touch()
    with pytest.raises(MissingResourceError, match=says):
        load_tagger(name)
