"""The files that install an operator on a cluster: definitions, roles, a Deployment, webhooks, and a Dockerfile."""
