"""Projection: labels put on translations by links, and the job that does it for parallel text."""
