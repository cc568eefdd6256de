"""What a scripted engine sends bit by bit: outputs of containers and commands, and lines of JSON."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tests.workload.engine.scripted.state import ScriptedContainer, ScriptedExec

from setpoint.client.transport import Answer

if TYPE_CHECKING:
    from tests.workload.engine.scripted.engine import ScriptedEngine

_SOURCES = {"stdin": 0, "stdout": 1, "stderr": 2}


class Pieces:
    """An answer that comes bit by bit."""

    answer = Answer(200)

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    def cut(self, why: str) -> None:
        pass


class AttachedStream:
    """The input and outputs of a container."""

    def __init__(self, pieces: AsyncIterator[bytes], container: ScriptedContainer) -> None:
        self._pieces = pieces
        self._container = container

    async def read(self) -> bytes:
        return await anext(self._pieces, b"")

    async def write(self, data: bytes) -> None:
        self._container.heard += data

    def write_eof(self) -> None:
        pass


class ExecStream:
    """A command: what it prints is read once its input has ended, or there is none."""

    def __init__(self, engine: "ScriptedEngine", run: ScriptedExec) -> None:
        self._engine = engine
        self._run = run
        self._ended = asyncio.Event()
        if not run.body.get("AttachStdin"):
            self._ended.set()

    async def read(self) -> bytes:
        if self._run.exit_code is not None:
            return b""
        await self._ended.wait()
        ran = self._engine.on_exec(self._run.container, self._run.body["Cmd"])
        self._run.exit_code = ran.code
        printed = b"".join(frame(source, data) for source, data in (("stdout", ran.stdout), ("stderr", ran.stderr)))
        return ran.stdout + ran.stderr if self._run.body.get("Tty") else printed

    async def write(self, data: bytes) -> None:
        self._run.container.heard += data

    def write_eof(self) -> None:
        self._ended.set()


def frame(source: str, data: bytes) -> bytes:
    """Some output, as engines send it; nothing for nothing."""
    return bytes((_SOURCES[source], 0, 0, 0)) + len(data).to_bytes(4) + data if data else b""


async def encoded(messages: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Messages as lines of JSON."""
    async for message in messages:
        yield json.dumps(message).encode() + b"\n"
