"""Where the view writes to. A terminal that was stopped, or a pipe that nobody reads, must not hold up anything else:
a thread does the writing, one text at a time, and whoever writes waits until it `is_free`.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from setpoint.objects.clock import Clock, timeout

# How long what was written last is waited for in the end.
_END_SECONDS = 1.0


class Output:
    """Writes texts to a stream. `freed` is called, in the event loop, whenever one is written."""

    def __init__(self, stream: TextIO, freed: Callable[[], None]) -> None:
        stream.flush()
        self._stream, self._freed = stream, freed
        self._descriptor = _descriptor(stream)
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._free = asyncio.Event()
        self._free.set()
        # Whether nobody is at the other end any more.
        self.is_broken = False
        # It is never waited for: a write that hangs must not keep us from ending.
        threading.Thread(target=self._write_all, name="setpoint-view-output", daemon=True).start()

    @property
    def is_free(self) -> bool:
        """Whether the last text is written."""
        return self._free.is_set()

    def write(self, text: str) -> None:
        """Writes a text, when it is free."""
        if text and not self.is_broken:
            self._free.clear()
            self._texts.put(text)

    async def close(self, clock: Clock) -> None:
        """Waits a moment for what is being written."""
        with suppress(TimeoutError):
            async with timeout(clock, _END_SECONDS):
                await self._free.wait()
        self._texts.put(None)

    def _write_all(self) -> None:
        while (text := self._texts.get()) is not None:
            try:
                self._put(text)
            except (OSError, ValueError):  # closed at the other end, or here
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
        # Past the stream's own buffer: who hangs in it has its lock, which Python needs to end.
        data = text.encode(self._stream.encoding or "utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]


def _descriptor(stream: TextIO) -> int | None:
    """The file that a stream is; None where it is only memory."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
