"""Services: their types, their ports, and their allocated addresses and node ports."""
