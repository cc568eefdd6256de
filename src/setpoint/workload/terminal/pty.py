"""A pseudo-terminal of this machine: its one end is the device of a process, the other is read and written here."""

import asyncio
import contextlib
import os
import struct
from collections.abc import Callable

from setpoint.workload.process.pipes import Stdin
from setpoint.workload.terminal.hmp import Size

_CHUNK_BYTES = 1 << 16


class Pty:
    """A terminal, which is read as soon as `begin` was called. It needs a running event loop. Raises OSError."""

    def __init__(self, size: Size) -> None:
        self._master, self._device = os.openpty()
        self.device = os.ttyname(self._device)
        os.set_blocking(self._master, False)
        self._loop = asyncio.get_running_loop()
        self._typed = Stdin(os.dup(self._master))
        self._said: Callable[[bytes], None] | None = None
        self.resize(size)

    def begin(self, said: Callable[[bytes], None]) -> None:
        """A process has the device: what it writes is passed on. Our own hold of it ends, so that its end shows."""
        self._said = said
        os.close(self._device)
        self._device = -1
        self._loop.add_reader(self._master, self._read)

    async def write(self, data: bytes) -> None:
        """Types something. Raises OSError where nobody reads it any more."""
        await self._typed.write(data)

    def resize(self, size: Size) -> None:
        import fcntl
        import termios

        if self._master >= 0:
            packed = struct.pack("HHHH", size.rows, size.columns, 0, 0)
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, packed)

    def close(self) -> None:
        """Passes on what is there, and gives the terminal back."""
        if self._master < 0:
            return
        if self._said is not None:
            while self._read():
                pass
            self._loop.remove_reader(self._master)
        self._typed.close()
        for descriptor in (self._master, self._device):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._device = -1

    def _read(self) -> bool:
        """Whether there was something to read."""
        assert self._said is not None
        try:
            data = os.read(self._master, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            # Nobody has the device any more; who opened it anew would be heard again, but nobody is left to do so.
            self._loop.remove_reader(self._master)
            return False
        if data:
            self._said(data)
        return bool(data)
