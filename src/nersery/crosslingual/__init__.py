"""Labels across languages: parallel text, word alignment, projection.

Imports from `pipeline` and below. The methods are in `aligners`; `hmm` and `embedding` each hold the parts of one, and
`aligner_components` the other parts.
"""
