"""Documents that the server publishes about itself: discovery, OpenAPI, health, metrics and version."""
