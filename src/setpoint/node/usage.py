"""Samples of the CPU and memory that nodes, pods and containers use."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple


class Usage(NamedTuple):
    """The used CPU in cores, as an average of the window of the sample, and the used memory in bytes."""

    cpu_cores: float = 0.0
    memory_bytes: int = 0


class PodSample(NamedTuple):
    """The usage of the running containers of a pod, by their names. The window is the number of seconds before `time`
    that the sample describes."""

    time: datetime
    window_seconds: float
    containers: Mapping[str, Usage]


class NodeSample(NamedTuple):
    """The usage of a whole node."""

    time: datetime
    window_seconds: float
    usage: Usage
