"""The error of control planes."""


class PlaneError(Exception):
    """The control plane cannot be started as requested. The message says why, and how to fix the problem."""
