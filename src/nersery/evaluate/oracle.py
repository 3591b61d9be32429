"""An oracle: an accurate tagger that judges generated mentions."""

from __future__ import annotations

from collections.abc import Collection

from nersery.core.errors import SettingsError
from nersery.taggers.base import Tagger, load_tagger


def load_oracle(name: str, types: Collection[str]) -> tuple[Tagger, list[str]]:
    """Open a tagger to judge mentions of some types.

    Args:
        name: The folder of a tagger, or a Hugging Face token-classification model.

    Returns:
        The tagger, and those of the types that it cannot predict.

    Raises:
        MissingResourceError: When there is no such tagger.
        SettingsError: When it knows no requested type.
    """
    oracle = load_tagger(name)
    unknown = sorted(set(types) - set(oracle.types))
    if unknown and len(unknown) == len(set(types)):
        raise SettingsError(
            f"the oracle {name} knows {', '.join(oracle.types) or 'no type'}, but no type to judge: "
            f"{', '.join(unknown)}. Name a tagger that was trained on them"
        )
    return oracle, unknown
