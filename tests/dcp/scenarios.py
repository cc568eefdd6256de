"""Scenarios with an instance of DCP, and the facts that a client sees. None needs a container engine."""

from tests.dcp import object_scenarios, process_scenarios, read_scenarios, service_scenarios
from tests.dcp.registry import SCENARIOS

__all__ = ["SCENARIOS", "object_scenarios", "process_scenarios", "read_scenarios", "service_scenarios"]
