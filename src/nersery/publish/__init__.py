"""Publishes a dataset: splits without leakage, Parquet and JSONL, and a card.

Imports from the methods and below.
"""
