"""Whether a workload is well: the ways to find out, when each is tried, and what follows from the answers."""
