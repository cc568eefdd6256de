"""The client: talks to any Kubernetes API server, in the same process or over HTTP."""
