"""One random generator per seed, method, sentence and copy.

Therefore, results do not depend on the order of the corpus, the batch size or the number of workers.
"""

from __future__ import annotations

import hashlib
import random
from numbers import Integral
from typing import TypeGuard

from nersery.core.errors import SettingsError, shown

MAX_SEED = 2**32 - 1
MAX_SAMPLES = 10_000_000
"""The largest number of samples of a bootstrap."""


def checked_seed(seed: object) -> int:
    """Return a seed as a plain integer (NumPy's are converted), or raise `SettingsError` if it is invalid."""
    if not is_whole(seed) or not 0 <= seed <= MAX_SEED:
        raise SettingsError(f"seed is {shown(seed)}, expected a whole number from 0 to {MAX_SEED}")
    return int(seed)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number. NumPy's integers are, booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def item_seed(*keys: object) -> int:
    """A 128-bit seed derived from keys; the same on every machine.

    >>> item_seed(0, "melm", "train-1", 2) == item_seed(0, "melm", "train-1", 2)
    True
    >>> item_seed("a", "b") == item_seed("ab", "")
    False
    """
    name = "\x1f".join(map(str, keys)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")


def uniform_draw(*keys: object) -> float:
    """A random number in [0, 1) for an item that needs only one: creating a generator takes six times as long."""
    return (item_seed(*keys) >> 75) / 2**53


def item_rng(*keys: object) -> random.Random:
    """A random generator for an item, seeded with its keys."""
    return random.Random(item_seed(*keys))
