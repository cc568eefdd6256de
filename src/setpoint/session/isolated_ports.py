"""The ports of an isolated copy of an app: chosen once, and remembered with the session."""

import socket
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from setpoint.server import secret_files
from setpoint.store.files import make_directory

_ATTEMPTS = 1000


def choose_ports(file: Path, fixed: Iterable[int], *, running: bool) -> dict[int, int]:
    """Returns a free port for each fixed port. Remembered ports are used again if they are still free, or if the
    session is running. Raises OSError."""
    remembered, fixed = _read(file), set(fixed)
    found: dict[int, int] = {}
    for number in sorted(fixed):
        known = remembered.get(number)
        if known is not None and (running or _is_free(known)) and known not in found.values():
            found[number] = known
        else:
            found[number] = free_port({*fixed, *found.values()})
    return found


def remember_ports(file: Path, ports: Mapping[int, int]) -> None:
    """Stores the chosen ports. Raises OSError."""
    if ports != _read(file):
        make_directory(file.parent)
        secret_files.write(file, msgspec.json.encode(ports))


def _read(file: Path) -> dict[int, int]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[int, int])
    except (OSError, msgspec.DecodeError):
        return {}


def free_port(taken: Collection[int] = ()) -> int:
    """Returns a port that is free for TCP and UDP on all addresses. Raises OSError."""
    for _ in range(_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as asked:
            asked.bind(("", 0))
            number = int(asked.getsockname()[1])
        if number not in taken and _is_free(number):
            return number
    raise OSError("no free port found")


def _is_free(number: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as asked:
            if kind == socket.SOCK_STREAM:
                # Connections that have ended keep a port for a while; programs can listen again at once.
                asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                asked.bind(("", number))
            except OSError:
                return False
    return True
