"""How taggers are trained: settings, the call of the trainer, a second stage on gold, taggers for other methods."""
