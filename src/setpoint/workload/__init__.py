"""Processes, containers and services as objects: their kinds, the runtimes that carry them, and the controllers."""
