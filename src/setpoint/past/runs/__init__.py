"""Earlier runs of an app: their records, snapshots of their objects, and the comparison of two runs."""
