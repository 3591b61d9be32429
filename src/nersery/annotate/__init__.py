"""Methods that label raw text, one a file."""
