"""Parts of aligners: symmetrization, external programs, joined characters, batches, and what a training has learnt."""
