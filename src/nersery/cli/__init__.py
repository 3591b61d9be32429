"""The command `nersery`. Each command reads its options, calls the library once and prints the results.

It imports from all other packages; no other package imports it.
"""
