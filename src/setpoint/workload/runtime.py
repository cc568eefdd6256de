"""What the controllers of workloads share: the machine they run things on, and where they keep what they know of it.

One control plane has one. Nothing in it is global: two of them run side by side.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object
from setpoint.workload.controllers.executable.runners import Runner, Terminals
from setpoint.workload.controllers.lookup import Find, Lookup
from setpoint.workload.dependencies import Deadlock
from setpoint.workload.engine_lookup import Engines
from setpoint.workload.events import Telling
from setpoint.workload.logs.store import LogStore
from setpoint.workload.process.processes import Processes
from setpoint.workload.proxy.ports import Ports
from setpoint.workload.records import Records


@dataclass
class World:
    """One machine, as the controllers of a control plane see it."""

    clock: Clock
    ids: Ids
    processes: Processes
    records: Records
    ports: Ports
    logs: LogStore
    engines: Engines
    # Where files of this control plane are: logs, sockets, certificates.
    directory: Path
    # What processes inherit, and where paths that are not absolute begin.
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    working_directory: Path = field(default_factory=Path.cwd)
    # What is recorded of persistent things, and of ports, belongs to it.
    workload_id: str = ""
    # Where the output of persistent processes is.
    kept_directory: Path = field(default_factory=Path.cwd)
    # The objects of the cache, for those who are no reconcile.
    find: Find | None = None
    endpoints: Callable[[str], list[Object]] = lambda service: []
    # All workload objects.
    objects: Callable[[], list[Object]] = list
    # Those of them that wait for each other in circles.
    deadlocks: Callable[[], list[Deadlock]] = list
    # What becomes of objects, for people.
    telling: Telling = field(init=False)
    # Who else runs things, where there is somebody.
    ide: Runner | None = None
    terminals: Terminals | None = None
    # How the files of a workload, by its kind and name, are watched: status, reason and message of a condition.
    watched: Callable[[str, str], tuple[bool, str, str] | None] = lambda kind, name: None

    def __post_init__(self) -> None:
        self.telling = Telling(self.logs)

    def path(self, text: str) -> Path:
        """A path that somebody wrote."""
        return self.working_directory / Path(text).expanduser()

    def port_owner(self, *names: str) -> str:
        """What a port is remembered under: apps of which each has a `web` do not get in each other's way."""
        return "/".join((self.workload_id, *names) if self.workload_id else names)

    def lookup(self, ports: Mapping[str, int]) -> Lookup:
        """What templates of an object with these ports are told."""
        assert self.find is not None, "the cache is not there yet"
        return Lookup(self.find, ports)

    def read(self, text: str) -> bytes:
        """A file that somebody named. Raises OSError."""
        return self.path(text).read_bytes()
