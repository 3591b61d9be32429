"""Opens the files and folders that users name, and finds what is wrong with them as a whole."""
