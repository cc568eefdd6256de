"""The keyboard: single keys as they are pressed, and the terminal as it was before, whatever happens.

Keys are not shown and need no Enter. A signal that stops the process (Ctrl-Z) gives the terminal back first and takes
it again when the process goes on; then, and with Ctrl-L, comes the key `REPAINT`.
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
# What keys like arrows send: they mean nothing to us.
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)")


class Keyboard:
    """A terminal's keys."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keys: asyncio.Queue[str] = asyncio.Queue()
        self._before: list[Any] = []

    def press(self, key: str) -> None:
        """As if a key were pressed."""
        self._keys.put_nowait(key)

    async def keys(self) -> AsyncIterator[str]:
        """Each key that is pressed; ends with the terminal."""
        while key := await self._keys.get():
            yield key

    def take(self) -> None:
        """Has keys come one by one, unseen. Signals by keys (Ctrl-C) stay signals."""
        import termios

        mode = termios.tcgetattr(self._descriptor)
        self._before = [*mode[:6], list(mode[6])]
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        # At once, for what was written before may never be shown.
        termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)

    def give_back(self) -> None:
        """The terminal is as it was."""
        import termios

        if self._before:
            before, self._before = self._before, []
            # A terminal that is gone needs nothing any more.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, before)

    def read(self) -> None:
        """Takes over what was pressed."""
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
        """Lets the process be stopped, with the terminal as it was; returns when it goes on."""
        loop = asyncio.get_running_loop()
        self.give_back()
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.raise_signal(signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self.stop)
        self.take()
        self.press(REPAINT)


@contextmanager
def keyboard(stream: TextIO | None) -> Iterator[Keyboard | None]:
    """The keys of a terminal; None where the stream is none, or another process has it."""
    if stream is None or not stream.isatty() or not _is_ours(stream.fileno()):
        yield None
        return
    loop, found = asyncio.get_running_loop(), Keyboard(stream.fileno())
    found.take()
    try:
        loop.add_reader(stream.fileno(), found.read)
        loop.add_signal_handler(signal.SIGTSTP, found.stop)
        yield found
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
        loop.remove_reader(stream.fileno())
        found.give_back()


@contextmanager
def on_signals(calls: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Has signals call something, where this is the thread that hears them."""
    loop = asyncio.get_running_loop()
    heard = calls if threading.current_thread() is threading.main_thread() else {}
    for number, call in heard.items():
        loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


def _is_ours(descriptor: int) -> bool:
    """Whether we are in the foreground: who runs behind a shell may not touch its terminal."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
