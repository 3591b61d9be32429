"""The training loop, its checkpoints, and what it shares with prediction: dropout masks, pruned vocabularies."""
