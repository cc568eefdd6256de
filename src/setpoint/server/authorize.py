"""Moved to `authorization.authorizer`."""

from setpoint.server.authorization.authorizer import MASTERS, Authorizer, Decision, Masters, refusal

__all__ = ["MASTERS", "Authorizer", "Decision", "Masters", "refusal"]
