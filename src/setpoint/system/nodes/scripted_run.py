"""A run of a container with its script."""

from typing import NamedTuple

from setpoint.system.node_scripts import Behaviour
from setpoint.system.nodes.pod_memory import RunTimes


class ScriptedRun(NamedTuple):
    """The behaviour of a run of a container, and its times."""

    behaviour: Behaviour
    times: RunTimes
