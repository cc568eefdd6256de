"""Mirrored slices: the addresses of Endpoints that users write for Services without a selector."""
