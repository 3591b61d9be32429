"""How a stage runs: batches, rejects, the error policy, journal, resume, shards and workers.

Knows no method; imports from `models`, `io` and `core`.
"""
