"""The processes of one control plane: start, adopt and stop, with none left behind.

The work is done by a guardian (see `guardian.py`), which is started with the first process; kept processes have a
separate guardian, which does not stop them. A guardian that dies is replaced, and its successor is told of all
processes; only the exit codes of running processes are lost.
"""

import asyncio
import marshal
import os
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from setpoint.machine.chosen import system
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.workload.process import session as sessions
from setpoint.workload.process.command import (
    STOP_GRACE,
    STOP_SIGNAL,
    Command,
    Exit,
    StartError,
    program_of,
    start_error,
)
from setpoint.workload.process.guardian import Message, Removal
from setpoint.workload.process.identity import Identity, identity_of, is_alive
from setpoint.workload.process.link import Link
from setpoint.workload.process.pipes import Drain, Sink, Stdin, output_pipe
from setpoint.workload.process.process_table import COOKIE, ProcessTable
from setpoint.workload.process.ties import Tie


class Stopped(NamedTuple):
    """The result of stopping a tree: the number of signalled processes, the killed ones, and those still running
    (blocked in the kernel, or of another user); as `pid name`."""

    signalled: int
    killed: tuple[str, ...]
    left: tuple[str, ...]


class Running:
    """A started or adopted process. `exited` is set when the process has ended and its output is in its sinks."""

    def __init__(self, number: int, identity: Identity, command: Command | None) -> None:
        self.number, self.identity = number, identity
        self.cookie = command.cookie if command is not None else ""
        self.stop_signal = command.stop_signal if command is not None else STOP_SIGNAL
        self.grace = command.grace if command is not None else STOP_GRACE
        self.kept = command is None or command.keep
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.stdin: Stdin | None = None
        self.drains: list[Drain] = []

    async def wait(self) -> Exit:
        return await asyncio.shield(self.exited)

    async def drained(self) -> None:
        """Returns when all writers of the output have closed the output, including children left behind."""
        for drain in self.drains:
            await asyncio.shield(drain.ended)


class _Start:
    """A start in progress: the resources of the process until the start succeeds or fails."""

    def __init__(self, command: Command, program: str, reply: "asyncio.Future[Running]") -> None:
        self.command, self.program, self.reply = command, program, reply
        self.outputs: list[tuple[int, Sink]] = []
        self.stdin: int | None = None

    def close(self) -> None:
        for descriptor, sink in self.outputs:
            os.close(descriptor)
            sink.close()
        if self.stdin is not None:
            os.close(self.stdin)


