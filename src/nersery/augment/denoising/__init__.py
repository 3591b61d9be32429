"""ACLM: templates, mixner, and a back end for each kind of language model."""
