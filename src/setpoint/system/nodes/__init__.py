"""Nodes: the machines that run pods. Simulated nodes report the states of pods without running processes."""
