"""Endpoint slices: the addresses of the pods that a Service selects."""
