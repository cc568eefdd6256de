"""The input and output of a process: output is copied to a sink as it arrives, input is written without blocking.

A pipe is always read, even if its data cannot be stored, so that no process ever blocks on its output.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Protocol

# The maximum size of a read, and the size of a pipe where allowed: larger sizes would not fit the CPU caches.
CHUNK_BYTES = 1 << 17
PIPE_BYTES = 1 << 18


class Sink(Protocol):
    """A destination of output. Writes never block and never raise."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """Ends the output."""


def output_pipe() -> tuple[int, int]:
    """Returns the reading end, which is non-blocking, and the writing end for a process, which is blocking; with the
    maximum pipe size."""
    reading, writing = os.pipe()  # not inheritable
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError, AttributeError):  # other systems than Linux have a fixed size
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing


class Drain:
    """Copies a pipe to a sink until all writers have closed the pipe, or until closed."""

    def __init__(self, descriptor: int, sink: Sink, *, ended: Callable[["Drain"], None]) -> None:
        self._descriptor, self._sink, self._on_end = descriptor, sink, ended
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(descriptor, self._read)

    def catch_up(self) -> None:
        """Copies the data written so far, but not data that is written meanwhile."""
        if self.ended.done():
            return
        import fcntl
        import sys
        import termios

        waiting = bytearray(4)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._descriptor, termios.FIONREAD, waiting)
        left = int.from_bytes(waiting, sys.byteorder)
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
        self._lock = asyncio.Lock()
        self._ready = asyncio.Event()

    async def write(self, data: bytes) -> None:
        """Writes all data to the pipe. Raises BrokenPipeError if the process has closed its input."""
        async with self._lock:
            view = memoryview(data)
            while view:
                if self._descriptor is None:
                    raise BrokenPipeError("standard input is closed")
                try:
                    view = view[os.write(self._descriptor, view) :]
                except BlockingIOError:
                    await self._writable(self._descriptor)

    def close(self) -> None:
        """Closes the input: the process reads the end of the file."""
        if self._descriptor is not None:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
            self._ready.set()  # the loop no longer reports on the descriptor to a waiting write

    async def _writable(self, descriptor: int) -> None:
        self._ready.clear()
        self._loop.add_writer(descriptor, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            if self._descriptor is not None:
                self._loop.remove_writer(descriptor)
