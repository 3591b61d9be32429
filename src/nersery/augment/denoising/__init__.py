"""Gaps in sentences, filled by a model: templates and back ends of ACLM, and spans of FlipDA."""
