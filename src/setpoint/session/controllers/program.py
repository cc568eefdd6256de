"""One program of controllers as a process, seen from whoever runs it: started, asked, replaced, ended.

It lives in a process group of its own, and goes with everything that it has started: when it is told to, when it does
not end in time, and when the one who runs it is gone.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count

from setpoint.objects.clock import Clock, timeout
from setpoint.objects.reconcile_report import Wanted
from setpoint.session.controllers.messages import (
    Ask,
    Begin,
    Blocked,
    Failed,
    FromProgram,
    Line,
    Loaded,
    Ran,
    Refused,
    Start,
    Stop,
    Told,
    ToProgram,
    from_program,
    line_of,
)

Hear = Callable[[Line | Ran | Blocked], None]
# How long an import may take, and how long the end may take beyond what the reconciles have.
LOAD_SECONDS, END_SECONDS = 60.0, 2.0
# Of what it says; and of what is read of its output at once, where longer lines are cut.
_LONGEST_LINE, _READ_BYTES = 64 << 20, 1 << 16
_LOOK_SECONDS = 0.01


class Program:
    """A process. `ended` tells why it did, once it has."""

    def __init__(self, process: asyncio.subprocess.Process, begin: Begin, hear: Hear, clock: Clock) -> None:
        self._process, self._begin, self._hear, self._clock = process, begin, hear, clock
        self._owns_group = process.stdout is not None
        loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Loaded | Refused] = loop.create_future()
        self.ended: asyncio.Future[str] = loop.create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._asked: dict[int, asyncio.Future[Told]] = {}
        self._numbers = count(1)
        self._failure = ""
        self._living: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, begin: Begin, hear: Hear, clock: Clock, environ: Mapping[str, str], *, at_terminal: bool = False
    ) -> "Program":
        """Starts the process. `at_terminal` leaves it the terminal; else what it prints is heard. Raises OSError."""
        ours, theirs = socket.socketpair()
        kept = None if at_terminal else asyncio.subprocess.PIPE
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "setpoint.session.controllers.worker", str(theirs.fileno())),
                    pass_fds=(theirs.fileno(),),
                    stdin=None if at_terminal else asyncio.subprocess.DEVNULL,
                    stdout=kept,
                    stderr=kept,
                    cwd=begin.directory,
                    env=dict(environ),
                    start_new_session=not at_terminal,
                )
            program = cls(process, begin, hear, clock)
            reader, program._writer = await asyncio.open_unix_connection(sock=ours, limit=_LONGEST_LINE)
        except BaseException:
            ours.close()  # a process that was started hears of it, and ends
            raise
        program._living = asyncio.ensure_future(program._live(reader))
        program._send(begin)
        return program

    async def loaded(self) -> Loaded | Refused:
        """Waits until it has said whether it can be started."""
        try:
            async with timeout(self._clock, LOAD_SECONDS):
                return await asyncio.shield(self._answer)
        except TimeoutError:
            return Refused(f"{self._begin.module} is still being imported after {LOAD_SECONDS:g} s", [])

    def work(self) -> None:
        """Has it start its controllers."""
        self._send(Start())

    async def ask(self, seconds: float, wanted: Wanted | None = None) -> Told | None:
        """How it does, and what it remembers of the reconciles that are wanted; None if it does not answer in time."""
        number = next(self._numbers)
        answer: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._send(Ask(number, wanted))
        try:
            async with timeout(self._clock, seconds):
                return await answer
        except TimeoutError:
            return None
        finally:
            self._asked.pop(number, None)

    async def stop(self, seconds: float) -> None:
        """Gives its reconciles so many seconds, then ends it, and returns when nothing of it is left."""
        self._send(Stop(seconds))
        try:
            async with timeout(self._clock, seconds + END_SECONDS):
                await asyncio.shield(self.ended)
        except TimeoutError:
            self._kill()
            await asyncio.shield(self.ended)

    # Inside

    def _send(self, message: ToProgram) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line_of(message))

    async def _live(self, reader: asyncio.StreamReader) -> None:
        """Hears what it says, until it has ended and all is said."""
        outputs = [(self._process.stdout, False), (self._process.stderr, True)]
        printing = [asyncio.ensure_future(self._print(out, error)) for out, error in outputs if out is not None]
        try:
            with suppress(OSError, ValueError):  # it was cut off in the middle: it has ended, or will be
                while line := await reader.readline():
                    self._take(from_program(line))
            await self._exited()
            self._kill()  # what it has left behind, which may still hold its output open
            await self._process.wait()
            await asyncio.gather(*printing)
        finally:
            for each in printing:
                each.cancel()
            if self._writer is not None:
                self._writer.close()
            why = self._failure or _ended(self._process.returncode or 0)
            if not self._answer.done():
                self._answer.set_result(Refused(f"{self._begin.module}: {why} while it was imported", []))
            self.ended.set_result(why)

    async def _exited(self) -> None:
        """Returns when the process itself has ended, whoever has its output; or has taken too long for that."""
        until = self._clock.monotonic() + END_SECONDS
        while self._process.returncode is None and self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_SECONDS)

    def _take(self, message: FromProgram) -> None:
        match message:
            case Loaded() | Refused():
                if not self._answer.done():
                    self._answer.set_result(message)
            case Told(number):
                answer = self._asked.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case Failed(why):
                self._failure = why
            case _:
                self._hear(message)

    async def _print(self, out: asyncio.StreamReader, error: bool) -> None:
        """What goes past Python's own streams: of programs that it starts, of libraries in C."""
        rest = b""
        while data := await out.read(_READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _READ_BYTES:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._hear(Line("", line.decode("utf-8", "replace").rstrip("\r"), error))
        if rest:
            self._hear(Line("", rest.decode("utf-8", "replace"), error))

    def _kill(self) -> None:
        """Ends it, and what it has started; in a terminal that is in a group with us."""
        with suppress(ProcessLookupError):
            if self._owns_group:
                os.killpg(self._process.pid, signal.SIGKILL)
            elif self._process.returncode is None:
                self._process.kill()


def _ended(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"its process was ended by {name}"
    return f"its process ended with exit code {code}"
