"""OpenAPI documents of the server: version 3 by group and version, version 2 in one document."""
