"""A page where a person reads sentences, corrects their labels, and accepts or rejects them.

`decisions` keeps what was decided, `server` shows the page; nothing of it is reachable from another machine.
"""
