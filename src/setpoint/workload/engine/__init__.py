"""Clients of the container engines Docker and Podman, by the REST API on their socket. Independent of Setpoint's own
API."""
