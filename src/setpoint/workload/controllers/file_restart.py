"""`spec.watch`: restarts or rebuilds workloads when their files change.

Relative directories start at the working directory of the workload. The log and the restart reason name the first
changed file.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import generation
from setpoint.controller.request import Request
from setpoint.workload.filewatch.notifier import Notifier, open_notifier
from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, Root, root_of
from setpoint.workload.filewatch.watcher import Watcher
from setpoint.workload.ignore_patterns import Ignored, by_git
from setpoint.workload.kinds.container import Container
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.parts import FileWatch
from setpoint.workload.restart_reasons import files_changed
from setpoint.workload.runtime import Machine


class Restarts(Protocol):
    """Restarts workloads of a kind."""

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None: ...

    def wake(self, name: str) -> None:
        """Enqueues a reconcile of a workload."""


class WatchCondition(NamedTuple):
    """The condition that reports the file watch of a workload."""

    status: bool
    reason: str
    message: str


class _Watched(NamedTuple):
    uid: str
    spec: FileWatch
    directory: str
    watcher: Watcher | None
    problem: str = ""


class FileWatching:
    """Watches the files of all workloads with `spec.watch`."""

    def __init__(self, machine: Machine, executables: Restarts, containers: Restarts) -> None:
        self._machine = machine
        self._restarts = {"Executable": executables, "Container": containers}
        self._watched: dict[tuple[str, str], _Watched] = {}
        self._notifier: Notifier | OSError | None = None
        self.controllers = [
            Controller(
                f"{kind.__name__.lower()}-files",
                partial(self._reconcile, kind.__name__),
                kind=kind,
                clock=machine.clock,
                ids=machine.ids,
                predicates=(generation,),
            )
            for kind in (Executable, Container)
        ]

    def condition_of(self, kind: str, name: str) -> WatchCondition | None:
        """Returns the state of the file watch of a workload, or None if its files are not watched."""
        found = self._watched.get((kind, name))
        if found is None:
            return None
        if found.watcher is None:
            return WatchCondition(False, "InvalidPattern", found.problem)
        if found.watcher.problem:
            return WatchCondition(True, "Polling", found.watcher.problem)
        return WatchCondition(True, "Watching", f"watching {', '.join(found.spec.paths)}")

    async def watch(
        self, roots: Sequence[Root], ignored: Ignored, debounce: float, changed: Callable[[list[str]], None]
    ) -> Watcher:
        """Returns a started watcher that shares the notifications of all watches."""
        watcher = Watcher(roots, ignored, debounce, changed, self._machine.clock)
        await watcher.start(self._notifications())
        return watcher

    def close(self) -> None:
        """Stops all watches."""
        for kind, name in list(self._watched):
            self._discard(kind, name)
        if self._notifier is not None and not isinstance(self._notifier, OSError):
            self._notifier.close()

    async def _reconcile(self, kind: str, ctx: Context, request: Request) -> None:
        obj: Any = await ctx.object()
        is_on = obj is not None and not obj.spec.stop and not obj.spec.suspend
        spec: FileWatch | None = obj.spec.watch if is_on else None
        if obj is None or spec is None or obj.metadata.deletion_timestamp is not None:
            self._discard(kind, request.name)
            return
        uid, directory = obj.metadata.uid or "", self._directory(obj)
        found = self._watched.get((kind, request.name))
        if found is not None and (found.uid, found.spec, found.directory) == (uid, spec, directory):
            return
        self._discard(kind, request.name)
        try:
            ignored = by_git([*DEFAULT_IGNORED, *spec.ignore], spec.include)
            roots = [root_of(each, directory) for each in spec.paths]
        except ValueError as error:
            problem = f"spec.watch: {error}; correct the pattern"
            self._watched[kind, request.name] = _Watched(uid, spec, directory, None, problem)
        else:
            changed: Callable[[list[str]], None] = partial(self._changed, kind, request.name)
            watcher = Watcher(roots, ignored, spec.debounce.total_seconds(), changed, self._machine.clock)
            self._watched[kind, request.name] = _Watched(uid, spec, directory, watcher)
            await watcher.start(self._notifications())
        self._restarts[kind].wake(request.name)

    def _directory(self, obj: Any) -> str:
        """Returns the base directory of the relative paths of a workload."""
        where = obj.spec.working_directory if isinstance(obj, Executable) else ""
        return os.path.abspath(self._machine.path(where)) if where else str(self._machine.working_directory)

    def _notifications(self) -> Notifier | OSError:
        if self._notifier is None or isinstance(self._notifier, OSError):
            self._notifier = open_notifier()
        return self._notifier

    def _changed(self, kind: str, name: str, files: list[str]) -> None:
        found = self._watched.get((kind, name))
        if found is None:
            return
        why = files_changed(files, found.directory)
        self._machine.logs.note(found.uid, why, kind)
        self._restarts[kind].restart(name, why, rebuild=found.spec.action == "Rebuild")

    def _discard(self, kind: str, name: str) -> None:
        found = self._watched.pop((kind, name), None)
        if found is not None and found.watcher is not None:
            found.watcher.close()
