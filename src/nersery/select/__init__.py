"""Methods that say how good a sentence is, one a file."""
