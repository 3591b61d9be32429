"""The training loop, its checkpoints, and what makes training cheaper."""
