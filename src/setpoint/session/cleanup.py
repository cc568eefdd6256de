"""Clears away what sessions that have ended left: what still runs of them, their stores and logs, and what was kept on
purpose when that is asked for. First a plan, then the work, then a look whether it is done."""

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
from setpoint.workload.process.process_table import Table
from setpoint.workload.process.session import is_dead
from setpoint.workload.records import Records, records_path

# How long a guardian may take that is still at it.
_PATIENCE_SECONDS = 15.0
_NEW_SECONDS = 60.0
# Of the directories that servers without one of their own have.
_PREFIX = "setpoint-"
_VOLUME = "ContainerVolume"
_WORDS = {"Executable": "process", "Container": "container", "ContainerNetwork": "network", _VOLUME: "volume"}


class Directory(NamedTuple):
    """A directory that nobody needs any more, and how many bytes are in it."""

    name: str
    path: str
    size: int


class KeptThing(NamedTuple):
    """Something that was to outlive its session."""

    kind: str
    name: str
    workload: str


class Plan(NamedTuple):
    """What is to go."""

    crashed: tuple[Session, ...]
    left: Left
    directories: tuple[Directory, ...]
    kept: tuple[KeptThing, ...] = ()
    # How many sessions run, and are not touched.
    running: int = 0

    @property
    def kept_counts(self) -> dict[str, int]:
        return dict(Counter(_WORDS[each.kind] for each in self.kept))


class Cleaned(NamedTuple):
    """What went."""

    left: Left
    # What was kept on purpose and is gone, how many of each.
    removed: Mapping[str, int]
    # What was looked at afterwards, and what was found to be left.
    checked: Mapping[str, int]
    still: Left
    problems: tuple[str, ...] = ()


class Cleaning:
    """Clears away for one user."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ, self._clock, self._ids = environ, clock, SystemIds()
        self._sessions = Sessions.of(environ)
        self._leftovers = Leftovers(self._sessions, clock, self._ids, environ)

    async def plan(self, here: Path | None, *, kept: bool) -> Plan:
        """What can go: of the app of a directory, and whatever ended unexpectedly; of all, without one."""
        running = self._sessions.alive()
        ended = [*self._sessions.past(), *self._sessions.dead()]
        meant = [session for session in ended if here is None or session.is_at(here)]
        return Plan(
            tuple(self._sessions.dead()),
            await self._leftovers.look(),
            tuple(await asyncio.to_thread(self._directories, meant, here is None)),
            tuple(await self._kept(meant, running, everything=here is None)) if kept else (),
            len(running),
        )

    async def clean(self, plan: Plan) -> Cleaned:
        """Does it."""
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
        checked = {"process": await asyncio.to_thread(lambda: len(Table().stats)), **await self._in_engine()}
        return Cleaned(left, removed, checked, await self._leftovers.look(), tuple(problems))

    def _directories(self, meant: list[Session], everything: bool) -> list[Directory]:
        found = [
            Directory(session.id, session.data, _size(Path(session.data)))
            for session in meant
            if session.data and Path(session.data).is_dir()
        ]
        found += [
            Directory("a server that was killed", str(path), _size(path))
            for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
            if is_dead(path.name.removeprefix(_PREFIX))
        ]
        if everything:
            known = {each.path for each in found} | {session.data for session in self._sessions.all()}
            # One that is new may be of a session that is about to begin.
            latest = self._clock.now().timestamp() - _NEW_SECONDS
            found += [
                Directory(path.name, str(path), _size(path))
                for path in sorted(self._sessions.directory.glob("*/"))
                if str(path) not in known and path.stat().st_mtime < latest
            ]
        return found

    async def _kept(self, meant: list[Session], running: list[Session], *, everything: bool) -> list[KeptThing]:
        """What is kept of some sessions, or of all that do not run. Whose it is that bears no name can only be known
        when none runs."""
        path = records_path(self._environ)
        found: list[KeptThing] = []
        if path.exists():
            records = Records(path, identity_of(os.getpid()) or Identity(os.getpid(), 0), self._ids.suffix())
            found += [KeptThing(each.kind, each.name, each.workload) for each in records.all_kept()]
            records.close()
        found += [KeptThing(_VOLUME, name, workload) for name, workload in await self._volumes()]
        ids, living = {session.id for session in meant}, {session.id for session in running}
        return [
            each
            for each in found
            if (each.workload in ids or everything) and each.workload not in living and (each.workload or not living)
        ]

    async def _volumes(self) -> list[tuple[str, str]]:
        """The volumes that are kept, and of which workload each is."""
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
        """How many things of ours an engine has, if there is one."""
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
                continue  # it went meanwhile
    return total


def _remove(directory: Path) -> str:
    """Removes a directory, unless a session has begun in it since; why not."""
    with Places(directory).held() as free:
        if not free:
            return f"{directory}: a session has begun in it"
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
    return ""
