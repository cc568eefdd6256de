"""Endpoints: the older form of endpoint slices, one object for each Service."""
