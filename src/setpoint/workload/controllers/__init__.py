"""The controllers of the workload kinds: one per kind, each reconciling the specs of its objects with this machine."""
