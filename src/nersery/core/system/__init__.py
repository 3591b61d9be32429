"""Files, folders and locks that survive kills and full disks; records of jobs; settings of the process."""
