"""The worker's end of the channel to its supervisor. Any thread may send; one thread receives.

When the supervisor is gone, the worker exits immediately and kills its child processes, because no other process would
track them.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import NoReturn

from setpoint.session.controllers.messages import FromProgram, ToProgram, line_of, to_program

_READ_BYTES = 1 << 16
# The exit code for SIGPIPE, as in shells.
_LEFT_ALONE = 128 + signal.SIGPIPE


class Channel:
    """The channel. `owns_group` is True if the worker leads its own process group."""

    def __init__(self, line: socket.socket, *, owns_group: bool) -> None:
        self._socket = line
        self._owns_group = owns_group
        self._sending = threading.Lock()
        self._received = b""

    def send(self, message: FromProgram) -> None:
        """Sends a message; blocks while the supervisor is slow. Exits the process if the supervisor is gone."""
        try:
            with self._sending:
                self._socket.sendall(line_of(message))
        except OSError:
            self._end()

    def receive(self) -> ToProgram:
        """Waits for the next message. Exits the process if the channel is closed."""
        while b"\n" not in self._received:
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError:
                data = b""
            if not data:
                self._end()
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        found: ToProgram = to_program(line)
        return found

    def listen(self, on_message: Callable[[ToProgram], None]) -> None:
        """Starts a thread that receives messages and calls `on_message` with each."""

        def listen() -> None:
            while True:
                on_message(self.receive())

        threading.Thread(target=listen, name="setpoint-channel", daemon=True).start()

    def _end(self) -> NoReturn:
        if self._owns_group:
            os.killpg(0, signal.SIGKILL)
        os._exit(_LEFT_ALONE)
