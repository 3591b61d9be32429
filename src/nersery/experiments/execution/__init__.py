"""How the work of a run is carried out: the order of its cells, the processes, the time it takes, and what is shown."""
