"""`spec.fileActions` of Containers: copies changed files into containers, and restarts or rebuilds.

All files of a rule with `initialSync` are copied before the container starts, so that its program sees them from the
beginning; later changes are copied while the container runs. Changes of a stopped container wait for its next start.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import generation
from setpoint.controller.request import Request
from setpoint.workload.controllers.container.engine_failure import error_text
from setpoint.workload.controllers.workload_state import moment
from setpoint.workload.engine.archive import ArchiveError, Owner
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.engine.sync_archive import Copy, owner_of, place_in, sync_parts, text_of
from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, Root, root_of
from setpoint.workload.filewatch.watcher import Watcher
from setpoint.workload.ignore_patterns import Ignored, by_git
from setpoint.workload.kinds.container import Container
from setpoint.workload.kinds.file_action import FileAction, SyncCommand, SyncStatus
from setpoint.workload.restart_reasons import files_changed, files_text
from setpoint.workload.runtime import Machine, SyncReport

_RETRY_SECONDS = 2.0
# The maximum number of paths in one command that removes files.
_MOST_REMOVED = 200
_OUTPUT_BYTES = 4096
_ROOT_USER = "0"

WatchFiles: TypeAlias = Callable[[Sequence[Root], Ignored, float, Callable[[list[str]], None]], Awaitable[Watcher]]


class Restarts(Protocol):
    """Restarts containers."""

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None: ...

    def wake(self, name: str) -> None:
        """Enqueues a reconcile of a container."""


class _Rule(NamedTuple):
    action: FileAction
    where: str
    root: Root
    ignored: Ignored

    @property
    def is_sync(self) -> bool:
        return self.action.action.startswith("Sync")

    def target(self, path: str) -> str:
        """Returns the path in the container of a path on this machine."""
        return place_in(self.action.target, self.root.base, self.root.below(path) or "")

    def concerns(self, path: str) -> bool:
        relative = self.root.below(path)
        if relative is None or (self.root.pattern is not None and not self.root.pattern.fullmatch(relative)):
            return False
        return not relative or not self.ignored(relative)


@dataclass
class _Watched:
    uid: str
    actions: list[FileAction]
    rules: list[_Rule] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    # The changed paths of each rule, in the order of their changes.
    pending: list[dict[str, None]] = field(default_factory=list)
    # The container whose files are up to date, except for the pending changes.
    container: str = ""
    running: str = ""
    problem: tuple[str, str] = ("", "")
    status: SyncStatus = field(default_factory=SyncStatus)
    last: str = ""
    work: "asyncio.Task[None] | None" = None
    syncing: asyncio.Lock = field(default_factory=asyncio.Lock)


class FileActionControl:
    """Performs the file actions of all Containers. `watch` starts a watcher."""

    def __init__(self, machine: Machine, containers: Restarts, watch: WatchFiles) -> None:
        self._machine, self._containers, self._watch = machine, containers, watch
        self._watched: dict[str, _Watched] = {}
        self.controller = Controller(
            "container-file-actions",
            self._reconcile,
            kind=Container,
            clock=machine.clock,
            ids=machine.ids,
            predicates=(generation,),
        )

    def close(self) -> None:
        """Stops all watches."""
        for name in list(self._watched):
            self._discard(name)

    async def _reconcile(self, ctx: Context, request: Request) -> None:
        obj: Container | None = await ctx.object()
        is_on = obj is not None and not obj.spec.stop and obj.metadata.deletion_timestamp is None
        if obj is None or not is_on or not obj.spec.file_actions:
            self._discard(request.name)
            return
        await self._known(request.name, obj.metadata.uid or "", obj.spec.file_actions)
        self._containers.wake(request.name)

    async def _known(self, name: str, uid: str, actions: list[FileAction]) -> _Watched:
        """Returns the watched files of a Container. Starts the watchers if the actions are new or have changed."""
        found = self._watched.get(name)
        if found is not None and (found.uid, found.actions) == (uid, actions):
            async with found.syncing:
                return found
        self._discard(name)
        made = self._watched[name] = _Watched(uid, actions)
        if found is not None and found.uid == uid:
            made.status, made.running = found.status, found.running
        async with made.syncing:
            try:
                made.rules = list(self._rules(actions))
            except ValueError as error:
                made.problem = "InvalidPattern", f"{error}; correct the pattern"
                return made
            made.pending = [{} for _ in made.rules]
            for index, rule in enumerate(made.rules):
                changed = partial(self._changed, name, made, index)
                debounce = rule.action.debounce.total_seconds()
                made.watchers.append(await self._watch([rule.root], rule.ignored, debounce, changed))
        return made

    def _rules(self, actions: Sequence[FileAction]) -> Iterator[_Rule]:
        directory = str(self._machine.working_directory)
        for index, action in enumerate(actions):
            where = f"spec.fileActions[{index}]"
            try:
                ignored = by_git([*DEFAULT_IGNORED, *action.ignore], action.include)
                yield _Rule(action, where, root_of(action.path, directory), ignored)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None

    def _discard(self, name: str) -> None:
        found = self._watched.pop(name, None)
        if found is not None:
            for watcher in found.watchers:
                watcher.close()
            if found.work is not None:
                found.work.cancel()

    # The calls of the controller of containers

    async def before_start(
        self, name: str, uid: str, actions: list[FileAction], engine: Engine, container: str
    ) -> None:
        """Copies the files into a container before its start. Raises ArchiveError or EngineError."""
        known = await self._known(name, uid, actions)
        async with known.syncing:
            await self._update(known, engine, await engine.containers.inspect(container), is_running=False)

    def report(self, name: str, seen: Seen | None) -> SyncReport | None:
        """Takes note of the running container, and returns the condition and counts of its syncs."""
        found = self._watched.get(name)
        if found is None:
            return None
        found.running = seen.id if seen is not None and seen.is_running else ""
        self._begin(name, found)
        if found.problem[0]:
            return SyncReport(False, *found.problem, found.status)
        polling = next((watcher.problem for watcher in found.watchers if watcher.problem), "")
        paths = ", ".join(action.path for action in found.actions)
        counts = f"{found.status.files} files copied, {found.status.removed} removed"
        text = f"{counts}; {polling or found.last or f'watching {paths}'}"
        return SyncReport(True, "Polling" if polling else "Watching", text, found.status)

    # Changes

    def _changed(self, name: str, known: _Watched, index: int, files: list[str]) -> None:
        rule = known.rules[index]
        if not rule.is_sync:
            why = files_changed(files, self._machine.working_directory)
            self._machine.logs.note(known.uid, why, "Container")
            self._containers.restart(name, why, rebuild=rule.action.action == "Rebuild")
            return
        known.pending[index] |= dict.fromkeys(files)
        self._begin(name, known)

    def _begin(self, name: str, known: _Watched) -> None:
        """Starts a sync unless one is under way, or the files are up to date."""
        is_new = bool(known.running) and known.container != known.running
        if not known.running or not (is_new or any(known.pending)):
            return
        if known.work is None or known.work.done():
            known.work = asyncio.ensure_future(self._sync(name, known))

    async def _sync(self, name: str, known: _Watched) -> None:
        """Copies pending changes until none is left. Retries while the engine fails."""
        while known.running and (known.container != known.running or any(known.pending)):
            engine = self._machine.engines.current
            failed = not isinstance(engine, Engine)
            if isinstance(engine, Engine):
                try:
                    async with known.syncing:
                        seen = await engine.containers.inspect(known.running)
                        done = await self._update(known, engine, seen, is_running=True)
                    known.problem = "", ""
                    await self._continue(name, known, engine, done)
                except ArchiveError as error:
                    known.problem = "TooLarge", str(error)
                    known.pending = [{} for _ in known.rules]
                    known.container = known.running
                except EngineError as error:
                    known.problem, failed = ("SyncFailed", error_text(error)), True
                self._containers.wake(name)
            if failed:
                await self._machine.clock.sleep(_RETRY_SECONDS)

    async def _update(self, known: _Watched, engine: Engine, seen: Seen, *, is_running: bool) -> dict[int, list[str]]:
        """Copies the files of a new container, or the pending ones. Removed files are removed only from a running
        container. Returns the changed paths of each rule. Raises ArchiveError or EngineError."""
        done: dict[int, list[str]] = {}
        is_new = known.container != seen.id
        owner = await _owner(engine, seen) if is_new or any(known.pending) else Owner(0, 0)
        for index, rule in enumerate(known.rules):
            if not rule.is_sync:
                continue
            initial = is_new and rule.action.initial_sync
            pending, known.pending[index] = known.pending[index], {}
            paths = [rule.root.base] if initial else list(pending)
            if initial and not is_running:
                # Files that are missing in the source belong to the image.
                pending = {}
            try:
                left = await self._copy(known, engine, seen.id, rule, paths, owner)
                gone = left if not initial else [path for path in pending if not os.path.lexists(path)]
                if is_running:
                    await self._remove(known, engine, seen.id, [rule.target(path) for path in gone])
                else:
                    known.pending[index] = dict.fromkeys(gone) | known.pending[index]
            except BaseException:
                known.pending[index] = pending | known.pending[index]
                raise
            if pending:
                done[index] = list(pending)
        known.container = seen.id
        return done

    async def _copy(
        self, known: _Watched, engine: Engine, container: str, rule: _Rule, paths: list[str], owner: Owner
    ) -> list[str]:
        """Copies files and directories. Returns the paths that do not exist."""
        copies, gone = await asyncio.to_thread(_copies, rule, paths)
        parts = sync_parts(copies, owner, rule.where)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            await engine.containers.put_archive(container, "/", part.data)
            known.status = SyncStatus(
                files=known.status.files + part.files,
                removed=known.status.removed,
                bytes=known.status.bytes + part.size,
                last_sync_time=moment(self._machine.clock.now()),
            )
        return gone

    async def _remove(self, known: _Watched, engine: Engine, container: str, targets: list[str]) -> None:
        targets = [target for target in targets if target.strip("/")]
        for at in range(0, len(targets), _MOST_REMOVED):
            batch = targets[at : at + _MOST_REMOVED]
            command = SyncCommand(command=["rm", "-rf", "--", *batch])
            code, output = await _execute(engine, container, command, _ROOT_USER)
            if code:
                raise EngineError(0, f"cannot remove {batch[0]} in the container: {output or f'exit code {code}'}")
            known.status = SyncStatus(
                files=known.status.files,
                removed=known.status.removed + len(batch),
                bytes=known.status.bytes,
                last_sync_time=moment(self._machine.clock.now()),
            )

    async def _continue(self, name: str, known: _Watched, engine: Engine, done: dict[int, list[str]]) -> None:
        """Notes the sync, and restarts the container or executes the commands of the rules."""
        restart = ""
        for index, files in done.items():
            rule = known.rules[index]
            known.last = f"{files_text(files, self._machine.working_directory)} copied to {rule.action.target}"
            self._machine.logs.note(known.uid, known.last, "Container")
            if rule.action.action == "SyncAndRestart":
                restart = files_changed(files, self._machine.working_directory)
            elif rule.action.exec is not None:
                code, output = await _execute(engine, known.running, rule.action.exec, rule.action.exec.user)
                if code:
                    text = " ".join(rule.action.exec.command)
                    known.problem = "ExecFailed", f"{text} failed after a sync: {output or f'exit code {code}'}"
                    self._machine.logs.note(known.uid, known.problem[1], "Container")
        if restart:
            self._containers.restart(name, restart)


def _copies(rule: _Rule, paths: Sequence[str]) -> tuple[list[Copy], list[str]]:
    """Returns the files to copy of the given files and directories, and the paths that do not exist."""
    copies: dict[str, Copy] = {}
    gone = []
    for path in paths:
        if not os.path.lexists(path):
            gone.append(path)
        elif os.path.isdir(path) and not os.path.islink(path):
            for each in _files(rule, path):
                copies[each] = Copy(each, rule.target(each))
        else:
            copies[path] = Copy(path, rule.target(path))
    return list(copies.values()), gone


def _files(rule: _Rule, top: str) -> Iterator[str]:
    for directory, below, files in os.walk(top):
        if not rule.root.deep:
            below.clear()
        links = [name for name in below if os.path.islink(os.path.join(directory, name))]
        below[:] = [
            name
            for name in sorted(below)
            if not rule.ignored(rule.root.below(os.path.join(directory, name)) or "", is_directory=True)
            and name not in links
        ]
        for name in sorted([*files, *links]):
            path = os.path.join(directory, name)
            if rule.concerns(path):
                yield path


async def _owner(engine: Engine, seen: Seen) -> Owner:
    """Returns the owner of copied files: the user of the container."""
    user = str((seen.raw.get("Config") or {}).get("User") or "")
    if user in ("", "0", "root", "0:0"):
        return Owner(0, 0)
    texts = ["", ""]
    for index, path in enumerate(("/etc/passwd", "/etc/group")):
        with suppress(EngineError):
            texts[index] = text_of(await engine.containers.get_archive(seen.id, path))
    return owner_of(user, *texts)


async def _execute(engine: Engine, container: str, command: SyncCommand, user: str) -> tuple[int, str]:
    """Runs a command to its end. Returns its exit code and the end of its output. Raises EngineError."""
    output = b""
    env = [f"{each.name}={each.value}" for each in command.env]
    async with engine.containers.exec(
        container,
        command.command,
        env=env,
        directory=command.working_directory,
        user=user,
        privileged=command.privileged,
    ) as run:
        async for _, data in run:
            output = (output + data)[-_OUTPUT_BYTES:]
        code = await run.exit_code()
    return code or 0, output.decode("utf-8", "replace").strip()
