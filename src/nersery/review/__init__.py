"""A page where a person reads sentences, corrects their labels, and accepts or rejects them.

`decisions` keeps what was decided, and `server` shows the page. Other machines cannot reach it.
"""
