"""select/components."""
