"""Components of methods: settings, learning from gold, and gaps that an encoder-decoder fills for FlipDA."""
