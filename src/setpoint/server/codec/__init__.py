"""Bodies of requests and responses: media types, JSON, YAML, protobuf, Tables and partial metadata."""
