"""What every registered method says of itself, and that it has no settings but those."""

from __future__ import annotations

import dataclasses

import pytest

from nersery.core import descriptions, registry
from nersery.core.errors import SettingsError

KINDS = ("align", "annotate", "augment", "select", "tagger")
METHODS = [(kind, name) for kind in KINDS for name in registry.names(kind)]


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_documentation_says_what_whence_and_each_setting(kind: str, name: str) -> None:
    cls = registry.get(kind, name)
    text = descriptions.documentation(cls)
    assert descriptions.summary(kind, name).endswith(".")
    assert len(descriptions.summary(kind, name)) < (100 if kind == "augment" else 120)
    assert "\nReference:\n" in text or kind == "select"
    for field in dataclasses.fields(cls):
        assert not field.init or f"\n    {field.name}: " in text, f"{field.name} is not documented"


@pytest.mark.parametrize(("kind", "name"), [method for method in METHODS if method[0] != "augment"])
def test_a_setting_that_there_is_not_is_refused(kind: str, name: str) -> None:
    with pytest.raises(SettingsError, match='has no setting "colour"'):
        registry.create(kind, name, {"colour": "red"})
