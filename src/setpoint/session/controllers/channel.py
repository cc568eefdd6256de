"""The program's end of the line to whoever runs it: messages may be sent from any thread, and one thread listens.

When the other side is gone the program ends at once, whatever it is doing, and so do the processes that it has started:
nobody would know of them any more.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import NoReturn

from setpoint.session.controllers.messages import FromProgram, ToProgram, line_of, to_program

_READ_BYTES = 1 << 16
# What the shell would say of a program that a closed pipe ended.
_LEFT_ALONE = 128 + signal.SIGPIPE


class Channel:
    """The line. `owns_group` says whether the program leads a process group of its own."""

    def __init__(self, line: socket.socket, *, owns_group: bool) -> None:
        self._socket = line
        self._owns_group = owns_group
        self._sending = threading.Lock()
        self._received = b""

    def send(self, message: FromProgram) -> None:
        """Sends a message; waits while the other side is slow to read. Ends the program where there is nobody."""
        try:
            with self._sending:
                self._socket.sendall(line_of(message))
        except OSError:
            self._end()

    def receive(self) -> ToProgram:
        """Waits for the next message. Ends the program where none will come."""
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

    def listen(self, heard: Callable[[ToProgram], None]) -> None:
        """Has a thread of its own listen, and call `heard` there."""

        def listen() -> None:
            while True:
                heard(self.receive())

        threading.Thread(target=listen, name="setpoint-channel", daemon=True).start()

    def _end(self) -> NoReturn:
        if self._owns_group:
            os.killpg(0, signal.SIGKILL)
        os._exit(_LEFT_ALONE)
