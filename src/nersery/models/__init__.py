"""Pretrained language models: loading, subwords, engines for each kind of model, and the trainer.

May import torch and transformers at the top, and `core`, `io` and `pipeline`. Does not depend on methods.
"""
