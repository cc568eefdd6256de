"""The request from a command to the resident process, and the location of its socket.

This module and `forward` are imported before any other module of a command, so they import only built-in modules.
"""

import marshal
import os
import sys

SWITCH = "SETPOINT_RESIDENT"
# The name in `machine.chosen`, which imports more than built-in modules.
_PORTABLE = "SETPOINT_PORTABLE"
# Short commands without interaction. A command that follows its output keeps its own process.
COMMANDS = frozenset(
    ("ps", "logs", "why", "url", "env", "history", "diff", "timeline", "trace", "blame", "get", "describe", "graph")
)
_FOLLOWING = frozenset(("-f", "--follow", "-w", "--watch"))
_DETACHED = frozenset(("-d", "--detach"))
HEAD_BYTES = 8
# Replies: the pid of the fork, then its exit code; or a refusal.
REPLY_BYTES = 4
REFUSED = -1


def is_short(words: list[str]) -> bool:
    """Returns True for a command that the resident process may run."""
    if not words or os.environ.get(SWITCH) == "off":
        return False
    if words[0] == "up":
        return not _DETACHED.isdisjoint(words)
    return words[0] in COMMANDS and _FOLLOWING.isdisjoint(words)


def socket_path() -> str:
    """Returns the path of the socket in the state directory of the user."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(
        os.environ.get("HOME") or os.path.expanduser("~"), ".local", "state"
    )
    return os.path.join(state, "setpoint", "resident.sock")


def installation() -> tuple[str, str, str, int, str, tuple[int, ...]]:
    """Identifies the interpreter, the installed package, the user, the machine with its process layer, and on Linux the
    namespaces: a command in a container that shares the home directory must not run outside of the container."""
    machine = f"{os.uname().nodename}/{os.environ.get(_PORTABLE, '')}"
    return sys.version, sys.prefix, __file__, os.getuid(), machine, _namespaces()


def _namespaces() -> tuple[int, ...]:
    """Returns the namespaces of this process; empty with the process layer of other systems than Linux."""
    if sys.platform != "linux" or os.environ.get(_PORTABLE, "0") not in ("", "0"):
        return ()
    try:
        return tuple(os.stat(f"/proc/self/ns/{name}").st_ino for name in ("mnt", "net", "pid", "user", "cgroup"))
    except OSError:
        return ()


def encode(words: list[str]) -> bytes:
    """Returns the request of this process to run a command. Raises OSError if the directory was deleted."""
    mask = os.umask(0o077)
    os.umask(mask)
    streams = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    body = marshal.dumps((installation(), words, os.getcwd(), dict(os.environ), streams, mask))
    return len(body).to_bytes(HEAD_BYTES, "little") + body
