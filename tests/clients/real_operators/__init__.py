"""Operators of other projects in Go, unchanged, on Setpoint with simulated nodes. `make operators` builds them."""
