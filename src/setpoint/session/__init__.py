"""Sessions: the host process of a running app, applying its objects, and its shutdown."""
