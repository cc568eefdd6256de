"""Processes of a tool, and their processor time and memory, read from /proc."""

import os
from contextlib import suppress
from pathlib import Path

from setpoint.workload.process.process_table import ProcessTable

# A variable in the environment of the tool and of all processes that it starts.
MARK = "BENCH_WORKLOADS"
_TICKS = os.sysconf("SC_CLK_TCK")
# Arguments that only services have: the program of the measured apps, and the seconds that an idle process sleeps.
IDLE_SECONDS = "86417"
_SERVICES = (b"service.py", IDLE_SECONDS.encode())


def own_processes(mark: str) -> list[int]:
    """Returns the processes of a tool: all with its mark and their descendants, without the services."""
    marked = [pid for pid in _pids() if f"{MARK}={mark}".encode() in _read(pid, "environ").split(b"\0")]
    found = {*marked, *ProcessTable().descendants(marked)}
    return sorted(pid for pid in found if (line := _read(pid, "cmdline")) and not _is_service(line))


def services(mark: str) -> list[int]:
    """Returns the processes of the services with a mark."""
    return [
        pid
        for pid in _pids()
        if _is_service(_read(pid, "cmdline")) and f"{MARK}={mark}".encode() in _read(pid, "environ").split(b"\0")
    ]


def seconds(pids: list[int]) -> float:
    """Returns the processor time of running processes in seconds, with a precision of nanoseconds."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(task.read_text().split()[0])
    return total / 1e9


def seconds_of_children(pids: list[int]) -> float:
    """Returns the processor time of ended children of processes in seconds, with a precision of a clock tick."""
    total = 0
    for pid in pids:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        total += sum(map(int, fields[13:15]))
    return total / _TICKS


def mebibytes(pids: list[int]) -> float:
    """Returns the memory of processes; of shared memory, only their part."""
    total = 0.0
    for pid in pids:
        for line in _read(pid, "smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total += float(line.split()[1]) / 1024
    return total


def _is_service(command_line: bytes) -> bool:
    return any(word in command_line for word in _SERVICES)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # the process has ended
