"""models/subwords."""
