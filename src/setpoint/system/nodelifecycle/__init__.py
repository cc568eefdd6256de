"""The lifecycle of nodes: nodes without a sign of life become unknown and tainted, and their pods not ready."""