class Processes:
    """The processes of one control plane."""

    def __init__(self, clock: Clock, ids: Ids, environ: Mapping[str, str] = os.environ) -> None:
        self._clock = clock
        owner = identity_of(os.getpid()) or Identity(os.getpid(), 0)
        self.session = sessions.new_session(owner, ids)
        # A control plane that is a process of another one passes its cookie on.
        self._inherited = environ.get(COOKIE, "").split()
        self._numbers = count(1)
        self._links: dict[bool, Link] = {}
        self._starts: dict[int, _Start] = {}
        self._running: dict[int, Running] = {}
        # Including those of ended processes: a child may still have their output open.
        self._drains: set[Drain] = set()
        self._stops: dict[int, tuple[bool, Message, asyncio.Future[Stopped]]] = {}
        self._removals: dict[str, Removal] = {}
        self._ties: list[Tie] = []
        self._closing = False

    def cookie(self, uid: str, *, keep: bool = False) -> str:
        """Returns the cookie that marks the processes of one object."""
        return sessions.cookie(self.session, uid, keep=keep)

    async def start(self, command: Command, stdout: Sink | Path, stderr: Sink | Path) -> Running:
        """Starts a process. Raises StartError. Output is written to a sink, or appended to a file; a kept process can
        only write to files, because it outlives this control plane."""
        if self._closing:
            raise StartError(
                "Stopping", "the control plane is stopping", "start it again when a new control plane runs"
            )
        if command.keep and not (isinstance(stdout, Path) and isinstance(stderr, Path)):
            raise ValueError("a kept process must write its output to files")
        start = _Start(command, program_of(command), asyncio.get_running_loop().create_future())
        number = next(self._numbers)
        message = {
            "do": "start",
            "id": number,
            "cookie": command.cookie,
            "signal": command.stop_signal,
            "grace": command.grace,
        }
        descriptors = [self._payload(start)]
        try:
            if command.terminal is None:
                descriptors.append(self._input(start))
                descriptors += [self._output(start, to) for to in (stdout, stderr)]
            link = self._link(command.keep)
        except BaseException:
            start.close()
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        self._starts[number] = start
        link.send(message, descriptors)
        try:
            return await asyncio.shield(start.reply)
        except asyncio.CancelledError:
            start.reply.add_done_callback(self._stop_unwanted)
            raise

    async def adopt(self, identity: Identity) -> Running | None:
        """Monitors a process that an earlier control plane started; its exit code stays unknown. Returns None if the
        process has ended."""
        if not is_alive(identity):
            return None
        running = Running(next(self._numbers), identity, None)
        self._running[running.number] = running
        self._send_tracked(self._link(kept=True), running)
        return running

    async def stop(
        self,
        process: Running | Identity,
        *,
        signal: int | None = None,
        grace: float | None = None,
        cookie: str | None = None,
    ) -> Stopped:
        """Stops the whole tree of a process, even if the process itself has ended (see `termination.py`). Signal and
        grace period default to those of its command."""
        running = process if isinstance(process, Running) else None
        identity = running.identity if running is not None else process
        assert isinstance(identity, Identity)
        if signal is None:
            signal = running.stop_signal if running is not None else STOP_SIGNAL
        if grace is None:
            grace = running.grace if running is not None else STOP_GRACE
        if cookie is None:
            cookie = running.cookie if running is not None else ""
        stopped = await self._stop(identity, cookie, signal, grace, kept=running is None or running.kept)
        if running is not None and not stopped.left:
            await running.wait()
        return stopped

    async def stop_marked(self, cookie: str, *, signal: int | None = None, grace: float | None = None) -> Stopped:
        """Stops all processes with a cookie."""
        signal, grace = STOP_SIGNAL if signal is None else signal, STOP_GRACE if grace is None else grace
        return await self._stop(None, cookie, signal, grace, kept=True)

    async def sweep(self, grace: float = STOP_GRACE) -> dict[str, Stopped]:
        """Stops the processes of sessions whose control plane and guardian were both killed. Returns the results by
        session. Kept processes, and those of a living guardian, are not stopped."""
        table = await asyncio.to_thread(ProcessTable)
        cookies = await asyncio.to_thread(table.cookies)
        dead = {name for name, _, _ in (carried.partition("/") for carried in cookies) if sessions.is_dead(name)}
        left = sorted(name for name in dead if f"{name}/{sessions.GUARDIAN}" not in cookies)
        stops = [self._stop(None, f"{name}/", STOP_SIGNAL, grace, kept=False) for name in left]
        return dict(zip(left, await asyncio.gather(*stops), strict=True))

    def guard(self, key: str, removal: Removal) -> None:
        """Registers containers and networks that the guardian removes if this control plane dies; replaces an earlier
        registration with this key."""
        self._removals[key] = removal
        self._send_removal(self._link(kept=False), key)

    def unguard(self, key: str) -> None:
        if self._removals.pop(key, None) is not None:
            self._link(kept=False).send({"do": "forget", "key": key})

    def tie(self, tie: Tie) -> None:
        """Registers a kept workload that is stopped with a process, even after this control plane has ended."""
        others = [
            each for each in self._ties if each.is_there and (not each.container or each.container != tie.container)
        ]
        self._ties = [*others, tie]
        self._send_ties(self._link(kept=True))

    async def close(self) -> None:
        """Stops all processes except the kept ones, and waits for their end."""
        self._closing = True
        await asyncio.gather(*(link.close() for link in self._links.values()))
        self._links.clear()
        for running in list(self._running.values()):
            if running.stdin is not None:
                running.stdin.close()
        self._running.clear()
        for drain in list(self._drains):
            drain.catch_up()
            drain.close()

    # Resources of a process

    def _payload(self, start: _Start) -> int:
        command = start.command
        own = [command.cookie] if command.keep else [*self._inherited, command.cookie]
        environment = command.env if command.exact_env else {**command.env, COOKIE: " ".join(own)}
        data = marshal.dumps(
            (
                os.fsencode(start.program),
                [os.fsencode(command.path), *map(os.fsencode, command.args)],
                {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
                os.fsencode(command.directory),
                os.fsencode(command.terminal.device) if command.terminal is not None else b"",
            )
        )
        descriptor = system.memory_file()
        os.pwrite(descriptor, data, 0)
        return descriptor

    def _input(self, start: _Start) -> int:
        if not start.command.stdin:
            return os.open(os.devnull, os.O_RDONLY)
        reading, start.stdin = os.pipe()
        return reading

    def _output(self, start: _Start, to: Sink | Path) -> int:
        if isinstance(to, Path):
            return os.open(to, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        reading, writing = output_pipe()
        start.outputs.append((reading, to))
        return writing

    # Messages to the guardian

    def _link(self, kept: bool) -> Link:
        if kept not in self._links:
            name = sessions.KEPT if kept else self.session
            own = f"{name}/{sessions.GUARDIAN}"
            carried = [f"{own}-{self.session}"] if kept else [*self._inherited, own]
            self._links[kept] = Link(
                self.session,
                {COOKIE: " ".join(carried)},
                kept=kept,
                on_message=self._on_message,
                on_lost=self._on_link_lost,
            )
        return self._links[kept]

    def _send_tracked(self, link: Link, running: Running) -> None:
        link.send(
            {
                "do": "watch",
                "id": running.number,
                "pid": running.identity.pid,
                "started": running.identity.started,
                "cookie": running.cookie,
                "signal": running.stop_signal,
                "grace": running.grace,
            }
        )

    def _send_removal(self, link: Link, key: str) -> None:
        link.send({"do": "remove", "key": key, "removal": tuple(self._removals[key])})

    def _send_ties(self, link: Link) -> None:
        link.send({"do": "tie", "ties": [each.plain() for each in self._ties]})

    def _stop(
        self, root: Identity | None, cookie: str, signal: int, grace: float, *, kept: bool
    ) -> "asyncio.Future[Stopped]":
        number = next(self._numbers)
        message: Message = {
            "do": "stop",
            "id": number,
            "pid": root.pid if root is not None else 0,
            "started": root.started if root is not None else 0,
            "cookie": cookie,
            "signal": int(signal),
            "grace": float(grace),
        }
        reply: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()
        self._stops[number] = (kept, message, reply)
        self._link(kept).send(message)
        return reply

    def _stop_unwanted(self, reply: "asyncio.Future[Running]") -> None:
        """Stops a process whose starter was cancelled."""
        if not reply.cancelled() and reply.exception() is None and not self._closing:
            running = reply.result()
            self._stop(running.identity, running.cookie, running.stop_signal, running.grace, kept=running.kept)

    # Messages of the guardian

    def _on_message(self, message: Message) -> None:
        number = message["id"]
        match message["event"]:
            case "started":
                self._started(number, Identity(message["pid"], message["started"]))
            case "failed":
                start = self._starts.pop(number)
                self._fail(start, start_error(start.command, start.program, message["errno"], message["where"]))
            case "exited":
                self._exited(number, message["status"])
            case "stopped" if number in self._stops:
                _, _, reply = self._stops.pop(number)
                if not reply.done():
                    killed, left = (tuple(f"{pid} {name}" for pid, name in message[key]) for key in ("killed", "left"))
                    reply.set_result(Stopped(message["asked"], killed, left))

    def _started(self, number: int, identity: Identity) -> None:
        start = self._starts.pop(number)
        running = Running(number, identity, start.command)
        for descriptor, sink in start.outputs:
            drain = Drain(descriptor, sink, ended=self._drains.discard)
            running.drains.append(drain)
            self._drains.add(drain)
        running.stdin = Stdin(start.stdin) if start.stdin is not None else None
        self._running[number] = running
        if running.kept:
            self._link(kept=True).send({"do": "keep", "id": number})
        start.reply.set_result(running)

    def _fail(self, start: _Start, error: StartError) -> None:
        start.close()
        start.reply.set_exception(error)
        start.reply.exception()  # the waiter may have been cancelled

    def _exited(self, number: int, status: int | None) -> None:
        running = self._running.pop(number, None)
        if running is None:
            return
        for drain in running.drains:
            drain.catch_up()
        if running.stdin is not None:
            running.stdin.close()
        code = os.waitstatus_to_exitcode(status) if status is not None else None
        if not running.exited.done():
            at = self._clock.now()
            running.exited.set_result(Exit(code, None, at) if code is None or code >= 0 else Exit(None, -code, at))

    def _on_link_lost(self, link: Link) -> None:
        """Replaces a guardian that has ended, unless the guardian never became ready."""
        if self._links.get(link.kept) is link:
            del self._links[link.kept]
        interrupted = [number for number, start in self._starts.items() if start.command.keep == link.kept]
        if self._closing or not link.was_ready:
            self._abandon(link.kept, interrupted)
            return
        successor = self._link(link.kept)
        for running in self._running.values():
            if running.kept == link.kept:
                self._send_tracked(successor, running)
        for kept, message, _ in self._stops.values():
            if kept == link.kept:
                successor.send(message)
        if not link.kept:
            for key in self._removals:
                self._send_removal(successor, key)
        else:
            self._send_ties(successor)
        for number in interrupted:
            start = self._starts.pop(number)
            # The guardian may have started the process: no process of the attempt may be left.
            self._stop(None, start.command.cookie, STOP_SIGNAL, 0, kept=link.kept)
            self._fail(start, StartError("Interrupted", "the guardian process was killed", "start it again"))

    def _abandon(self, kept: bool, interrupted: list[int]) -> None:
        error = StartError(
            "GuardianFailed",
            f"the guardian process cannot run ({sys.executable} exited immediately)",
            "check that this Python interpreter can be started, and start it again",
        )
        for number in interrupted:
            self._fail(self._starts.pop(number), error)
        for number in [number for number, stop in self._stops.items() if stop[0] == kept]:
            _, _, reply = self._stops.pop(number)
            if not reply.done():
                reply.set_exception(error)
