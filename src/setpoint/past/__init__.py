"""Queries about the history of objects: past states, differences, the writer of each field, and chains of causes."""
