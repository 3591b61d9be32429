"""Code that several annotators share."""
