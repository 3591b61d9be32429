"""A dataset that others can use: splits without leakage, Parquet and JSONL, and a card that says how it was made."""
