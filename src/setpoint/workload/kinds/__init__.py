"""The workload kinds as classes, one module per kind; `definitions` has the definitions for a server."""
