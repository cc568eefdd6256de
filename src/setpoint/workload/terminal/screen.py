"""What happens in a terminal, for all who look at it. What was written last is kept for those who come later."""

from collections import deque
from typing import Protocol

from setpoint.workload.terminal.hmp import Size

# What of the past is shown to who comes later.
SCROLLBACK_BYTES = 256 << 10


class Source(Protocol):
    """What a terminal belongs to."""

    async def write(self, data: bytes) -> None:
        """Types something. Raises OSError where nobody reads it any more."""

    def resize(self, size: Size) -> None:
        """Makes it another size."""


class Viewer(Protocol):
    """Somebody who looks at a terminal. Nothing here may wait, or raise."""

    def output(self, data: bytes) -> None: ...

    def resized(self, size: Size) -> None:
        """Somebody else has made it another size."""

    def ended(self, code: int) -> None:
        """Nothing more comes."""


class Screen:
    """One terminal."""

    def __init__(self, source: Source, size: Size) -> None:
        self._source = source
        self.size = size
        self._viewers: list[Viewer] = []
        self._past: deque[bytes] = deque()
        self._past_bytes = 0
        # The exit code, once there is one.
        self.code: int | None = None

    def join(self, viewer: Viewer) -> bytes:
        """Somebody looks from now on; what was written before is returned."""
        self._viewers.append(viewer)
        if self.code is not None:
            viewer.ended(self.code)
        return b"".join(self._past)

    def leave(self, viewer: Viewer) -> None:
        if viewer in self._viewers:
            self._viewers.remove(viewer)

    async def write(self, data: bytes) -> None:
        """Types something. Raises OSError where nobody reads it any more."""
        await self._source.write(data)

    def resize(self, size: Size, by: Viewer | None = None) -> None:
        """Makes it another size, and tells everybody but who asked for it."""
        if size == self.size or self.code is not None:
            return
        self.size = size
        self._source.resize(size)
        for viewer in list(self._viewers):
            if viewer is not by:
                viewer.resized(size)

    # What the source tells

    def said(self, data: bytes) -> None:
        """Something was written."""
        self._past.append(data)
        self._past_bytes += len(data)
        while self._past_bytes > SCROLLBACK_BYTES:
            self._drop()
        for viewer in list(self._viewers):
            viewer.output(data)

    def _drop(self) -> None:
        """Forgets the oldest, up to the end of a line: half a control sequence would garble the rest."""
        oldest = self._past.popleft()
        self._past_bytes -= len(oldest)
        surplus = max(self._past_bytes + len(oldest) - SCROLLBACK_BYTES, 0)
        end = oldest.find(b"\n", surplus)
        kept = oldest[end + 1 :] if end >= 0 else b""
        if kept:
            self._past.appendleft(kept)
            self._past_bytes += len(kept)

    def end(self, code: int) -> None:
        """The process is gone."""
        if self.code is None:
            self.code = code
            for viewer in list(self._viewers):
                viewer.ended(code)
