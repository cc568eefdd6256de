"""Passes a short command to the resident process and waits for its exit code."""

import _socket  # the module `socket` imports more than the rest of the command
import os
import signal

from setpoint.cli.resident.request import REFUSED, REPLY_BYTES, directory, encode, identity, is_private, socket_path


def forward(words: list[str]) -> int | None:
    """Runs a command in the resident process and returns its exit code; None without a resident process."""
    if not hasattr(_socket, "AF_UNIX"):
        return None  # Windows
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        try:
            who = identity()
            if not is_private(directory()):
                return None
            connection.connect(socket_path(who))
            data = encode(words, who)
            descriptors = b"".join(each.to_bytes(4, "little") for each in (0, 1, 2))
            ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
            connection.sendall(data[connection.sendmsg([data], ancillary) :])
            pid = _receive(connection)
        except (OSError, ValueError, AttributeError):
            return None  # no resident process or no state directory, or a standard stream is closed
        if pid is None or pid == REFUSED:
            return None
        return _wait(connection, pid)
    finally:
        connection.close()


def _wait(connection: _socket.socket, pid: int) -> int:
    while True:
        try:
            code = _receive(connection)
        except KeyboardInterrupt:
            os.kill(pid, signal.SIGINT)
            continue
        except OSError:
            code = None
        if code is None:
            return 1  # the resident process was killed
        if code < 0:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        return code


def _receive(connection: _socket.socket) -> int | None:
    data = connection.recv(REPLY_BYTES)
    return int.from_bytes(data, "little", signed=True) if len(data) == REPLY_BYTES else None
