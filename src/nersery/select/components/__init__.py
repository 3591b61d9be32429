"""Components of selectors: near-duplicates, certainty, and the checkpoint of a self-training."""
