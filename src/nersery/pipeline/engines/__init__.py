"""Workers of a sharded job: local processes and Ray, behind one interface."""
