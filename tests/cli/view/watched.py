"""A view on a real pseudo-terminal: its keys are pressed, and what it shows is looked at while it runs."""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable
from typing import Protocol

from tests.cli.view.screen_model import Terminal

PATIENCE_SECONDS = 60.0


class Process(Protocol):
    """What runs on the terminal."""

    pid: int

    def poll(self) -> int | None: ...


class Watched:
    """A pseudo-terminal and what is seen on it. `start` is given its name, and starts what it is for."""

    def __init__(self, start: Callable[[str], Process], columns: int, rows: int) -> None:
        self.terminal = Terminal(columns, rows)
        self._master, self._slave = pty.openpty()
        self._size(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.raw = ""
        self.process = start(os.ttyname(self._slave))

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def text(self) -> str:
        """What is to be seen."""
        return self.terminal.text()

    @property
    def is_taken(self) -> bool:
        """Whether keys come one by one."""
        return not termios.tcgetattr(self._slave)[3] & termios.ICANON

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Another size, of which the process is told."""
        self._read(0)
        self.terminal.resize(columns)
        self.terminal.rows = rows
        self._size(columns, rows)

    def _read(self, seconds: float) -> None:
        """Takes what was written, and waits for the first of it."""
        while select.select([self._master], [], [], seconds)[0]:
            text = self._decoder.decode(os.read(self._master, 1 << 16))
            self.raw += text
            self.terminal.feed(text)
            seconds = 0

    def until(self, holds: Callable[[str], bool] | str) -> str:
        """Reads until a text is to be seen, or something holds of what is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            is_over = self.process.poll() is not None
            self._read(0 if is_over else 0.05)
            if (holds in self.text) if isinstance(holds, str) else holds(self.text):
                return self.text
            if is_over:
                break
        raise AssertionError(f"{holds} is not to be seen:\n{self.text}")

    def ends(self) -> int:
        """Waits for the end; the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (code := self.process.poll()) is None and time.monotonic() < deadline:
            self._read(0.05)
        self._read(0)
        assert code is not None, f"it does not end:\n{self.text}"
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.ends()
        os.close(self._slave)
        os.close(self._master)
