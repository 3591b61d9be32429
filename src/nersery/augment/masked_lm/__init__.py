"""augment/masked_lm."""
