"""A command on a real pseudo-terminal: its keys are pressed, and what it shows is looked at while it runs."""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.view.screen_model import Terminal

PATIENCE_SECONDS = 60.0


class Watched:
    """A command that runs."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], directory: Path, columns: int, rows: int
    ) -> None:
        self.terminal = Terminal(columns, rows)
        self._master, slave = pty.openpty()
        self._slave_name = os.ttyname(slave)
        self._size(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.raw = ""
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")},
            cwd=directory,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._slave = slave

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
        self.read(0)
        self.terminal.resize(columns)
        self.terminal.rows = rows
        self._size(columns, rows)

    def read(self, seconds: float) -> bool:
        """Takes what was written, and waits for the first of it; False: nothing more will be."""
        while select.select([self._master], [], [], seconds)[0]:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                return False
            text = self._decoder.decode(data)
            self.raw += text
            self.terminal.feed(text)
            seconds = 0
        return True

    def until(self, holds: Callable[[str], bool] | str) -> str:
        """Reads until a text is to be seen, or something holds of what is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            more = self.read(0.05)
            if (holds in self.text) if isinstance(holds, str) else holds(self.text):
                return self.text
            if not more or self.process.poll() is not None:
                self.read(0)
                if (holds in self.text) if isinstance(holds, str) else holds(self.text):
                    return self.text
                break
        raise AssertionError(f"{holds} is not to be seen:\n{self.text}")

    def ends(self) -> int:
        """Waits for the end; the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.05)
        self.read(0)
        return self.process.wait(1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._slave)
        os.close(self._master)


@contextmanager
def watched(
    command: Sequence[str], environ: Mapping[str, str], directory: Path, *, columns: int = 80, rows: int = 30
) -> Iterator[Watched]:
    """A command on a terminal of its own."""
    found = Watched(command, environ, directory, columns, rows)
    try:
        yield found
    finally:
        found.close()
