"""From the TOML table of a recipe to checked settings: files, methods, models and changes by ``--set``.

Used by `nersery.experiments.recipe`.
"""
