"""Parts of taggers: tag sets, the CRF, networks, decoding, training settings, and the second stage on gold."""
