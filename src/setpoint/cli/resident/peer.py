"""The process at the other end of a Unix socket, and the running resident processes."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from setpoint.cli.resident.request import SOCKET_PREFIX, SOCKET_SUFFIX

_CREDENTIALS = struct.Struct("3i")
_SECONDS = 1.0


class Peer(NamedTuple):
    """The process at the other end of a connection, and its user."""

    pid: int
    user: int


def peer(connection: socket.socket) -> Peer | None:
    """Returns the process at the other end; None if the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(data)
    return Peer(pid, user)


def resident_processes(directory: Path) -> Iterator[int | None]:
    """Yields the pids of the resident processes with sockets in a directory; None if the system does not tell."""
    for path in sorted(directory.glob(f"{SOCKET_PREFIX}*{SOCKET_SUFFIX}")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SECONDS)
            try:
                connection.connect(str(path))
            except OSError:
                continue  # of a killed process; the next one replaces the socket
            found = peer(connection)
            yield found.pid if found is not None else None
