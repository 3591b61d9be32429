"""Ids and sentences on disk, in memory that does not grow with the corpus."""
