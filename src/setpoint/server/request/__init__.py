"""The context that a request is served in, and the options in its query."""
