"""augment/linearized."""
