"""Distributes the output of a terminal to its viewers, and keeps the last output for later ones."""

from collections import deque
from typing import Protocol

from setpoint.node.streams import Size

# The size of the kept output for later viewers.
SCROLLBACK_BYTES = 256 << 10


class TerminalOwner(Protocol):
    """The owner of a terminal."""

    async def write(self, data: bytes) -> None:
        """Writes input. Raises OSError if the program no longer reads."""

    def resize(self, size: Size) -> None:
        """Resizes the terminal."""


class Viewer(Protocol):
    """A viewer of a terminal. Its methods must not block or raise."""

    def output(self, data: bytes) -> None: ...

    def resized(self, size: Size) -> None:
        """Called when another viewer has resized the terminal."""

    def ended(self, code: int) -> None:
        """Called at the end of the output."""


class Screen:
    """One terminal with its viewers."""

    def __init__(self, source: TerminalOwner, size: Size) -> None:
        self._source = source
        self.size = size
        self._viewers: list[Viewer] = []
        self._past: deque[bytes] = deque()
        self._past_bytes = 0
        # The exit code, once there is one.
        self.code: int | None = None

    def join(self, viewer: Viewer) -> bytes:
        """Adds a viewer. Returns the output kept so far."""
        self._viewers.append(viewer)
        if self.code is not None:
            viewer.ended(self.code)
        return b"".join(self._past)

    def detach(self, viewer: Viewer) -> None:
        if viewer in self._viewers:
            self._viewers.remove(viewer)

    async def write(self, data: bytes) -> None:
        """Writes input. Raises OSError if the program no longer reads."""
        await self._source.write(data)

    def resize(self, size: Size, by: Viewer | None = None) -> None:
        """Resizes the terminal, and notifies all viewers except the requesting one."""
        if size == self.size or self.code is not None:
            return
        self.size = size
        self._source.resize(size)
        for viewer in list(self._viewers):
            if viewer is not by:
                viewer.resized(size)

    # Called by the source

    def on_output(self, data: bytes) -> None:
        """Handles output of the source."""
        self._past.append(data)
        self._past_bytes += len(data)
        while self._past_bytes > SCROLLBACK_BYTES:
            self._drop()
        for viewer in list(self._viewers):
            viewer.output(data)

    def _drop(self) -> None:
        """Drops the oldest output up to the end of a line: a partial control sequence would garble the rest."""
        oldest = self._past.popleft()
        self._past_bytes -= len(oldest)
        surplus = max(self._past_bytes + len(oldest) - SCROLLBACK_BYTES, 0)
        end = oldest.find(b"\n", surplus)
        kept = oldest[end + 1 :] if end >= 0 else b""
        if kept:
            self._past.appendleft(kept)
            self._past_bytes += len(kept)

    def end(self, code: int) -> None:
        """Handles the end of the process."""
        if self.code is None:
            self.code = code
            for viewer in list(self._viewers):
                viewer.ended(code)
