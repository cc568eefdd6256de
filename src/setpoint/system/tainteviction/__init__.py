"""Taint eviction: pods that do not tolerate the NoExecute taints of their node are deleted."""
