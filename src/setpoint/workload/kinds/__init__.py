"""The workload kinds as classes, a module for each; `definitions` has what a server needs to serve them."""
