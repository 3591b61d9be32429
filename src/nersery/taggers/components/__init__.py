"""taggers/components."""
