"""Alignment by contextual embeddings: extraction from similarities, fine-tuning, matching."""
