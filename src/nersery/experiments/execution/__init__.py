"""How the work of a run is carried out: the order, the processes, the time that it takes, and what is shown."""
