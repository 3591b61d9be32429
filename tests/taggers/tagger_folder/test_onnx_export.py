import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.taggers.base import check_tagger_folder, load_tagger, predict
from nersery.taggers.bilstm_crf import BiLSTMCRF
from nersery.taggers.tagger_folder import onnx_export, onnx_network
from tests.killing import KilledError
from tests.taggers.small_taggers import GOLD, small


def test_the_export_predicts_the_same_labels(tiny_model, tmp_path: Path) -> None:
    for package in onnx_export.PACKAGES:
        pytest.importorskip(package)
    tagger = small(tiny_model, precision="fp32")
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    with pytest.raises(MissingResourceError, match=r"has no model.onnx"):
        load_tagger(tmp_path, backend="onnx")
    assert onnx_export.export_onnx(tmp_path).stat().st_size > 1000
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
    again = load_tagger(tmp_path, backend="onnx")
    for size in (1, 5, len(GOLD)):
        assert again.predict(GOLD[:size]) == tagger.predict(GOLD[:size])
    assert list(predict(GOLD, tmp_path, backend="onnx").corpus) == tagger.predict(GOLD)
    teacher = TaggerLabels(str(tmp_path), backend="onnx")
    teacher.check()
    assert teacher.annotate(GOLD) == tagger.predict(GOLD)
    with pytest.raises(SettingsError, match='can only predict: load it with backend = "torch"'):
        again.certainty(GOLD)
    with pytest.raises(SettingsError, match="can only predict"):
        again.save(tmp_path)
    check_tagger_folder(tmp_path, force=True)
    (tmp_path / onnx_network.ONNX_FILE).write_bytes(b"damaged")
    with pytest.raises(MissingResourceError, match=r"model.onnx cannot be read"):
        load_tagger(tmp_path, backend="onnx")


def test_names_the_missing_package_and_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "PACKAGES", ("no_such_package",))
    with pytest.raises(MissingResourceError, match=r"no_such_package is not installed.*nersery\[onnx\]"):
        onnx_export.export_onnx(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingResourceError, match=r"onnxruntime is not installed.*nersery\[onnx\]"):
        onnx_network.OnnxNetwork(tmp_path)


def test_force_replaces_a_tagger_whose_export_was_killed(
    tiny_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(network: object, inputs: object, path: Path, **options: object) -> None:
        path.touch()
        raise KilledError

    tagger = small(tiny_model, steps=1)
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    monkeypatch.setattr(onnx_export, "check_onnx", lambda: None)
    monkeypatch.setattr(torch.onnx, "export", export)
    with pytest.raises(KilledError):
        onnx_export.export_onnx(tmp_path)
    check_tagger_folder(tmp_path, force=True)


def test_error_about_a_network_that_cannot_be_exported(
    tiny_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(*inputs: object, **options: object) -> None:
        raise torch.onnx.OnnxExporterError("step 2 of 3")

    tagger = small(tiny_model, steps=1)
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    monkeypatch.setattr(onnx_export, "PACKAGES", ())
    monkeypatch.setattr(torch.onnx, "export", export)
    with pytest.raises(SettingsError, match=r"cannot export a BertForTokenClassification.*works without it"):
        onnx_export.export_onnx(tmp_path)


def test_refuses_a_folder_without_an_export_and_other_taggers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", ModuleType("onnxruntime"))
    with pytest.raises(MissingResourceError, match=r"has no model.onnx. Write it with: nersery train … --onnx"):
        onnx_network.OnnxNetwork(tmp_path)
    tagger = BiLSTMCRF(steps=1)
    tagger.fit(GOLD)
    tagger.save(tmp_path)
    with pytest.raises(SettingsError, match="holds a bilstm_crf: only transformer taggers run on ONNX"):
        load_tagger(tmp_path, backend="onnx")
    with pytest.raises(SettingsError, match="a tagger in memory runs on PyTorch"):
        predict(GOLD, tagger, backend="onnx")
    with pytest.raises(SettingsError, match="backend is for a saved tagger"):
        TaggerLabels(backend="onnx")
