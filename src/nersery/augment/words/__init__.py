"""Words that rule-based methods use: stop words, synonyms, word lists, gazetteers, segments."""
