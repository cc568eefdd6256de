"""Writes the output of the view in a thread, one text at a time. A stopped terminal or a full pipe therefore does not
block the event loop; callers wait until `is_free`.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from setpoint.objects.clock import Clock, timeout

# The time to wait for the last text when closing.
_END_SECONDS = 1.0


class OutputWriter:
    """Writes texts to a stream. Calls `freed` in the event loop after each text."""

    def __init__(self, stream: TextIO, freed: Callable[[], None]) -> None:
        stream.flush()
        self._stream, self._freed = stream, freed
        self._descriptor = _descriptor(stream)
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._free = asyncio.Event()
        self._free.set()
        # True once the reader has closed the stream.
        self.is_broken = False
        # A daemon thread, so that a blocked write does not prevent the exit.
        threading.Thread(target=self._write_all, name="setpoint-view-output", daemon=True).start()

    @property
    def is_free(self) -> bool:
        """True if the last text was written."""
        return self._free.is_set()

    def write(self, text: str) -> None:
        """Queues a text for writing."""
        if text and not self.is_broken:
            self._free.clear()
            self._texts.put(text)

    async def close(self, clock: Clock) -> None:
        """Waits a moment for the text being written."""
        with suppress(TimeoutError):
            async with timeout(clock, _END_SECONDS):
                await self._free.wait()
        self._texts.put(None)

    def _write_all(self) -> None:
        while (text := self._texts.get()) is not None:
            try:
                self._put(text)
            except (OSError, ValueError):  # closed by the reader or by us
                self.is_broken = True
            try:
                self._loop.call_soon_threadsafe(self._written)
            except RuntimeError:
                return  # the loop has ended

    def _written(self) -> None:
        if self._texts.empty():
            self._free.set()
            self._freed()

    def _put(self, text: str) -> None:
        if self._descriptor is None:
            self._stream.write(text)
            return
        # Bypasses the buffer of the stream: a blocked write would hold its lock, which Python needs to exit.
        data = text.encode(self._stream.encoding or "utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]


def _descriptor(stream: TextIO) -> int | None:
    """Returns the file descriptor of the stream; None for in-memory streams."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
