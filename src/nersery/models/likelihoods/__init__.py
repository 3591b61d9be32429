"""How likely a text is: under causal language models, and under masked ones."""
