"""Shared by formats: how columns are laid out and marked, the keys of rows, and what a cell holds."""
