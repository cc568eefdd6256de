"""Pseudo-terminals: processes that run in one, and those who look at it and type into it."""
