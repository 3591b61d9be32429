"""Alignment by contextual embeddings: links by probability, by similarity and by matching, and fine-tuning."""
