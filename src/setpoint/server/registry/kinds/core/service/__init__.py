"""Services: their types, their ports, and the addresses and node ports they are given."""
