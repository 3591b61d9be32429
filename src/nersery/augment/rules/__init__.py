"""augment/rules."""
