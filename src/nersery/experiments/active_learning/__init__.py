"""Active learning: which sentences to label next, so that few labels teach a tagger much.

`expected_errors` rates a sentence, `farthest_first` keeps sentences apart, `next_sentences` is the job.
"""
