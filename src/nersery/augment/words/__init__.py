"""Words that rule methods draw from: stop words, synonyms, word lists, gazetteers, segments."""
