"""Components of aligners: symmetrization, external programs, joined characters, batches, and saved training results."""
