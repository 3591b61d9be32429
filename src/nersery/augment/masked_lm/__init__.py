"""Augmenters on a masked language model: opening and fine-tuning it, and replacing words by its predictions."""
