"""Discovery: the served groups and resources, in the two forms that clients support."""
