"""The channels of Kubernetes over a WebSocket: a client and a program that talk, with the exit code at the end.

Whoever joins the two says where output comes from and who takes input; what a client says faster than the program
listens waits on its way.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.edge.websocket import offered
from setpoint.server.message import Frame, Line, Sink
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import truth
from setpoint.workload.terminal.hmp import Size

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
SOURCES = {"stdout": STDOUT, "stderr": STDERR}
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# What may wait for a program that does not read before its client has to.
_MOST_WAITING = 64

# What a program says, each piece with its channel.
Said: TypeAlias = Callable[[], AsyncIterator[tuple[int, bytes]]]


class Listener(NamedTuple):
    """Who is told what the client says. `write` raises OSError when nobody listens any more."""

    write: Callable[[bytes], Awaitable[None]]
    close: Callable[[], None] | None = None
    resize: Callable[[Size], Awaitable[None]] | None = None


def chosen_protocol(context: Context, doing: str) -> str:
    """The protocol to speak with a client. Raises BadRequest where it offers none."""
    offer = offered(context.request.headers)
    chosen = None if offer is None else next((each for each in PROTOCOLS if each in offer.protocols), None)
    if chosen is None:
        raise BadRequest(f"{doing} takes a WebSocket that speaks {' or '.join(PROTOCOLS)}")
    return chosen


def asks_for(context: Context, what: str) -> bool:
    """Whether a client asks for something by a parameter."""
    return what in context.query and truth(context.query[what][-1])


class Heard:
    """What a client says, from the moment on that this is made: whoever has to wait for the program makes it first."""

    def __init__(self, sink: Sink) -> None:
        self._line = sink if isinstance(sink, Line) else None
        self._messages: asyncio.Queue[bytes] = asyncio.Queue()
        if self._line is not None:
            self._line.listen(self._hear)

    def _hear(self, message: bytes) -> None:
        self._messages.put_nowait(message)
        if self._messages.qsize() >= _MOST_WAITING and self._line is not None:
            self._line.hold(True)

    async def next(self) -> bytes:
        """The next message."""
        message = await self._messages.get()
        if self._messages.qsize() == 0 and self._line is not None:
            self._line.hold(False)
        return message


class Conversation(NamedTuple):
    """What a client and a program have to say to each other. `ended` gives the exit code once all is said; None: it is
    not known."""

    said: Sequence[Said]
    listener: Listener | None
    ended: Callable[[], Awaitable[int | None]]

    async def run(self, sink: Sink) -> None:
        await self.go_on(sink, Heard(sink))

    async def go_on(self, sink: Sink, heard: Heard) -> None:
        """Has it, with a client that was heard already."""
        telling = [asyncio.ensure_future(_tell(sink, said())) for said in self.said]
        feeding = asyncio.ensure_future(self._feed(heard))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            all_told = asyncio.gather(*telling, return_exceptions=True)
            await asyncio.wait((all_told, gone), return_when=asyncio.FIRST_COMPLETED)
            code = await self.ended()
            if code is not None:
                sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(exit_status(code))))
                await sink.drain()
        finally:
            for task in (*telling, feeding, gone):
                task.cancel()
            await asyncio.gather(*telling, feeding, gone, return_exceptions=True)

    async def _feed(self, heard: Heard) -> None:
        """Passes on what the program is told."""
        listener = self.listener
        while True:
            message = await heard.next()
            if listener is None or not message:
                continue
            if message[0] == STDIN:
                try:
                    await listener.write(message[1:])
                except OSError:
                    return  # it listens no more
            elif message[0] == RESIZE:
                if listener.resize is not None and (size := _size(message[1:])) is not None:
                    await listener.resize(size)
            elif message[0] == CLOSE and message[1:2] == bytes((STDIN,)) and listener.close is not None:
                listener.close()


async def _tell(sink: Sink, said: AsyncIterator[tuple[int, bytes]]) -> None:
    async for channel, piece in said:
        if not (sink.write(Frame(bytes((channel,)) + piece)) and await sink.drain()):
            return


def _size(message: bytes) -> Size | None:
    """The size that a client asks for; None where it is none."""
    try:
        found = msgspec.json.decode(message, type=_Resize)
    except msgspec.DecodeError:
        return None
    size = Size(found.width, found.height)
    return size if all(0 < each < 1 << 16 for each in size) else None


class _Resize(msgspec.Struct, rename="pascal"):
    """How clients of Kubernetes say the size of their terminal."""

    width: int = 0
    height: int = 0


def exit_status(code: int) -> Object:
    """How a process ended, in the shape of the API."""
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
