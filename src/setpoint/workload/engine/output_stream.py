"""What containers print, taken apart: without a terminal both outputs come in one stream, in frames of an eight byte
head (which one, three zeros, the length) and so many bytes; with one, everything is raw standard output."""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Literal, NamedTuple, TypeAlias

from setpoint.workload.engine.errors import EngineError

Source: TypeAlias = Literal["stdin", "stdout", "stderr"]

_HEAD_BYTES = 8
_SOURCES: dict[int, Source] = {0: "stdin", 1: "stdout", 2: "stderr"}
# The engine reports a failure of its own in a frame of this number.
_ERROR = 3


class Output(NamedTuple):
    """Some bytes of one output, cut anywhere."""

    source: Source
    data: bytes


class Demultiplexer:
    """Takes frames apart as they come. What a frame has so far is passed on at once: a frame may be as large as 4 GiB,
    and nothing of it needs to wait for the rest."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._source: Source = "stdout"
        self._left = 0
        self._error: bytearray | None = None

    def feed(self, data: bytes) -> list[Output]:
        """The outputs in some more bytes. Raises EngineError where the engine reports one, or makes no sense."""
        found: list[Output] = []
        at = 0
        while at < len(data):
            if not self._left:
                taken = data[at : at + _HEAD_BYTES - len(self._head)]
                self._head += taken
                at += len(taken)
                if len(self._head) == _HEAD_BYTES:
                    self._begin()
                continue
            piece = data[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            self._take(piece, found)
        return found

    def _begin(self) -> None:
        number, self._left = self._head[0], int.from_bytes(self._head[4:])
        if any(self._head[1:4]) or (number != _ERROR and number not in _SOURCES):
            raise EngineError(0, f"the engine's stream of output is broken: a frame begins with {bytes(self._head)!r}")
        self._head.clear()
        if number == _ERROR:
            self._error = bytearray()
        else:
            self._source = _SOURCES[number]

    def _take(self, piece: bytes, found: list[Output]) -> None:
        if self._error is None:
            found.append(Output(self._source, piece))
            return
        self._error += piece
        if not self._left:
            raise EngineError(0, self._error.decode(errors="replace").strip())


async def outputs(pieces: AsyncIterable[bytes], *, tty: bool) -> AsyncIterator[Output]:
    """The outputs in a stream."""
    if tty:
        async for piece in pieces:
            yield Output("stdout", piece)
        return
    frames = Demultiplexer()
    async for piece in pieces:
        for output in frames.feed(piece):
            yield output
