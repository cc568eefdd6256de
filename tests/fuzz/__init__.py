"""Sends malformed requests to a server over its real HTTP edge, and judges the answers: `make fuzz`."""
