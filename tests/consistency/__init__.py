"""Checks that concurrent clients of the API see one consistent log, on every store."""
