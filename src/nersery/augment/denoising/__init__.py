"""Gaps in sentences, filled by a model: templates, mixner and back ends of ACLM, and spans of FlipDA."""
