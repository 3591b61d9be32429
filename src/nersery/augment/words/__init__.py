"""Words that methods look up: stop words, synonyms, gazetteers, the user's word lists, and segments of sentences."""
