"""Explains the state of an object: collects facts from a server, and describes them."""
