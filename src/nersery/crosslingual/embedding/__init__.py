"""crosslingual/embedding."""
