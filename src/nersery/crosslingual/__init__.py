"""Labels across languages: parallel text, word alignment, projection.

Imports from `pipeline` and below. The methods are in `aligners`. `hmm` and `embedding` each hold the components of one
aligner, and `aligner_components` holds the other components.
"""
