"""Masked language models: inputs with masks, filling and fine-tuning. `masked_inputs` imports no torch, so that
methods can describe their inputs with it.
"""
