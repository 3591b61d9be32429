"""Parts of methods: settings, learning from gold, and the gaps that FlipDA lets an encoder-decoder fill."""
