"""The Kubernetes API client. Talks to any API server, in the same process or over HTTP."""
