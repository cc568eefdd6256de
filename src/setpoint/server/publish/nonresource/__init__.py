"""The paths that are no resources: the server's version, health and metrics, and the list of what there is."""
