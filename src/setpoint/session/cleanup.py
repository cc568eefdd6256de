"""Removes leftovers of ended sessions: processes, stores and logs, and on request kept objects. Makes a plan, executes
the plan, and checks the result.
"""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.ids import SystemIds
from setpoint.session.leftovers import Left, Leftovers
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions
from setpoint.workload.cleanup import CleanUpError, clean_up
from setpoint.workload.engine import labels
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.session import is_dead
from setpoint.workload.records import Records, records_path

# The time limit for a guardian that is still cleaning up.
_PATIENCE_SECONDS = 15.0
_NEW_SECONDS = 60.0
# The prefix of temporary directories of servers.
_PREFIX = "setpoint-"
_VOLUME = "ContainerVolume"
_WORDS = {"Executable": "process", "Container": "container", "ContainerNetwork": "network", _VOLUME: "volume"}


class Directory(NamedTuple):
    """An unused directory and its size in bytes."""

    name: str
    path: str
    size: int


class KeptObject(NamedTuple):
    """An object that was kept beyond the end of its session."""

    kind: str
    name: str
    workload: str


class Plan(NamedTuple):
    """The sessions, directories and objects to remove."""

    crashed: tuple[Session, ...]
    left: Left
    directories: tuple[Directory, ...]
    kept: tuple[KeptObject, ...] = ()
    # The number of running sessions, which are not touched.
    running: int = 0

    @property
    def kept_counts(self) -> dict[str, int]:
        return dict(Counter(_WORDS[each.kind] for each in self.kept))


class Cleaned(NamedTuple):
    """The result of a cleanup."""

    left: Left
    # The number of removed kept objects, by kind.
    removed: Mapping[str, int]
    # The number of checked resources by kind, and those that are left.
    checked: Mapping[str, int]
    still: Left
    problems: tuple[str, ...] = ()


