"""The foundation: sentences, tags, alignments, the registry of methods, errors, progress and files.

No models; imports nothing from other packages, but finds methods and conversions by name.
"""
