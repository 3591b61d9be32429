"""Building blocks of selectors: near-duplicates, and the checkpoint of a self-training."""
