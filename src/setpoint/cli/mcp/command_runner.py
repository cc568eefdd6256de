"""Runs commands of the command line for tools, each in a process of its own.

A tool so has the results, the rights, the masks and the error messages of its command. The standard output of this
process belongs to the protocol, and no command writes to that output.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from setpoint.cli.support.connection import Server

# The bytes of output that a tool returns. More would fill the context of an assistant.
MOST_BYTES = 64 * 1024
# The number of commands that run at the same time.
_MOST_COMMANDS = 4
# The time limit of a command in seconds, and the time for a stopped command to end.
_SECONDS, _END_SECONDS = 60.0, 10.0
_CHUNK = 16 * 1024


class CommandError(Exception):
    """Raised if a command fails. The message is that of the command."""


class CommandOutput(NamedTuple):
    """The standard output of a command, its error messages, and its exit code."""

    text: str
    errors: str
    code: int

    @property
    def message(self) -> str:
        """The message of a failed command."""
        return self.errors.strip().removeprefix("Error: ") or self.text.strip() or f"exit code {self.code}"


class CommandRunner:
    """Runs commands against one server."""

    def __init__(self, server: Server, program: Sequence[str] = (sys.executable, "-m", "setpoint")) -> None:
        self._server = server
        self._program = program
        self._slots = asyncio.Semaphore(_MOST_COMMANDS)

    async def run(
        self,
        command: str,
        *options: str,
        names: Sequence[str] = (),
        namespace: str = "",
        stdin: str = "",
        seconds: float = _SECONDS,
        keeps_end: bool = False,
        accepts: frozenset[int] = frozenset({0}),
    ) -> CommandOutput:
        """Runs a command, and returns the beginning of its output, or the end with `keeps_end`. `names` are never taken
        for options. Raises CommandError for an exit code that is not accepted, and after the time limit."""
        words = [*self._program, command, *options, *self._options(namespace), "--", *names]
        async with self._slots:
            try:
                found = await _run(words, stdin, seconds, keeps_end=keeps_end)
            except TimeoutError:
                limit = f"`setpoint {command}` did not end within {seconds:g} s"
                raise CommandError(f"{limit}; ask for less, or use a longer time limit") from None
        if found.code not in accepts:
            raise CommandError(found.message)
        return found

    def _options(self, namespace: str) -> list[str]:
        kubeconfig, context, default_namespace, session, _, _ = self._server
        pairs = {
            "--kubeconfig": kubeconfig,
            "--context": context,
            "--namespace": namespace or default_namespace,
            "--session": session,
        }
        return [f"{name}={value}" for name, value in pairs.items() if value]


async def _run(words: Sequence[str], stdin: str, seconds: float, *, keeps_end: bool) -> CommandOutput:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(seconds):
            _, output, errors, code = await asyncio.gather(
                _write(process.stdin, stdin.encode()),
                _read(process.stdout, keeps_end=keeps_end),
                _read(process.stderr, keeps_end=True),
                process.wait(),
            )
        return CommandOutput(output, errors, code)
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stream.write(data)
        await stream.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the command ended without reading its input
    finally:
        stream.close()


async def _read(stream: asyncio.StreamReader, *, keeps_end: bool) -> str:
    """Reads a stream to its end, and returns at most MOST_BYTES, with a note if there was more."""
    kept, size = bytearray(), 0
    while chunk := await stream.read(_CHUNK):
        size += len(chunk)
        if keeps_end:
            kept += chunk
            del kept[:-MOST_BYTES]
        elif len(kept) < MOST_BYTES:
            kept += chunk[: MOST_BYTES - len(kept)]
    text = kept.decode("utf-8", "replace")
    if size <= MOST_BYTES:
        return text
    note = f"[{size - MOST_BYTES} bytes were left out; ask for less]"
    return f"{note}\n{text}" if keeps_end else f"{text}\n{note}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stops a command as Ctrl-C does, so that a run of a task ends with its command; kills the command after a time."""
    process.terminate()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
