"""How the work of a run is carried out: the order of its cells, the processes, and what is shown."""
