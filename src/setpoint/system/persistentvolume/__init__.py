"""The controllers of persistent volumes: binding, simulated provisioning, expansion and ephemeral volumes."""
