"""From words to subwords and back, without losing a word; pairs of texts; token embeddings."""
