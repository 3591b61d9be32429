"""crosslingual/hmm."""