class Cleaning:
    """The cleanup for one user."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ, self._clock, self._ids = environ, clock, SystemIds()
        self._sessions = Sessions.of(environ)
        self._leftovers = Leftovers(self._sessions, clock, self._ids, environ)

    async def plan(self, here: Path | None, *, kept: bool) -> Plan:
        """Returns the plan for crashed sessions and the app of a directory, or for all ended sessions if `here` is
        None.
        """
        running = self._sessions.alive()
        ended = [*self._sessions.past(), *self._sessions.dead()]
        meant = [session for session in ended if here is None or session.is_at(here)]
        return Plan(
            tuple(self._sessions.dead()),
            await self._leftovers.find(),
            tuple(await asyncio.to_thread(self._directories, meant, here is None)),
            tuple(await self._kept(meant, running, everything=here is None)) if kept else (),
            len(running),
        )

    async def clean(self, plan: Plan) -> Cleaned:
        """Executes the plan."""
        left, problems = Left(), list[str]()
        for session in plan.crashed:
            cleared = await self._leftovers.clear(session, _PATIENCE_SECONDS)
            if cleared is not None:
                left = left.plus(cleared.left)
                problems += cleared.problems
        swept, wrong = await self._leftovers.sweep()
        left, problems = left.plus(swept), [*problems, *wrong]
        for directory in plan.directories:
            if why := await asyncio.to_thread(_remove, Path(directory.path)):
                problems.append(why)
        removed: Counter[str] = Counter()
        if plan.kept:
            removed, wrong_kept = await self._remove_kept(plan)
            problems += wrong_kept
        checked = {"process": await asyncio.to_thread(lambda: len(ProcessTable().stats)), **await self._in_engine()}
        return Cleaned(left, removed, checked, await self._leftovers.find(), tuple(problems))

    def _directories(self, meant: list[Session], everything: bool) -> list[Directory]:
        found = [
            Directory(session.id, session.data, _size(Path(session.data)))
            for session in meant
            if session.data and Path(session.data).is_dir()
        ]
        found += [
            Directory("a killed server", str(path), _size(path))
            for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
            if is_dead(path.name.removeprefix(_PREFIX))
        ]
        if everything:
            known = {each.path for each in found} | {session.data for session in self._sessions.all()}
            # A new directory may belong to a starting session.
            latest = self._clock.now().timestamp() - _NEW_SECONDS
            found += [
                Directory(path.name, str(path), _size(path))
                for path in sorted(self._sessions.directory.glob("*/"))
                if str(path) not in known and path.stat().st_mtime < latest
            ]
        return found

    async def _kept(self, meant: list[Session], running: list[Session], *, everything: bool) -> list[KeptObject]:
        """Returns the kept objects of the given sessions, or of all sessions that are not running. Objects without a
        workload id are included only if no session is running, because their session is unknown.
        """
        path = records_path(self._environ)
        found: list[KeptObject] = []
        if path.exists():
            records = Records(path, identity_of(os.getpid()) or Identity(os.getpid(), 0), self._ids.suffix())
            found += [KeptObject(each.kind, each.name, each.workload) for each in records.all_kept()]
            records.close()
        found += [KeptObject(_VOLUME, name, workload) for name, workload in await self._volumes()]
        ids, living = {session.id for session in meant}, {session.id for session in running}
        return [
            each
            for each in found
            if (each.workload in ids or everything) and each.workload not in living and (each.workload or not living)
        ]

    async def _volumes(self) -> list[tuple[str, str]]:
        """Returns the kept volumes with their workload ids."""
        wanted: dict[str, str | None] = {labels.PERSISTENT: "true", labels.GROUP_VERSION: None}
        async with self._leftovers.engine() as engine:
            if isinstance(engine, Unavailable):
                return []
            try:
                listed = await engine.volumes.list(labels=wanted)
            except EngineError:
                return []
            return [(each.name, each.labels.get(labels.WORKLOAD, "")) for each in listed]

    async def _remove_kept(self, plan: Plan) -> tuple[Counter[str], list[str]]:
        removed: Counter[str] = Counter()
        problems = []
        recorded = {each.workload for each in plan.kept if each.kind != _VOLUME}
        with tempfile.TemporaryDirectory(prefix="setpoint-clean-") as directory:
            for workload in sorted(recorded):
                try:
                    report = await clean_up(workload, self._environ, self._clock, self._ids, Path(directory))
                except CleanUpError as error:
                    problems.append(str(error))
                    continue
                words = ("container", "process", "network")
                for word, plural in zip(words, ("containers", "executables", "networks"), strict=True):
                    removed[word] += report.stopped[plural]
                problems += [f"{each['kind']} {each['resourceKey']}: {each['error']}" for each in report.failures]
        volumes = [each.name for each in plan.kept if each.kind == _VOLUME]
        if not volumes:
            return removed, problems
        async with self._leftovers.engine() as engine:
            if isinstance(engine, Unavailable):
                return removed, [*problems, engine.message]
            for name in volumes:
                try:
                    await engine.volumes.remove(name)
                    removed["volume"] += 1
                except EngineError as error:
                    problems.append(f"volume {name}: {error.message}")
        return removed, problems

    async def _in_engine(self) -> dict[str, int]:
        """Returns the number of resources of Setpoint in the container engine."""
        ours: dict[str, str | None] = {labels.SESSION: None}
        async with self._leftovers.engine() as engine:
            if isinstance(engine, Unavailable):
                return {}
            try:
                return {
                    "container": len(await engine.containers.list(labels=ours)),
                    "network": len(await engine.networks.list(labels=ours)),
                    "volume": len(await engine.volumes.list(labels=ours)),
                }
            except EngineError:
                return {}


def _size(directory: Path) -> int:
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue  # deleted in the meantime
    return total


def _remove(directory: Path) -> str:
    """Removes a directory unless a session is using the directory. Returns the error, or an empty string."""
    with Places(directory).try_lock() as free:
        if not free:
            return f"{directory}: in use by a new session"
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
    return ""
