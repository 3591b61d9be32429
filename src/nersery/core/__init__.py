"""The foundation: sentences, tags, alignments, the registry of methods, errors and progress.

Folders hold settings, files and locks (`system`), and what is known about languages and scripts (`text`).
No models; imports nothing from other packages, but finds methods and conversions by name.
"""
