"""From words to subwords and back: windows, pairs of texts, whole words in a vocabulary, new tokens."""
