"""The audit log: the user, the time, the target and the outcome of each request."""
