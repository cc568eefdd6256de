"""Stable addresses for workloads that start and stop: proxies for TCP and UDP, and their ports."""
