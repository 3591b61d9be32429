"""The statistical aligner: IBM model 1 and a hidden Markov model, trained in both directions."""
