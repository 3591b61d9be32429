"""Encoder-decoders: inputs, tokenization, fine-tuning and generation."""
