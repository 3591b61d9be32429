"""Sentences with their tags as one sequence of tokens, and back."""
