"""models/seq2seq."""
