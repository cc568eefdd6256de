"""The controller of Tasks."""
