"""How a stage runs: batches, rejects, the error policy, the journal, resuming, shards and workers.

Does not depend on any method. Imports from `models`, `io` and `core`.
"""
