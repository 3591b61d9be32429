"""The version of this package, which is part of every job record."""

__version__ = "0.1.0"
