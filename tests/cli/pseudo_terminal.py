"""A real pseudo-terminal of a given size, and what a command shows on it."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

ROWS = 40


def shown(command: Sequence[str], columns: int, environ: Mapping[str, str]) -> str:
    """All that a command writes to a terminal so wide, its error output as well, with the lines ended as in a file."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    # Who runs the tests may have said how wide their own terminal is.
    own = {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=own, close_fds=True)
    os.close(slave)
    pieces = []
    try:
        while piece := _read(master):
            pieces.append(piece)
    finally:
        os.close(master)
        process.wait()
    return b"".join(pieces).decode().replace("\r\n", "\n")


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        return b""  # Linux says so when the last one at the other end has left
