"""OpenAPI: what the server serves, told to programs; version 3 by group and version, version 2 in one document."""
