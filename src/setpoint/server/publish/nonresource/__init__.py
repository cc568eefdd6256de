"""The paths that are not resources: version, health, metrics, and the index of paths."""
