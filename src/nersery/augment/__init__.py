"""Methods that make new labelled sentences, one a file."""
