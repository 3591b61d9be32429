"""The command `nersery`: options in, one library call, results out.

Imports from everything; nothing imports it.
"""
