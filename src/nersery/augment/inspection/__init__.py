"""Previews of what methods would do: the templates of ACLM, and words for mentions with their probabilities."""
