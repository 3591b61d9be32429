"""Turns the TOML table of a recipe into checked settings: files, methods, models and changes by ``--set``."""
