"""Optional packages, imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nersery.core.errors import MissingResourceError


def required(module: str, extra: str = "") -> Any:
    """Import a module of an optional package.

    Args:
        extra: The extra of nersery that installs the package; if empty, the package is installed by its own name.

    Raises:
        MissingResourceError: If the package is not installed or is broken.

    >>> required("no_module", "ray")
    Traceback (most recent call last):
    nersery.core.errors.MissingResourceError: no_module is not installed. Install it with: pip install "nersery[ray]"
    """
    package = module.partition(".")[0]
    try:
        import_module(package)  # first, because importing a submodule of a missing package raises another error
        return import_module(module)
    except ImportError as error:
        reason = "is not installed" if error.name == package else f"cannot be imported: {error}"
        wanted = f'"nersery[{extra}]"' if extra else package
        raise MissingResourceError(f"{package} {reason}. Install it with: pip install {wanted}") from None
