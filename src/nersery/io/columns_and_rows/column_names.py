"""The names, in lower case, under which tables and rows have the words and the tags of sentences."""

WORDS = ("tokens", "words", "token", "word")
TAGS = ("ner_tags", "tags", "ner_tag", "tag", "labels", "label")
"""The usual names. If a table has one of them, the rarer names below have other meanings."""
RARE_WORDS = ("form",)
RARE_TAGS = ("ner", "ner_labels", "iob", "bio", "entity")
TEXTS = ("text", "sentence")
"""Names of words in some data sets, and of whole texts in others."""
WORD_NAMES = frozenset((*WORDS, *RARE_WORDS))
HEADER_WORDS = WORD_NAMES | {"text"}
"""The names in the header of a table, beside a column of tags."""
TAG_NAMES = frozenset((*TAGS, *RARE_TAGS))
