"""Word aligners, one per file."""
