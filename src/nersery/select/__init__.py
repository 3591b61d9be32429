"""Methods that score sentences, one per file.

Imports from `taggers`, `crosslingual`, `evaluate` and below.
"""

from nersery.core.callable_package import make_callable

make_callable(__name__)
