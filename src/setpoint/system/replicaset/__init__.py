"""Replica sets and replication controllers: a number of equal pods."""
