"""Setpoint: a Kubernetes-compatible control plane that installs with pip."""

__version__ = "0.1.0"
