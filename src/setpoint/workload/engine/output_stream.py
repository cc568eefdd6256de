"""Parses the output of containers: without a terminal both outputs are in one stream of frames, each with a header of
eight bytes (the output, three zeros, the length) and its data; with a terminal the stream is plain standard output."""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Literal, NamedTuple, TypeAlias

from setpoint.workload.engine.errors import EngineError

Source: TypeAlias = Literal["stdin", "stdout", "stderr"]

_HEAD_BYTES = 8
_SOURCES: dict[int, Source] = {0: "stdin", 1: "stdout", 2: "stderr"}
# Frames with this number have an error of the engine.
_ERROR = 3


class OutputChunk(NamedTuple):
    """Some bytes of one output, split at any position."""

    source: Source
    data: bytes


class Demultiplexer:
    """Parses frames incrementally. Partial frames are returned immediately: a frame may have up to 4 GiB."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._source: Source = "stdout"
        self._left = 0
        self._error: bytearray | None = None

    def feed(self, data: bytes) -> list[OutputChunk]:
        """Returns the outputs in the next bytes. Raises EngineError if the engine reports an error or the stream is
        invalid."""
        found: list[OutputChunk] = []
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
            self._feed(piece, found)
        return found

    def _begin(self) -> None:
        number, self._left = self._head[0], int.from_bytes(self._head[4:])
        if any(self._head[1:4]) or (number != _ERROR and number not in _SOURCES):
            raise EngineError(0, f"the engine's output stream is invalid: a frame begins with {bytes(self._head)!r}")
        self._head.clear()
        if number == _ERROR:
            self._error = bytearray()
        else:
            self._source = _SOURCES[number]

    def _feed(self, piece: bytes, found: list[OutputChunk]) -> None:
        if self._error is None:
            found.append(OutputChunk(self._source, piece))
            return
        self._error += piece
        if not self._left:
            raise EngineError(0, self._error.decode(errors="replace").strip())


async def outputs(pieces: AsyncIterable[bytes], *, tty: bool) -> AsyncIterator[OutputChunk]:
    """Yields the outputs of a stream."""
    if tty:
        async for piece in pieces:
            yield OutputChunk("stdout", piece)
        return
    frames = Demultiplexer()
    async for piece in pieces:
        for output in frames.feed(piece):
            yield output
