"""Processes, containers and services as API objects: their kinds, the runtimes that run them, and their controllers."""
