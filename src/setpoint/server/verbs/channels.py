"""The channels of Kubernetes over a WebSocket: a client and a program exchange data, with the exit code at the end.

The caller provides the output and the receiver of input; input that the program does not read in time pauses the
client.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from setpoint.node.streams import Size
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.handshake import offered
from setpoint.server.message import DuplexSink, Frame, Sink
from setpoint.server.request.context import Context

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
SOURCES = {"stdout": STDOUT, "stderr": STDERR}
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# The number of buffered messages after which the client is paused.
_MOST_WAITING = 64

# The output of a program, each piece with its channel.
Said: TypeAlias = Callable[[], AsyncIterator[tuple[int, bytes]]]


class ClientInput(NamedTuple):
    """Receives the input of the client. `write` raises OSError if the program no longer reads."""

    write: Callable[[bytes], Awaitable[None]]
    close: Callable[[], None] | None = None
    resize: Callable[[Size], Awaitable[None]] | None = None


def chosen_protocol(context: Context, doing: str, protocols: Sequence[str] = PROTOCOLS) -> str:
    """Returns the protocol for a client. Raises BadRequest if the client offers none."""
    offer = offered(context.request.headers)
    chosen = None if offer is None else next((each for each in protocols if each in offer.protocols), None)
    if chosen is None:
        raise BadRequest(f"{doing} requires a WebSocket with the protocol {' or '.join(protocols)}")
    return chosen


class ClientMessages:
    """The messages of a client since the creation of this object: created before waiting for the program."""

    def __init__(self, sink: Sink) -> None:
        self._line = sink if isinstance(sink, DuplexSink) else None
        self._messages: asyncio.Queue[bytes] = asyncio.Queue()
        if self._line is not None:
            self._line.listen(self._on_message)

    def _on_message(self, message: bytes) -> None:
        self._messages.put_nowait(message)
        if self._messages.qsize() >= _MOST_WAITING and self._line is not None:
            self._line.pause_reading(True)

    async def next(self) -> bytes:
        """Returns the next message."""
        message = await self._messages.get()
        if self._messages.qsize() == 0 and self._line is not None:
            self._line.pause_reading(False)
        return message


class Conversation(NamedTuple):
    """The exchange between a client and a program. `ended` returns the exit code after all output; None: unknown."""

    output: Sequence[Said]
    listener: ClientInput | None
    ended: Callable[[], Awaitable[int | None]]

    async def run(self, sink: Sink) -> None:
        await self.exchange(sink, ClientMessages(sink))

    async def exchange(self, sink: Sink, messages: ClientMessages) -> None:
        """Runs the exchange with the messages received so far."""
        sending = [asyncio.ensure_future(_send_output(sink, stream())) for stream in self.output]
        feeding = asyncio.ensure_future(self._feed(messages))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            all_told = asyncio.gather(*sending, return_exceptions=True)
            await asyncio.wait((all_told, gone), return_when=asyncio.FIRST_COMPLETED)
            code = await self.ended()
            if code is not None:
                sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(exit_status(code))))
                await sink.drain()
        finally:
            for task in (*sending, feeding, gone):
                task.cancel()
            await asyncio.gather(*sending, feeding, gone, return_exceptions=True)

    async def _feed(self, messages: ClientMessages) -> None:
        """Forwards the input of the client to the program."""
        listener = self.listener
        while True:
            message = await messages.next()
            if listener is None or not message:
                continue
            if message[0] == STDIN:
                try:
                    await listener.write(message[1:])
                except OSError:
                    return  # the program no longer reads
            elif message[0] == RESIZE:
                if listener.resize is not None and (size := size_of(message[1:])) is not None:
                    await listener.resize(size)
            elif message[0] == CLOSE and message[1:2] == bytes((STDIN,)) and listener.close is not None:
                listener.close()


async def _send_output(sink: Sink, output: AsyncIterator[tuple[int, bytes]]) -> None:
    async for channel, piece in output:
        if not (sink.write(Frame(bytes((channel,)) + piece)) and await sink.drain()):
            return


def size_of(message: bytes) -> Size | None:
    """Returns the size that a client requests, or None if invalid."""
    try:
        found = msgspec.json.decode(message, type=_Resize)
    except msgspec.DecodeError:
        return None
    size = Size(found.width, found.height)
    return size if all(0 < each < 1 << 16 for each in size) else None


class _Resize(msgspec.Struct, rename="pascal"):
    """The size of a terminal in the format of Kubernetes clients."""

    width: int = 0
    height: int = 0


def exit_status(code: int) -> Object:
    """Returns the exit code as a Status of the API."""
    kind = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    if code == 0:
        return {**kind, "status": "Success"}
    return {
        **kind,
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
