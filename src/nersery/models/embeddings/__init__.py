"""Vectors of words, subwords and sentences, and the nearest among them."""
