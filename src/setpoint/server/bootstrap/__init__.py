"""Objects that the server itself keeps: those of every new cluster, and the Service `kubernetes`."""
