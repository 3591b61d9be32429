"""The command ``nersery``: options in, one call of the library, results out."""
