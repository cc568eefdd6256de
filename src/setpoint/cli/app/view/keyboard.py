"""Reads single keys from a terminal and restores the terminal mode afterwards.

Keys are not echoed and need no Enter. On Ctrl-Z the terminal mode is restored before the process stops, and set again
when the process continues. After that, and on Ctrl-L, the key `REPAINT` is sent.
"""

import asyncio
import contextlib
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

REPAINT = "\f"
# The escape sequences of keys such as arrows, which are ignored.
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)")


class Keyboard:
    """The keys of a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keys: asyncio.Queue[str] = asyncio.Queue()
        self._before: list[Any] = []

    def press(self, key: str) -> None:
        """Adds a key as if the user had pressed that key."""
        self._keys.put_nowait(key)

    async def keys(self) -> AsyncIterator[str]:
        """Yields each pressed key; ends when the terminal is closed."""
        while key := await self._keys.get():
            yield key

    def set_raw(self) -> None:
        """Switches the terminal to unbuffered input without echo. Ctrl-C still sends a signal."""
        import termios

        mode = termios.tcgetattr(self._descriptor)
        self._before = [*mode[:6], list(mode[6])]
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        # TCSANOW, because pending output may never be written.
        termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)

    def restore(self) -> None:
        """Restores the terminal mode."""
        import termios

        if self._before:
            before, self._before = self._before, []
            # A closed terminal needs no restoring.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, before)

    def read(self) -> None:
        """Reads the pressed keys."""
        try:
            data = os.read(self._descriptor, 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self.press("")
            return
        for key in _SEQUENCE.sub("", data.decode("utf-8", "ignore")):
            self.press(key)

    def stop(self) -> None:
        """Restores the terminal, stops the process, and returns when the process continues."""
        loop = asyncio.get_running_loop()
        self.restore()
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.raise_signal(signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self.stop)
        self.set_raw()
        self.press(REPAINT)


@contextmanager
def keyboard(stream: TextIO | None) -> Iterator[Keyboard | None]:
    """Yields the keys of a terminal; None if the stream is no terminal or another process group owns the terminal."""
    if stream is None or not stream.isatty() or not _is_ours(stream.fileno()):
        yield None
        return
    loop, found = asyncio.get_running_loop(), Keyboard(stream.fileno())
    found.set_raw()
    try:
        loop.add_reader(stream.fileno(), found.read)
        loop.add_signal_handler(signal.SIGTSTP, found.stop)
        yield found
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
        loop.remove_reader(stream.fileno())
        found.restore()


@contextmanager
def on_signals(calls: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Registers signal handlers; has no effect outside the main thread."""
    loop = asyncio.get_running_loop()
    handlers = calls if threading.current_thread() is threading.main_thread() else {}
    for number, call in handlers.items():
        loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def _is_ours(descriptor: int) -> bool:
    """Returns True if this process is in the foreground. Background processes must not change the terminal mode."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
