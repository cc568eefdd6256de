"""Pods as the controllers of workloads see them: their state, their creation and deletion, and their owners."""
