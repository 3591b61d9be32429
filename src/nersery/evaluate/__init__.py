"""Scores and what is made of them."""
