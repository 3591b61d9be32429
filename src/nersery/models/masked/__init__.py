"""models/masked."""
