"""The controller of ExecutableReplicaSets."""
