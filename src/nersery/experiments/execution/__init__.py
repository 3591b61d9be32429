"""How the work of a run is carried out: in which order, in which processes, how long, and logged where.

Used by the runner and by sweeps.
"""
