"""The version of this package, which every record of a job names."""

__version__ = "0.1.0"
