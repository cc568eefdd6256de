"""Load balancers: simulated addresses of Services."""
