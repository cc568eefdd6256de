"""The metrics of the server's process: the usual `process_…` metrics of Prometheus' client libraries.

Each metric is present if the system provides the value: all of them on Linux, only the processor time elsewhere.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from setpoint.objects.metrics import MetricFamily

_PROC = Path("/proc")


def process_families(proc: Path = _PROC) -> Iterator[MetricFamily]:
    """Yields the metrics of this process; `proc` is the root of Linux' process information."""
    times = os.times()
    yield _family("cpu_seconds_total", "counter", "Processor time in seconds.", times.user + times.system)
    with suppress(OSError, ValueError, IndexError):
        yield from _seen_by_linux(proc)


def _seen_by_linux(proc: Path) -> Iterator[MetricFamily]:
    page = os.sysconf("SC_PAGE_SIZE")
    size, resident, *_ = (proc / "self/statm").read_text().split()
    yield _family("virtual_memory_bytes", "gauge", "Virtual memory in bytes.", int(size) * page)
    yield _family("resident_memory_bytes", "gauge", "Resident memory in bytes.", int(resident) * page)
    yield _family("open_fds", "gauge", "Open file descriptors.", len(os.listdir(proc / "self/fd")))
    if most := _most_descriptors(proc):
        yield _family("max_fds", "gauge", "Maximum number of open file descriptors.", most)
    # After the name, which may contain any characters, the start time is the twentieth field, in ticks since the boot.
    fields = (proc / "self/stat").read_text().rpartition(")")[2].split()
    booted = next(line.split()[1] for line in (proc / "stat").read_text().splitlines() if line.startswith("btime"))
    started = int(booted) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    yield _family("start_time_seconds", "gauge", "Start time of the process, in seconds since the epoch.", started)


def _most_descriptors(proc: Path) -> int:
    """Returns the maximum number of open descriptors; 0 if unlimited."""
    lines = (proc / "self/limits").read_text().splitlines()
    limit = next(line.split()[3] for line in lines if line.startswith("Max open files"))
    return int(limit) if limit.isdigit() else 0


def _family(name: str, kind: str, text: str, value: float) -> MetricFamily:
    return MetricFamily(f"process_{name}", kind, text, [({}, value)])
