"""Finds the best tagger that a time budget allows, from labelled sentences and raw text: compares systems on folds."""
