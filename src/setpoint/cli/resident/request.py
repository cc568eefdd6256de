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
SOCKET_PREFIX, SOCKET_SUFFIX = "resident-", ".sock"
# A prime number: the names of sockets are remainders. Short, because the path of a socket has at most 107 bytes.
_PRIME = (1 << 31) - 1
_NAMESPACES = ("mnt", "net", "pid", "user")
_PRIVILEGES = (b"Cap", b"NoNewPrivs", b"Seccomp:", b"Cpus_allowed_list", b"Mems_allowed_list")
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


Identity = tuple[object, ...]


def identity() -> Identity:
    """Returns everything in which a process of the resident process must equal the process of the command: interpreter,
    installed package, machine, process layer, user, priority, resource limits, and on Linux namespaces, control group,
    processors and privileges. For example, a command in a container that shares the home directory must not run
    outside of the container."""
    layer = os.environ.get(_PORTABLE, "0")
    is_linux = sys.platform == "linux" and layer in ("", "0")
    where = (sys.version, sys.prefix, __file__, os.uname().nodename, layer)
    who = (os.getuid(), os.geteuid(), os.getgid(), os.getegid(), sorted(os.getgroups()))
    return *where, *who, os.getpriority(os.PRIO_PROCESS, 0), *(_on_linux() if is_linux else _limits())


def _on_linux() -> Identity:
    spaces = tuple(os.stat(f"/proc/self/ns/{name}").st_ino for name in _NAMESPACES)
    status = [line for line in _lines("status") if line.startswith(_PRIVILEGES)]
    return spaces, *status, *_lines("limits"), *_lines("cgroup")


def _lines(name: str) -> list[bytes]:
    with open(f"/proc/self/{name}", "rb", buffering=0) as file:
        return file.read().splitlines()


def _limits() -> Identity:
    import resource

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return tuple(resource.getrlimit(getattr(resource, name)) for name in names)


def directory() -> str:
    """Returns the directory of the sockets: the state directory of the user."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(
        os.environ.get("HOME") or os.path.expanduser("~"), ".local", "state"
    )
    return os.path.join(state, "setpoint")


def socket_path(who: Identity) -> str:
    """Returns the path of the socket for commands with an identity. Each identity has its own resident process."""
    number = int.from_bytes(repr(who).encode(), "little") % _PRIME
    return os.path.join(directory(), f"{SOCKET_PREFIX}{number:x}{SOCKET_SUFFIX}")


def is_private(path: str) -> bool:
    """Returns True if only this user can replace files in a directory."""
    found = os.stat(path)
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def encode(words: list[str], who: Identity) -> bytes:
    """Returns the request of this process to run a command. Raises OSError if the directory was deleted."""
    mask = os.umask(0o077)
    os.umask(mask)
    streams = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    body = marshal.dumps((repr(who), words, os.getcwd(), dict(os.environ), streams, mask))
    return len(body).to_bytes(HEAD_BYTES, "little") + body
