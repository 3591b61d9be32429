"""Packages that are called like functions: ``nersery.augment(corpus, "melm")``.

Importing ``nersery.augment.base`` binds the name ``augment`` in `nersery` to the package and so replaces any function
of that name. Therefore, the package itself must be callable.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    @property
    def _function(self) -> Callable[..., Any]:
        module = import_module(f"{self.__name__}.{self.__function_module__}")
        return getattr(module, self.__name__.rpartition(".")[2])

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The docstring of the function, for `help`."""
        name = self.__name__.rpartition(".")[2]
        return f"{name}{self.__signature__}\n\n{inspect.getdoc(self._function)}"

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function, for `inspect.signature` and so for notebooks and editors."""
        return inspect.signature(self._function)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)


def make_callable(package: str, module: str = "base") -> None:
    """Make a package callable: it calls the function of its own name in ``module``, imported at the first call."""
    sys.modules[package].__dict__["__function_module__"] = module
    sys.modules[package].__class__ = _CallablePackage
