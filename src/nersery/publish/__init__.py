"""A dataset for others: splits without leakage, Parquet and JSONL, a card.

Imports from the methods and below.
"""
