"""What a process says and hears: its output drained into a sink as it comes, its input written without waiting for it.

A pipe is always read, whatever becomes of what is read, so that no process ever waits for us.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Protocol

# What one read takes at most, and what a pipe holds where the system lets it: more would only leave the caches cold.
CHUNK_BYTES = 1 << 17
PIPE_BYTES = 1 << 18
_FIONREAD = 0x541B


class Sink(Protocol):
    """Where output goes. It takes what it is given at once, and never raises."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """Nothing more comes."""


def output_pipe() -> tuple[int, int]:
    """The end to read, which never blocks, and the end a process writes to, which does; as large as we may have it."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError):
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing


class Drain:
    """Reads a pipe into a sink until everybody who could write to it has closed it, or until it is told to end."""

    def __init__(self, descriptor: int, sink: Sink, *, ended: Callable[["Drain"], None]) -> None:
        self._descriptor, self._sink, self._on_end = descriptor, sink, ended
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(descriptor, self._read)

    def catch_up(self) -> None:
        """Takes over what has been written up to now, and not what others may write while we read."""
        if self.ended.done():
            return
        import fcntl

        waiting = bytearray(4)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._descriptor, _FIONREAD, waiting)
        left = int.from_bytes(waiting, "little")
        while left > 0 and (taken := self._read()):
            left -= taken

    def close(self) -> None:
        if self.ended.done():
            return
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._sink.close()
        self.ended.set_result(None)
        self._on_end(self)

    def _read(self) -> int:
        try:
            data = os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return 0
        if not data:
            self.close()
            return 0
        self._sink.write(data)
        return len(data)


class Stdin:
    """The writing end of a process's standard input."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        """Returns when the process, or the pipe, has taken it all; BrokenPipeError when nobody will."""
        async with self._turn:
            view = memoryview(data)
            while view:
                if self._descriptor is None:
                    raise BrokenPipeError("standard input is closed")
                try:
                    view = view[os.write(self._descriptor, view) :]
                except BlockingIOError:
                    await self._writable(self._descriptor)

    def close(self) -> None:
        """The process reads to its end."""
        if self._descriptor is not None:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    async def _writable(self, descriptor: int) -> None:
        ready = asyncio.Event()
        self._loop.add_writer(descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            if self._descriptor is not None:
                self._loop.remove_writer(descriptor)
