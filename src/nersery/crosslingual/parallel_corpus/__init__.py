"""Parallel text: its sides, how they are paired, and where they run apart."""
