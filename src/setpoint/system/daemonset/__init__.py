"""Daemon sets: a pod on each selected node."""
