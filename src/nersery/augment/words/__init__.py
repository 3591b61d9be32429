"""Words that rule-based methods use: stop words, synonyms, gazetteers, segments."""
