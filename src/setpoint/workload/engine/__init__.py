"""Container engines, Docker's and Podman's, by the REST API on their socket. Knows nothing of our own API."""
