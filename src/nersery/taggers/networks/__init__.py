"""The networks of taggers: recurrent layers and their inputs, scores of words, attention."""
