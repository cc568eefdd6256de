"""The cache: local, up-to-date copies of a server's objects, for reads without requests."""
