"""Building blocks of taggers: tag sets, CRF, scores, loss, decoding, training settings, the second stage on gold."""
