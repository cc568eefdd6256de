"""Discovery: what the server serves, told in the two forms that clients know."""
