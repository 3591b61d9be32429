"""What self-training has done so far, on disk; for `self_training`."""
