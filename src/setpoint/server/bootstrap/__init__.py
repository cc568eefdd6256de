"""Objects that the server itself maintains: those of every new cluster, and the Service `kubernetes`."""
