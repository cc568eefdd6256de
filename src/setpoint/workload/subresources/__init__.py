"""The subresources of workload objects: their logs, and attach and exec."""
