"""Deployments: replica sets for each version of a pod template, and the transition from one to the next."""
