"""Masked language models: inputs with masks, fine-tuning, filling, adaptation to raw text."""
