"""Packages that are imported only where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nersery.core.errors import MissingResourceError


def required(module: str, extra: str = "") -> Any:
    """A module of a package that not everybody has.

    Args:
        extra: Of nersery, which installs the package; without one it is installed by its own name.

    Raises:
        MissingResourceError: If it is not installed, or broken.

    >>> required("no_module", "ray")
    Traceback (most recent call last):
    nersery.core.errors.MissingResourceError: no_module is not installed. Install it with: pip install "nersery[ray]"
    """
    package = module.partition(".")[0]
    try:
        import_module(package)  # whose absence has another error where a part of it is imported
        return import_module(module)
    except ImportError as error:
        reason = "is not installed" if error.name == package else f"cannot be imported: {error}"
        wanted = f'"nersery[{extra}]"' if extra else package
        raise MissingResourceError(f"{package} {reason}. Install it with: pip install {wanted}") from None
