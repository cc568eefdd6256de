"""A worker process of controllers, from the view of its supervisor: starts, queries, replaces and stops the process.

The process leads its own process group. The whole group is killed when the process is stopped, does not exit in time,
or loses its supervisor.
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
from setpoint.objects.reconcile_report import ReconcileQuery
from setpoint.session.controllers.messages import (
    Begin,
    Blocked,
    Failed,
    FromProgram,
    Loaded,
    PrintedLine,
    Ran,
    Refused,
    Start,
    StatusAnswer,
    StatusRequest,
    Stop,
    ToProgram,
    from_program,
    line_of,
)

Hear = Callable[[PrintedLine | Ran | Blocked], None]
# The time limit of an import, and the time to exit after the reconciles' time limit.
LOAD_SECONDS, END_SECONDS = 60.0, 2.0
# The maximum length of a message, and of a piece of output.
_LONGEST_LINE, _READ_BYTES = 64 << 20, 1 << 16
_LOOK_SECONDS = 0.01


class Program:
    """A worker process. `ended` is the reason of its exit."""

    def __init__(self, process: asyncio.subprocess.Process, begin: Begin, on_message: Hear, clock: Clock) -> None:
        self._process, self._begin, self._on_message, self._clock = process, begin, on_message, clock
        self._owns_group = process.stdout is not None
        loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Loaded | Refused] = loop.create_future()
        self.ended: asyncio.Future[str] = loop.create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._pending: dict[int, asyncio.Future[StatusAnswer]] = {}
        self._numbers = count(1)
        self._failure = ""
        self._living: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, begin: Begin, on_message: Hear, clock: Clock, environ: Mapping[str, str], *, at_terminal: bool = False
    ) -> "Program":
        """Starts the process. With `at_terminal`, the process uses the terminal; otherwise its output is captured.
        Raises OSError.
        """
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
            program = cls(process, begin, on_message, clock)
            reader, program._writer = await asyncio.open_unix_connection(sock=ours, limit=_LONGEST_LINE)
        except BaseException:
            ours.close()  # a started process notices the closed channel and exits
            raise
        program._living = asyncio.ensure_future(program._live(reader))
        program._send(begin)
        return program

    async def loaded(self) -> Loaded | Refused:
        """Waits for the result of loading the module."""
        try:
            async with timeout(self._clock, LOAD_SECONDS):
                return await asyncio.shield(self._answer)
        except TimeoutError:
            return Refused(f"{self._begin.module}: import did not finish within {LOAD_SECONDS:g} s", [])

    def work(self) -> None:
        """Starts the controllers."""
        self._send(Start())

    async def request_status(self, seconds: float, wanted: ReconcileQuery | None = None) -> StatusAnswer | None:
        """Returns the status and the requested reconciles; None on timeout."""
        number = next(self._numbers)
        answer: asyncio.Future[StatusAnswer] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        self._send(StatusRequest(number, wanted))
        try:
            async with timeout(self._clock, seconds):
                return await answer
        except TimeoutError:
            return None
        finally:
            self._pending.pop(number, None)

    async def stop(self, seconds: float) -> None:
        """Stops the process, with a number of seconds for running reconciles, and waits until its process group is
        gone.
        """
        self._send(Stop(seconds))
        try:
            async with timeout(self._clock, seconds + END_SECONDS):
                await asyncio.shield(self.ended)
        except TimeoutError:
            self._kill()
            await asyncio.shield(self.ended)

    # Internals

    def _send(self, message: ToProgram) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line_of(message))

    async def _live(self, reader: asyncio.StreamReader) -> None:
        """Receives messages until the process has exited and its output was read."""
        outputs = [(self._process.stdout, False), (self._process.stderr, True)]
        printing = [asyncio.ensure_future(self._print(out, error)) for out, error in outputs if out is not None]
        try:
            with suppress(
                OSError, ValueError
            ):  # the channel broke in the middle of a message: the process has exited or will be killed
                while line := await reader.readline():
                    self._dispatch(from_program(line))
            await self._exited()
            self._kill()  # kills remaining child processes, which may keep the output open
            await self._process.wait()
            await asyncio.gather(*printing)
        finally:
            for each in printing:
                each.cancel()
            if self._writer is not None:
                self._writer.close()
            why = self._failure or _ended(self._process.returncode or 0)
            if not self._answer.done():
                self._answer.set_result(Refused(f"{self._begin.module}: {why} during import", []))
            self.ended.set_result(why)

    async def _exited(self) -> None:
        """Waits until the process itself has exited, independent of its output, with a time limit."""
        until = self._clock.monotonic() + END_SECONDS
        while self._process.returncode is None and self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_SECONDS)

    def _dispatch(self, message: FromProgram) -> None:
        match message:
            case Loaded() | Refused():
                if not self._answer.done():
                    self._answer.set_result(message)
            case StatusAnswer(number):
                answer = self._pending.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case Failed(why):
                self._failure = why
            case _:
                self._on_message(message)

    async def _print(self, out: asyncio.StreamReader, error: bool) -> None:
        """Reads output that bypasses Python's streams: of child processes and C libraries."""
        rest = b""
        while data := await out.read(_READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _READ_BYTES:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._on_message(PrintedLine("", line.decode("utf-8", "replace").rstrip("\r"), error))
        if rest:
            self._on_message(PrintedLine("", rest.decode("utf-8", "replace"), error))

    def _kill(self) -> None:
        """Kills the process and its group; at a terminal only the process, which shares our group."""
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
        return f"its process was killed by {name}"
    return f"its process exited with code {code}"
