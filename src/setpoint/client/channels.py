"""Streams to and from a process in a pod, or to a port of a pod, as channels of a WebSocket.

Each message begins with the number of its channel (`v4.channel.k8s.io`). With `v5`, a side can also close a single
channel, so that the process sees the end of its input.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from setpoint.client.transport import Socket, TransportError
from setpoint.objects.errors import APIError
from setpoint.objects.status import from_status

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
_CLOSE = 255
# Input is sent in pieces, so that output can arrive in between.
_PIECE_BYTES = 32 << 10


class ProcessOutput(NamedTuple):
    """A piece of output of a process, and its channel: STDOUT or STDERR."""

    channel: int
    data: bytes


class Executed(NamedTuple):
    """The exit code and the output of a command that has finished."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class Process:
    """A process that runs in a container. Iterate over the process to read its output; `exit_code` is set when the
    output ends."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.exit_code: int | None = None

    async def write(self, data: bytes) -> None:
        """Sends bytes to the standard input of the process."""
        for start in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(bytes((STDIN,)) + data[start : start + _PIECE_BYTES])

    async def close_stdin(self) -> None:
        """Closes the standard input of the process. Raises TransportError if the server speaks only the older protocol
        v4."""
        if self._socket.protocol != V5:
            raise TransportError(
                f"the server speaks {self._socket.protocol}, which cannot close the input: the command must end alone",
                sent=False,
            )
        await self._socket.send(bytes((_CLOSE, STDIN)))

    async def resize(self, columns: int, rows: int) -> None:
        """Sends the size of the terminal."""
        await self._socket.send(bytes((RESIZE,)) + msgspec.json.encode({"Width": columns, "Height": rows}))

    async def __aiter__(self) -> AsyncIterator[ProcessOutput]:
        """Yields the output until the process ends. Raises APIError if the process could not be run."""
        while (message := await self._socket.receive()) is not None:
            channel, data = (message[0], message[1:]) if message else (STDOUT, b"")
            if channel == ERROR:
                self.exit_code = _exit_code(data)
                return
            if channel in (STDOUT, STDERR) and data:
                yield ProcessOutput(channel, data)
        if self.exit_code is None:
            raise TransportError("the server closed the stream without the exit status of the process", sent=True)

    async def run(self, stdin: bytes | None) -> Executed:
        """Sends the input, waits for the process to end, and returns its exit code and output."""
        found = {STDOUT: bytearray(), STDERR: bytearray()}
        feeding = asyncio.ensure_future(self._feed(stdin)) if stdin is not None else None
        try:
            async for channel, data in self:
                found[channel] += data
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait((feeding,))
        if feeding is not None and not feeding.cancelled() and (error := feeding.exception()) is not None:
            raise error
        return Executed(self.exit_code or 0, bytes(found[STDOUT]), bytes(found[STDERR]))

    async def _feed(self, stdin: bytes) -> None:
        await self.write(stdin)
        await self.close_stdin()


def _exit_code(data: bytes) -> int:
    """Returns the exit code from a Status. Raises APIError for any other failure."""
    try:
        status = msgspec.json.decode(data)
    except msgspec.DecodeError:
        raise APIError(data.decode("utf-8", "replace")) from None
    if isinstance(status, dict) and status.get("status") == "Success":
        return 0
    # Servers omit the kind: only Status objects arrive on this channel.
    error = from_status({**status, "kind": "Status"} if isinstance(status, dict) else status, 500)
    for cause in error.causes:
        if cause.reason == "ExitCode" and cause.message.lstrip("-").isdigit():
            return int(cause.message)
    raise error


class Forwarded:
    """A connection to a port of a pod."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        # The first message of each channel repeats the number of the port, in two bytes.
        self._begun: set[int] = set()

    async def write(self, data: bytes) -> None:
        """Sends bytes to the port."""
        for start in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(b"\0" + data[start : start + _PIECE_BYTES])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yields bytes from the port until the connection is closed. Raises TransportError if the port cannot be
        reached."""
        while (message := await self._socket.receive()) is not None:
            channel, data = message[:1], message[1:]
            if channel not in (b"\0", b"\1"):
                continue
            if channel[0] not in self._begun:
                self._begun.add(channel[0])
                data = data[2:]
            if channel == b"\1" and data:
                raise TransportError(data.decode("utf-8", "replace"), sent=True)
            if data:
                yield data
