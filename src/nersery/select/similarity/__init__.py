"""How similar two sentences are; for `duplicates` and `publish`."""
