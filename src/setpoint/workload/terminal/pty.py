"""A pseudo-terminal of this machine: one end is the device of a process, the other is read and written here."""

import asyncio
import contextlib
import os
import struct
from collections.abc import Callable

from setpoint.node.streams import Size
from setpoint.workload.process.pipes import Stdin

_CHUNK_BYTES = 1 << 16


class Pty:
    """A terminal, read after `begin`. Requires a running event loop. Raises OSError."""

    def __init__(self, size: Size) -> None:
        self._master, self._device = os.openpty()
        self.device = os.ttyname(self._device)
        os.set_blocking(self._master, False)
        self._loop = asyncio.get_running_loop()
        self._typed = Stdin(os.dup(self._master))
        self._on_output: Callable[[bytes], None] | None = None
        self.resize(size)

    def begin(self, on_output: Callable[[bytes], None]) -> None:
        """Starts to pass on the output of the process that has opened the device. Closes our own descriptor of the
        device, so that the end of the process is detected."""
        self._on_output = on_output
        os.close(self._device)
        self._device = -1
        self._loop.add_reader(self._master, self._read)

    async def write(self, data: bytes) -> None:
        """Writes input. Raises OSError if no process reads the terminal."""
        await self._typed.write(data)

    def resize(self, size: Size) -> None:
        import fcntl
        import termios

        if self._master >= 0:
            packed = struct.pack("HHHH", size.rows, size.columns, 0, 0)
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, packed)

    def close(self) -> None:
        """Passes on the remaining output, and closes the terminal."""
        if self._master < 0:
            return
        if self._on_output is not None:
            while self._read():
                pass
            self._loop.remove_reader(self._master)
        self._typed.close()
        for descriptor in (self._master, self._device):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._device = -1

    def _read(self) -> bool:
        """Reads output. Returns True if there was any."""
        assert self._on_output is not None
        try:
            data = os.read(self._master, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            # No process has the device open, and none is left that could open it again.
            self._loop.remove_reader(self._master)
            return False
        if data:
            self._on_output(data)
        return bool(data)
