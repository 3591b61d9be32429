from pathlib import Path

import pytest

from nersery.core.errors import MissingResourceError
from nersery.taggers.components import onnx_export
from tests.taggers.test_transformer import GOLD, small


def test_the_export_predicts_the_same_labels(tiny_model, tmp_path: Path) -> None:
    for package in onnx_export.PACKAGES:
        pytest.importorskip(package)
    tagger = small(tiny_model, precision="fp32")
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    with pytest.raises(MissingResourceError, match=r"has no model.onnx"):
        onnx_export.load_onnx(tmp_path)
    assert onnx_export.export_onnx(tmp_path).stat().st_size > 1000
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]
    again = onnx_export.load_onnx(tmp_path)
    for size in (1, 5, len(GOLD)):
        assert again.predict(GOLD[:size]) == tagger.predict(GOLD[:size])


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "PACKAGES", ("no_such_package",))
    with pytest.raises(MissingResourceError, match=r"needs no_such_package.*nersery\[onnx\]"):
        onnx_export.export_onnx(tmp_path)
