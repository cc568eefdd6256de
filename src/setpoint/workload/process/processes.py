"""The processes of one control plane: start, adopt, stop, and leave nothing behind.

Everything is done by a guardian (see `guardian.py`), which is started with the first process; those to be kept have one
of their own, which stops nothing. A guardian that dies is replaced and told again of everybody; all that is lost then
is the exit code of those who ran.
"""

import asyncio
import marshal
import os
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

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
from setpoint.workload.process.process_table import COOKIE, Table
from setpoint.workload.process.ties import Tie


class Stopped(NamedTuple):
    """What stopping a tree took: how many processes were asked to end, which had to be killed, and which are still
    there (the kernel holds them, or they belong to somebody else); these as `pid name`."""

    asked: int
    killed: tuple[str, ...]
    left: tuple[str, ...]


class Running:
    """A process that was started or adopted. `exited` is set when it has ended and all it wrote is in its sinks."""

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
        """Returns when nobody can write to the output any more, children that the process left behind included."""
        for drain in self.drains:
            await asyncio.shield(drain.ended)


class _Start:
    """A start that is under way: what the process will need of us, until it runs or fails."""

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
    """One a control plane."""

    def __init__(self, clock: Clock, ids: Ids, environ: Mapping[str, str] = os.environ) -> None:
        self._clock = clock
        owner = identity_of(os.getpid()) or Identity(os.getpid(), 0)
        self.session = sessions.new_session(owner, ids)
        # A control plane that is itself a process of another one passes its cookie on.
        self._inherited = environ.get(COOKIE, "").split()
        self._numbers = count(1)
        self._links: dict[bool, Link] = {}
        self._starts: dict[int, _Start] = {}
        self._running: dict[int, Running] = {}
        # Of those who have ended too: a child that they left behind may have their output open.
        self._drains: set[Drain] = set()
        self._stops: dict[int, tuple[bool, Message, asyncio.Future[Stopped]]] = {}
        self._removals: dict[str, Removal] = {}
        self._ties: list[Tie] = []
        self._closing = False

    def cookie(self, uid: str, *, keep: bool = False) -> str:
        """What marks the processes of one object."""
        return sessions.cookie(self.session, uid, keep=keep)

    async def start(self, command: Command, stdout: Sink | Path, stderr: Sink | Path) -> Running:
        """Starts a process, or raises a StartError. Output goes to a sink, or straight into a file, to whose end it is
        added; what is kept can only write to files, for it must be able to when we are gone."""
        if sys.platform != "linux":
            raise StartError("Unsupported", "processes can be run on Linux only", "run the control plane on Linux")
        if self._closing:
            raise StartError("Stopping", "the control plane is stopping", "start it again when a new one runs")
        if command.keep and not (isinstance(stdout, Path) and isinstance(stderr, Path)):
            raise ValueError("the output of a kept process goes to files")
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
        """Watches a process that an earlier control plane started; its exit code stays unknown. None if it is gone."""
        if not is_alive(identity):
            return None
        running = Running(next(self._numbers), identity, None)
        self._running[running.number] = running
        self._tell(self._link(kept=True), running)
        return running

    async def stop(
        self,
        what: Running | Identity,
        *,
        signal: int | None = None,
        grace: float | None = None,
        cookie: str | None = None,
    ) -> Stopped:
        """Stops the whole tree of a process, which may have ended itself: see `stopping.py` for what belongs to it.
        Unless told otherwise, in the way its command says."""
        running = what if isinstance(what, Running) else None
        identity = running.identity if running is not None else what
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
        """Stops every process that carries a cookie."""
        signal, grace = STOP_SIGNAL if signal is None else signal, STOP_GRACE if grace is None else grace
        return await self._stop(None, cookie, signal, grace, kept=True)

    async def sweep(self, grace: float = STOP_GRACE) -> dict[str, Stopped]:
        """Stops what sessions have left behind whose control plane and guardian were killed both; by session. What is
        kept, and what a guardian still takes care of, stays."""
        table = await asyncio.to_thread(Table)
        cookies = await asyncio.to_thread(table.cookies)
        dead = {name for name, _, _ in (carried.partition("/") for carried in cookies) if sessions.is_dead(name)}
        left = sorted(name for name in dead if f"{name}/{sessions.GUARDIAN}" not in cookies)
        stops = [self._stop(None, f"{name}/", STOP_SIGNAL, grace, kept=False) for name in left]
        return dict(zip(left, await asyncio.gather(*stops), strict=True))

    def guard(self, key: str, removal: Removal) -> None:
        """Has the guardian remove containers and networks should we not come to it; called again, this instead."""
        self._removals[key] = removal
        self._tell_removal(self._link(kept=False), key)

    def unguard(self, key: str) -> None:
        if self._removals.pop(key, None) is not None:
            self._link(kept=False).send({"do": "forget", "key": key})

    def tie(self, tie: Tie) -> None:
        """Has something that is kept stop with a process, should that end when we are gone."""
        others = [
            each for each in self._ties if each.is_there and (not each.container or each.container != tie.container)
        ]
        self._ties = [*others, tie]
        self._tell_ties(self._link(kept=True))

    async def close(self) -> None:
        """Stops everything but what is kept, and returns when all of it is gone."""
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

    # What a process is given

    def _payload(self, start: _Start) -> int:
        command = start.command
        own = [command.cookie] if command.keep else [*self._inherited, command.cookie]
        environment = {**command.env, COOKIE: " ".join(own)}
        data = marshal.dumps(
            (
                os.fsencode(start.program),
                [os.fsencode(command.path), *map(os.fsencode, command.args)],
                {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
                os.fsencode(command.directory),
                os.fsencode(command.terminal.device) if command.terminal is not None else b"",
            )
        )
        descriptor = os.memfd_create("setpoint-start")
        os.pwrite(descriptor, data, 0)
        return descriptor

    def _input(self, start: _Start) -> int:
        if not start.command.stdin:
            return os.open(os.devnull, os.O_RDONLY)
        reading, start.stdin = os.pipe2(os.O_CLOEXEC)
        return reading

    def _output(self, start: _Start, to: Sink | Path) -> int:
        if isinstance(to, Path):
            return os.open(to, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        reading, writing = output_pipe()
        start.outputs.append((reading, to))
        return writing

    # What the guardian is told

    def _link(self, kept: bool) -> Link:
        if kept not in self._links:
            name = sessions.KEPT if kept else self.session
            own = f"{name}/{sessions.GUARDIAN}"
            carried = [f"{own}-{self.session}"] if kept else [*self._inherited, own]
            self._links[kept] = Link(
                self.session, {COOKIE: " ".join(carried)}, kept=kept, heard=self._heard, lost=self._lost
            )
        return self._links[kept]

    def _tell(self, link: Link, running: Running) -> None:
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

    def _tell_removal(self, link: Link, key: str) -> None:
        link.send({"do": "remove", "key": key, "removal": tuple(self._removals[key])})

    def _tell_ties(self, link: Link) -> None:
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
        """Nobody waits any more for a process that has started: its starter was cancelled."""
        if not reply.cancelled() and reply.exception() is None and not self._closing:
            running = reply.result()
            self._stop(running.identity, running.cookie, running.stop_signal, running.grace, kept=running.kept)

    # What the guardian says

    def _heard(self, message: Message) -> None:
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
        start.reply.exception()  # whoever waited may have been cancelled

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

    def _lost(self, link: Link) -> None:
        """A guardian is gone. Another one takes over, unless this one never got to work."""
        if self._links.get(link.kept) is link:
            del self._links[link.kept]
        interrupted = [number for number, start in self._starts.items() if start.command.keep == link.kept]
        if self._closing or not link.was_ready:
            self._give_up(link.kept, interrupted)
            return
        successor = self._link(link.kept)
        for running in self._running.values():
            if running.kept == link.kept:
                self._tell(successor, running)
        for kept, message, _ in self._stops.values():
            if kept == link.kept:
                successor.send(message)
        if not link.kept:
            for key in self._removals:
                self._tell_removal(successor, key)
        else:
            self._tell_ties(successor)
        for number in interrupted:
            start = self._starts.pop(number)
            # Whether it had got to it is unknown: nothing may be left of the attempt.
            self._stop(None, start.command.cookie, STOP_SIGNAL, 0, kept=link.kept)
            self._fail(start, StartError("Interrupted", "the guardian of processes was killed", "start it again"))

    def _give_up(self, kept: bool, interrupted: list[int]) -> None:
        error = StartError(
            "GuardianFailed",
            f"the guardian of processes cannot run ({sys.executable} ended at once)",
            "see that this Python interpreter can be started, and start it again",
        )
        for number in interrupted:
            self._fail(self._starts.pop(number), error)
        for number in [number for number, stop in self._stops.items() if stop[0] == kept]:
            _, _, reply = self._stops.pop(number)
            if not reply.done():
                reply.set_exception(error)
