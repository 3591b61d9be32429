"""Every registered method documents itself, and refuses other settings than the documented ones."""

from __future__ import annotations

import dataclasses

import pytest

from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.settings import descriptions

KINDS = ("align", "annotate", "augment", "select", "tagger")
METHODS = [(kind, name) for kind in KINDS for name in registry.names(kind)]


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_documentation_has_summary_reference_and_every_setting(kind: str, name: str) -> None:
    cls = registry.get(kind, name)
    text = descriptions.documentation(cls)
    assert descriptions.summary(kind, name).endswith(".")
    assert len(descriptions.summary(kind, name)) < (100 if kind == "augment" else 120)
    assert "\nReference:\n" in text or kind == "select"
    for field in dataclasses.fields(cls):
        assert not field.init or f"\n    {field.name}: " in text, f"{field.name} is not documented"


@pytest.mark.parametrize(("kind", "name"), [method for method in METHODS if method[0] != "augment"])
def test_refuses_an_unknown_setting(kind: str, name: str) -> None:
    with pytest.raises(SettingsError, match='has no setting "colour"'):
        registry.create(kind, name, {"colour": "red"})
