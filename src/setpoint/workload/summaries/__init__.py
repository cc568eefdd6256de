"""Summaries of objects, which the dashboard and other programs read: endpoints, streams, and the pure functions."""
