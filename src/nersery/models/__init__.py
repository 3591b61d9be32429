"""Language models: where they are loaded, and the engines that methods share."""
