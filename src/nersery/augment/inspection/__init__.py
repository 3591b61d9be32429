"""What methods would do, to look at before a run: the templates of ACLM, and words for mentions with probabilities."""
