"""What a client of the control plane itself asks for: how it is, that it ends, and where it spends its time."""
