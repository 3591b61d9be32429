"""The output layer of taggers: its tags, head, CRF, loss and decoding."""
