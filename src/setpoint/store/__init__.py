"""The revisioned log: its contract, and the backends that implement it."""
