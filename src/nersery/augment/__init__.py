"""Methods that make new labelled sentences, one per file. The folders have the code that several methods share.

Imports from `taggers`, `crosslingual`, `evaluate` and below. Methods do not import each other.
"""

from nersery.core.callable_package import make_callable

make_callable(__name__)
