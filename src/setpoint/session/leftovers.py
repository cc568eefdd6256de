"""Finds and removes leftovers of crashed sessions: processes, containers, networks, volumes, and the session record.

The guardian of a killed host stops most of them; this module is for cases where the guardian was killed, too, or the
machine crashed. Objects marked to be kept and those of other sessions are never touched. A lock ensures that only one
process cleans up; others skip the cleanup.
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from setpoint.machine.chosen import system
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.times import format_time
from setpoint.session.locks import locked
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions
from setpoint.workload.engine import labels
from setpoint.workload.engine.choice import Unavailable, connect
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine_lookup import NAMESPACE, is_left
from setpoint.workload.process.command import StartError
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.processes import Processes
from setpoint.workload.process.session import GUARDIAN, is_dead
from setpoint.workload.process.termination import program_of

# The time limit for connecting to a container engine.
_ENGINE_SECONDS = 2.0
_LOOK_SECONDS = 0.05
# The time limit for killed processes to exit.
_KILL_SECONDS = 5.0
_LOCK = ".clearing"
_is_only_news = re.compile(r"\d{4}-\d\d-\d\d \S+ (DEBUG|INFO|WARNING) ").match

Connect = Callable[[], Awaitable[Engine | Unavailable]]


class Left(NamedTuple):
    """The leftovers of stopped control planes: processes as `pid program`, engine resources by name."""

    processes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()

    def plus(self, other: "Left") -> "Left":
        return Left._make(mine + theirs for mine, theirs in zip(self, other, strict=True))

    @property
    def counts(self) -> dict[str, int]:
        """The number of leftovers by kind."""
        return dict(zip(("process", "container", "network", "volume"), map(len, self), strict=True))


class Cleared(NamedTuple):
    """The result of cleaning up after a crashed session."""

    session: Session
    ended: datetime | None
    left: Left = Left()
    # The guardian was still stopping workloads at the end of the time limit.
    pending: bool = False
    problems: tuple[str, ...] = ()
    # The last line of the host's log.
    last_error: str = ""


class Leftovers:
    """Finds leftovers of control planes and removes them. `connect` connects to the container engine if needed."""

    def __init__(
        self, sessions: Sessions, clock: Clock, ids: Ids, environ: Mapping[str, str], connect: Connect | None = None
    ) -> None:
        self._sessions, self._clock, self._ids, self._environ = sessions, clock, ids, environ
        self._connect = connect or self._usual

    def _usual(self) -> Awaitable[Engine | Unavailable]:
        return connect(self._clock, self._environ, seconds=_ENGINE_SECONDS)

    async def find(self, session: Session | None = None, *, in_engine: bool = True) -> Left:
        """Returns the leftovers of a session; without one, of all stopped control planes."""
        table = await asyncio.to_thread(_carried)
        found = Left(processes=_processes(table, _names(table, session)))
        if not in_engine:
            return found
        async with self.engine() as engine:
            return found if isinstance(engine, Unavailable) else found.plus(await _in_engine(engine, session))

    async def clear(self, session: Session, timeout: float = 0.0, *, crashed: bool = True) -> Cleared | None:
        """Removes the leftovers and the record of a dead session; its history stays in its directory. Waits up to
        `timeout` seconds for a guardian. Returns None if another process cleans up. A session killed on request is not
        `crashed`.
        """
        if session not in self._sessions.dead():
            return None
        with _alone(self._sessions.directory) as alone:
            # Another process may have been faster.
            if not alone or session not in self._sessions.dead() or _is_hosted(session):
                return None
            ended = last_sign(session)
            if not await self.wait_for_guardian(session, timeout):
                return Cleared(session, ended, pending=True)
            left, problems = await self._remove(session)
            words = last_log_error(session)
            self._sessions.remove(session, ended=format_time(ended) if ended else "", crashed=crashed)
            if session.imported:
                shutil.rmtree(session.data, ignore_errors=True)  # a copy of the archive
            return Cleared(session, ended, left, problems=problems, last_error=words)

    async def sweep(self) -> tuple[Left, tuple[str, ...]]:
        """Removes the leftovers of all stopped control planes. Returns them and the errors. Leftovers that a guardian
        is still cleaning up are skipped.
        """
        return await self._remove(None)

    async def _remove(self, session: Session | None) -> tuple[Left, tuple[str, ...]]:
        table = await asyncio.to_thread(_carried)
        names = [name for name in _names(table, session) if f"{name}/{GUARDIAN}" not in table]
        found, problems = Left(), list[str]()
        if names:
            processes = Processes(self._clock, self._ids, self._environ)
            try:
                stops = await asyncio.gather(*(processes.stop_marked(f"{name}/") for name in names))
            except StartError as error:
                problems.append(f"could not stop processes: {error}")
            else:
                found = Left(processes=_processes(table, names))
                problems += [f"process {each} did not exit" for stop in stops for each in stop.left]
            finally:
                await processes.close()
        async with self.engine() as engine:
            if not isinstance(engine, Unavailable):
                removed, wrong = await _remove_from(engine, await _in_engine(engine, session))
                found, problems = found.plus(removed), [*problems, *wrong]
        return found, tuple(problems)

    async def kill(self, session: Session) -> None:
        """Kills the remaining processes of a session without host. A waiting guardian then finds that they have
        exited.
        """
        deadline = self._clock.monotonic() + _KILL_SECONDS
        while self._clock.monotonic() < deadline:
            table = await asyncio.to_thread(_carried)
            if not sum(map(_kill, _carriers(table, _names(table, session)))):
                return
            await self._clock.sleep(_LOOK_SECONDS)

    async def wait_for_guardian(self, session: Session, timeout: float) -> bool:
        """Waits while a guardian cleans up after a session. Returns True if no guardian is left."""
        deadline = self._clock.monotonic() + timeout
        while True:
            table = await asyncio.to_thread(_carried)
            if not any(f"{name}/{GUARDIAN}" in table for name in _names(table, session)):
                return True
            if self._clock.monotonic() >= deadline:
                return False
            await self._clock.sleep(_LOOK_SECONDS)

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine | Unavailable]:
        """Yields the container engine, or the reason why there is none."""
        engine = await self._connect()
        try:
            yield engine
        finally:
            if not isinstance(engine, Unavailable):
                await engine.close()


def _is_hosted(session: Session) -> bool:
    """Returns True if the host runs in a container that shares our files, where its process is not visible."""
    if not session.data:
        return False
    with Places.of_session(session).try_lock() as free:
        return not free


def last_sign(session: Session) -> datetime | None:
    """Returns the time at which an ended session last wrote a file."""
    if not session.data:
        return None
    try:
        times = [entry.stat().st_mtime for entry in os.scandir(session.data) if entry.is_file()]
    except OSError:
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None


def last_log_error(session: Session) -> str:
    """Returns the last line of the host's log if that is an error; an empty string otherwise."""
    last = Places.of_session(session).last_line() if session.data else ""
    return "" if _is_only_news(last) else last


