"""Sends the cases over several connections, and has every answer judged."""

import asyncio
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from tests.fuzz.answers import Answer, Malformed, take, wrong
from tests.fuzz.case import Case

CONNECTIONS = 8
# Requests that one connection sends before it reads.
PIPELINED = 4
# The server's own limit for an answer is a minute.
PATIENCE_SECONDS = 90.0
_LATE = "no answer in time"
_RESET = struct.pack("ii", 1, 0)


class Failure(NamedTuple):
    """A case whose answer is wrong."""

    case: Case
    reason: str
    answer: bytes


class Wire(asyncio.Protocol):
    """One connection; collects the bytes of the server."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.closed = False
        self.received = False
        self.waiter: asyncio.Future[None] | None = None
        self.since = 0.0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received = True
        self.buffer += data
        self._wake()

    def eof_received(self) -> bool:
        self.closed = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def more(self) -> None:
        """Waits for more bytes, or the end. Raises TimeoutError when there are none for too long."""
        if self.closed:
            return
        self.waiter = asyncio.get_running_loop().create_future()
        self.since = time.monotonic()
        try:
            await self.waiter
        finally:
            self.waiter = None

    def drop(self) -> None:
        """Resets the connection: the port is free at once."""
        sock = self.transport.get_extra_info("socket")
        if sock is not None and not self.transport.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


class Client:
    """Sends cases to one server. `statuses` counts the answers, `ways` the cases."""

    def __init__(self, host: str, port: int, findings: Path) -> None:
        self._host, self._port = host, port
        self._findings = findings
        self.statuses: Counter[str] = Counter()
        self.ways: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.unanswered = 0
        self._wires: set[Wire] = set()
        self._opened = 0

    async def send(self, cases: Iterator[Case]) -> None:
        """Sends all cases, and returns when each has been answered or its connection closed."""
        watchdog = asyncio.create_task(self._watch())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(CONNECTIONS):
                    group.create_task(self._work(cases))
        finally:
            watchdog.cancel()

    async def _work(self, cases: Iterator[Case]) -> None:
        wire: Wire | None = None
        waiting: list[Case] = []
        for case in cases:
            self.ways[case.way] += 1
            if case.alone:
                await self._alone(case)
                continue
            waiting.append(case)
            if len(waiting) == PIPELINED:
                wire = await self._together(waiting, wire)
                waiting = []
        if waiting:
            wire = await self._together(waiting, wire)
        if wire is not None:
            self._end(wire)

    async def _together(self, cases: list[Case], wire: Wire | None) -> Wire | None:
        """Sends cases at once over a connection that stays, and reads one answer to each. An answer that ends the
        connection, or is a stream, has the rest sent over a new one."""
        left = cases
        while left:
            fresh = wire is None or wire.closed
            if wire is None or wire.closed:
                wire = await self._open()
            wire.transport.write(b"".join([case.data for case in left]))
            answered = 0
            try:
                for case in left:
                    answer = await self._answer(wire, case)
                    if answer is None:
                        break
                    answered += 1
                    self._judge(case, answer)
                    if answer.streams or answer.closes:
                        wire.closed = True
                        break
            except (Malformed, TimeoutError) as error:
                self._fail(left[answered], str(error) or _LATE, bytes(wire.buffer))
                wire.closed, answered = True, answered + 1
            if answered == 0 and not wire.closed:
                raise AssertionError("a connection neither answered nor ended")
            if answered == 0 and fresh:
                # Exactly one answer to each of these was due.
                self._fail(left[0], "the connection was closed without an answer", b"")
                answered = 1
            left = left[answered:]
            if wire.closed:
                self._end(wire)
                wire = None
        return wire

    async def _alone(self, case: Case) -> None:
        """Sends a case over a connection of its own, and reads to the end."""
        wire = await self._open()
        answers = 0
        try:
            wire.transport.write(case.data)
            if not case.frames and wire.transport.can_write_eof() and not wire.closed:
                wire.transport.write_eof()
            while True:
                answer = await self._answer(wire, case)
                if answer is None:
                    break
                answers += 1
                self._judge(case, answer)
                if answer.streams:
                    if case.frames and not wire.closed:
                        wire.transport.write(case.frames)
                        wire.transport.write_eof()
                        while not wire.closed:
                            await wire.more()
                    break
                if case.frames:
                    break
            self.unanswered += not answers
        except TimeoutError:
            self._fail(case, _LATE, bytes(wire.buffer))
        except OSError:
            self.unanswered += not answers
        except Malformed as error:
            if case.method != "HEAD" and b"HEAD" not in case.data:
                self._fail(case, str(error), bytes(wire.buffer))
        finally:
            self._end(wire)

    async def _answer(self, wire: Wire, case: Case) -> Answer | None:
        """The next answer on a connection; None if it ends before."""
        while (answer := take(wire.buffer, case.method)) is None:
            if wire.closed:
                if wire.buffer and case.alone is False:
                    raise Malformed("an answer was cut off")
                return None
            await wire.more()
        return answer

    async def _open(self) -> Wire:
        self._opened += 1
        local = (f"127.0.0.{2 + self._opened % 50}", 0)  # more ports than one address has
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(Wire, self._host, self._port, local_addr=local)
        self._wires.add(wire)
        return wire

    def _end(self, wire: Wire) -> None:
        self._wires.discard(wire)
        wire.drop()

    def _judge(self, case: Case, answer: Answer) -> None:
        self.statuses["stream" if answer.streams else str(answer.status)] += 1
        if reason := wrong(case, answer):
            self._fail(case, reason, answer.body)

    def _fail(self, case: Case, reason: str, answer: bytes) -> None:
        self.failures.append(Failure(case, reason, answer[:2000]))
        self._findings.mkdir(parents=True, exist_ok=True)
        (self._findings / f"{case.number}.request").write_bytes(case.data + case.frames)

    async def _watch(self) -> None:
        """Fails what waits for too long."""
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            for wire in self._wires:
                waiter = wire.waiter
                if waiter is not None and not waiter.done() and now - wire.since > PATIENCE_SECONDS:
                    waiter.set_exception(TimeoutError())
