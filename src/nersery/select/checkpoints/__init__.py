"""State of selectors on disk."""
