"""The state that the workload controllers share: the machine, and the stores of logs, ports and records.

Each control plane has its own instance. There is no global state: several control planes can run in one process.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object
from setpoint.workload.controllers.executable.runners import Runner, Terminals
from setpoint.workload.controllers.lookup import Find, Lookup, Trees
from setpoint.workload.dependencies import Deadlock
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.engine_lookup import Engines
from setpoint.workload.environment import Tolerate
from setpoint.workload.events import StateReporter
from setpoint.workload.exporters import Exporters
from setpoint.workload.kinds.file_action import FileAction, SyncStatus
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.note_line import ERROR
from setpoint.workload.process.processes import Processes
from setpoint.workload.proxy.ports import Ports
from setpoint.workload.records import Records


class SyncReport(NamedTuple):
    """The condition that reports the file actions of a Container, and the counts of its syncs."""

    status: bool
    reason: str
    message: str
    counts: SyncStatus


class FileSyncs(Protocol):
    """Copies files into containers."""

    async def before_start(
        self, name: str, uid: str, actions: list[FileAction], engine: Engine, container: str
    ) -> None:
        """Copies the files into a container before its start. Raises ArchiveError or EngineError."""

    def report(self, name: str, seen: Seen | None) -> SyncReport | None:
        """Takes note of the state of the container, and returns the report of its syncs, if there are any."""


@dataclass
class Machine:
    """One machine, as the controllers of a control plane see it."""

    clock: Clock
    ids: Ids
    processes: Processes
    records: Records
    ports: Ports
    logs: LogStore
    engines: Engines
    # The directory for files of this control plane: logs, sockets, certificates.
    directory: Path
    # The inherited environment, and the base of relative paths.
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    working_directory: Path = field(default_factory=Path.cwd)
    # The workload id of recorded workloads and ports.
    workload_id: str = ""
    # The directory for the output of persistent processes.
    kept_directory: Path = field(default_factory=Path.cwd)
    # The objects of the cache, for code outside of a reconcile.
    find: Find | None = None
    # Those that were looked up, as trees.
    trees: Trees = field(default_factory=dict)
    endpoints: Callable[[str], list[Object]] = lambda service: []
    # All workload objects.
    objects: Callable[[], list[Object]] = list
    # The dependency cycles among them.
    deadlocks: Callable[[], list[Deadlock]] = list
    # True if DCP's behaviour is used wherever Setpoint's differs: connections to a Service without a running workload
    # wait, invalid templates are passed on as text, and lines of the system log have DCP's format.
    as_dcp: bool = False
    # Reports state changes as log lines and events.
    reporter: StateReporter = field(init=False)
    # The runners for IDEs and terminals, if available.
    ide: Runner | None = None
    terminals: Terminals | None = None
    # The file watch of a workload, by kind and name: status, reason and message of a condition.
    watched: Callable[[str, str], tuple[bool, str, str] | None] = lambda kind, name: None
    # The copies of files into containers.
    syncs: FileSyncs | None = None
    # The receiver of telemetry; None if there is none.
    exporters: Exporters | None = None

    def __post_init__(self) -> None:
        self.reporter = StateReporter(self.logs)

    def path(self, text: str) -> Path:
        """Returns a path of a spec, relative to the working directory and with `~` expanded."""
        return self.working_directory / Path(text).expanduser()

    def port_owner(self, *names: str) -> str:
        """Returns the owner of a port in the records; the workload id separates Services of the same name in different
        apps."""
        return "/".join((self.workload_id, *names) if self.workload_id else names)

    def lookup(self, ports: Mapping[str, int] | None = None, find: Find | None = None) -> Lookup:
        """Returns the lookup for templates of an object with these ports. Objects found with `ctx.lookup` of a
        reconcile as `find` trigger another reconcile when they change."""
        used = find or self.find
        assert used is not None, "the cache is not available yet"
        return Lookup(used, self.trees, ports)

    def tolerated(self, kind: str, uid: str) -> Tolerate | None:
        """Returns the function for values of an object that are invalid, but do not prevent its start, as in DCP: the
        function writes the reason to the log `system`. Returns None if invalid values prevent the start."""
        return (lambda problem: self.logs.note(uid, problem, kind, ERROR)) if self.as_dcp else None

    def read(self, text: str) -> bytes:
        """Returns the contents of a file of a spec. Raises OSError."""
        return self.path(text).read_bytes()
