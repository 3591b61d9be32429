"""Workers of a sharded job: local processes and Ray actors, with one interface."""
