"""The metrics of the server's process: the usual `process_…` metrics of Prometheus' client libraries.

Each metric is present if the system provides the value: all of them on Linux and macOS, only the processor time on
Windows.
"""

import os
from collections.abc import Callable, Iterator

from setpoint.machine.chosen import system
from setpoint.machine.layer import Resources
from setpoint.objects.metrics import MetricFamily


def process_families(resources: Callable[[], Resources | None] = system.resources) -> Iterator[MetricFamily]:
    """Yields the metrics of this process."""
    times = os.times()
    yield _family("cpu_seconds_total", "counter", "Processor time in seconds.", times.user + times.system)
    if (found := resources()) is None:
        return
    yield _family("virtual_memory_bytes", "gauge", "Virtual memory in bytes.", found.virtual_memory)
    yield _family("resident_memory_bytes", "gauge", "Resident memory in bytes.", found.resident_memory)
    yield _family("open_fds", "gauge", "Open file descriptors.", found.descriptors)
    if found.most_descriptors:
        yield _family("max_fds", "gauge", "Maximum number of open file descriptors.", found.most_descriptors)
    text = "Start time of the process, in seconds since the epoch."
    yield _family("start_time_seconds", "gauge", text, found.started)


def _family(name: str, kind: str, text: str, value: float) -> MetricFamily:
    return MetricFamily(f"process_{name}", kind, text, [({}, value)])