def _alone(directory: Path) -> AbstractContextManager[bool]:
    """Takes the cleanup lock; yields False if another process holds the lock."""
    from setpoint.store.files import make_directory  # not needed by commands without dead sessions

    make_directory(directory)
    return locked(directory / _LOCK)


def _carried() -> dict[str, set[int]]:
    """Returns all cookies with the processes that carry them."""
    return ProcessTable().cookies()


def _names(table: Iterable[str], session: Session | None) -> list[str]:
    """Returns the control planes in the cookies that belong to a session, or all stopped ones."""
    found = {cookie.partition("/")[0] for cookie in table}
    return sorted(name for name in found if (_is_of(name, session) if session is not None else is_dead(name)))


def _is_of(name: str, session: Session) -> bool:
    """Returns True if the control plane of this name ran in the process of the session."""
    pid, _, rest = session.process.partition(":")
    started, _, boot = rest.partition(":")
    return name.startswith(f"{pid}-{started}-{boot[:8]}-")


def _carriers(table: Mapping[str, set[int]], names: Iterable[str]) -> list[int]:
    """Returns the processes of control planes, without guardians."""
    wanted = tuple(f"{name}/" for name in names)
    carried = [pids for cookie, pids in table.items() if cookie.startswith(wanted) and not cookie.endswith(GUARDIAN)]
    return sorted({pid for pids in carried for pid in pids})


def _processes(table: Mapping[str, set[int]], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{pid} {program_of(pid)}" for pid in _carriers(table, names))


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False  # already exited, or owned by another user
    return True


async def _in_engine(engine: Engine, session: Session | None) -> Left:
    """Returns the engine resources of a session, or of all stopped control planes."""
    wanted = {labels.SESSION: None, NAMESPACE: system.pid_namespace()}

    def is_wanted(found: Mapping[str, str]) -> bool:
        return is_left(found) and (session is None or _is_of(found.get(labels.SESSION, ""), session))

    try:
        return Left(
            containers=tuple(
                each.name for each in await engine.containers.list(labels=wanted) if is_wanted(each.labels)
            ),
            networks=tuple(each.name for each in await engine.networks.list(labels=wanted) if is_wanted(each.labels)),
            volumes=tuple(each.name for each in await engine.volumes.list(labels=wanted) if is_wanted(each.labels)),
        )
    except EngineError:
        return Left()  # the next control plane that uses the engine checks again


async def _remove_from(engine: Engine, left: Left) -> tuple[Left, list[str]]:
    """Removes leftovers from the engine. Returns the removed ones and the errors."""
    removed: dict[str, tuple[str, ...]] = {}
    problems = []
    for field, remove in (
        ("containers", engine.containers.remove),
        ("networks", engine.networks.remove),
        ("volumes", engine.volumes.remove),
    ):
        gone = []
        for name in getattr(left, field):
            try:
                await remove(name)
            except EngineError as error:
                problems.append(f"could not remove {field[:-1]} {name}: {error.message}")
            else:
                gone.append(name)
        removed[field] = tuple(gone)
    return Left((), **removed), problems
