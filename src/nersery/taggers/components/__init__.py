"""Building blocks of taggers: tag sets, CRF, decoding, training settings, the second stage on gold."""
