"""Horizontal pod autoscalers: the number of replicas that follows from measured usage."""
