"""The CPU and memory usage of workloads: of processes with their descendants, and of containers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from setpoint.machine.chosen import system
from setpoint.workload.process.identity import stat

if TYPE_CHECKING:
    from setpoint.workload.engine.engine import Engine


class Usage(NamedTuple):
    """The usage of a group of processes: CPU seconds so far, bytes of memory, and number of processes."""

    cpu: float
    memory: int
    processes: int


def child_processes() -> dict[int, list[int]]:
    """Returns the child processes of each process of this machine. Reads the whole process table."""
    found: dict[int, list[int]] = {}
    for known in map(stat, system.pids()):
        if known is not None:
            found.setdefault(known.parent, []).append(known.pid)
    return found


def usage_of(pid: int, children: Mapping[int, Sequence[int]]) -> Usage | None:
    """Returns the usage of a process and its descendants; None if the process has ended."""
    everyone = [pid]
    for each in everyone:
        everyone += children.get(each, ())
    found = [usage for each in everyone if (usage := system.usage(each)) is not None]
    if not found:
        return None
    return Usage(sum(each.seconds for each in found), sum(each.memory for each in found), len(found))


async def container_usage(engine: "Engine", container: str) -> Usage | None:
    """Returns the usage of a container; None if the container was deleted."""
    from setpoint.workload.engine.errors import EngineError  # short commands about processes need no engine

    try:
        stats = await engine.containers.stats(container)
    except EngineError:
        return None
    return Usage(stats.cpu_nanoseconds / 1e9, stats.memory_bytes, stats.pids)
