"""Settings of methods, recipes and commands: their types and ranges, the files that they name, their documentation."""
