"""Projection: copy labels to translations along word alignments, and the job that does this for parallel text."""
