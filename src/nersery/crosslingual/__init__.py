"""crosslingual."""
