"""What the methods of all kinds have in common."""

from __future__ import annotations

from nersery.core.registry import check_values


class Method:
    """Base of augmenters, annotators, selectors, aligners and taggers, and of settings with checks of their own."""

    def __post_init__(self) -> None:
        """Refuse values that their settings cannot have; a subclass with checks of its own calls this one first."""
        check_values(self)

    def check(self) -> None:
        """Check that models, files and programs exist before other work starts.

        Raises:
            MissingResourceError: Naming what is missing.
        """
