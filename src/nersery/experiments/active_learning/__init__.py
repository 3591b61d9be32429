"""Active learning: which sentences to label next, so that few labels teach a tagger much.

`expected_errors` says what a sentence is worth, `farthest_first` keeps sentences apart, `next_sentences` is the job.
"""
