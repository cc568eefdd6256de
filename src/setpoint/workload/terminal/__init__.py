"""Pseudo-terminals: the processes in them, and their viewers."""
