"""Encoders that compute nothing for padding, in training and in prediction."""
