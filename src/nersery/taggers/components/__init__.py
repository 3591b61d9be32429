"""Building blocks of taggers: tag sets, CRF, scores, loss, decoding, training settings, second stage on gold."""
