"""From labelled sentences and raw text to the best tagger that a time budget allows: chooses among systems on folds.

Imports from `experiments` and below.
"""
