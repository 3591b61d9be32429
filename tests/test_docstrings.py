"""Every public method says what it does; one that overrides another may leave this to the class that it comes from."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cached_property
from types import FunctionType

import pytest

import nersery

MODULES = [
    module.name for module in pkgutil.walk_packages(nersery.__path__, "nersery.") if "__main__" not in module.name
]
METHODS = (FunctionType, property, cached_property, classmethod, staticmethod)


@pytest.mark.parametrize("name", MODULES)
def test_public_methods_have_docstrings(name: str) -> None:
    bare = [
        f"{type_.__qualname__}.{method}"
        for type_ in vars(importlib.import_module(name)).values()
        if inspect.isclass(type_) and type_.__module__ == name and not type_.__name__.startswith("_")
        for method, value in vars(type_).items()
        if isinstance(value, METHODS) and method not in getattr(type_, "__dataclass_fields__", ())
        if not method.startswith("_") and not inspect.getdoc(value)
    ]
    assert bare == []
