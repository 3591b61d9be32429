"""Encoder-decoders: their tokenization, fine-tuning and sampling. `seq2seq_inputs` imports no torch."""
