"""Sweeps: several sizes, languages or settings in one recipe; their runs, and the tables over all of them."""
