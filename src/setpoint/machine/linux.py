"""The process layer of Linux: /proc, pidfds, memfds and prctl."""

import os
from functools import cache

from setpoint.machine.layer import ProcessFields, Usage

NAME = "linux"
_PR_SET_CHILD_SUBREAPER = 36
_LISTENING = "0A"


def fields(pid: int) -> ProcessFields | None:
    line = _read(f"/proc/{pid}/stat")
    if b")" not in line:
        return None
    # The program name is in parentheses and may contain any characters, including parentheses and spaces.
    found = line[line.rindex(b")") + 2 :].split()
    return ProcessFields(pid, found[0].decode(), int(found[1]), int(found[2]), int(found[3]), int(found[19]))


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name[0].isdecimal()]


def environment(pid: int) -> bytes:
    return _read(f"/proc/{pid}/environ")


def program(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").decode(errors="replace").strip()


def usage(pid: int) -> Usage | None:
    line, pages = _read(f"/proc/{pid}/stat"), _read(f"/proc/{pid}/statm").split()
    if b")" not in line or len(pages) < 2:
        return None
    found = line[line.rindex(b")") + 2 :].split()
    ticks = int(found[11]) + int(found[12])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(pages[1]) * os.sysconf("SC_PAGE_SIZE"))


@cache
def boot_id() -> str:
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


def since_boot(started: int) -> float:
    return started / os.sysconf("SC_CLK_TCK")


@cache
def boot_time() -> float:
    lines = _read("/proc/stat").decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("btime"))


def exit_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def become_subreaper() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def memory_file() -> int:
    return os.memfd_create("setpoint-start")


def port_holder(protocol: str, port: int) -> int | None:
    sockets = _listening_sockets(protocol, port)
    if not sockets:
        return None
    for pid in pids():
        try:
            with os.scandir(f"/proc/{pid}/fd") as entries:
                if any(_target(entry.path) in sockets for entry in entries):
                    return pid
        except OSError:
            continue  # the process has ended, or belongs to another user
    return 0


def _listening_sockets(protocol: str, port: int) -> set[str]:
    found = set()
    for table in (f"/proc/net/{protocol}", f"/proc/net/{protocol}6"):
        for line in _read(table).decode().splitlines()[1:]:
            words = line.split()
            is_held = protocol == "udp" or words[3] == _LISTENING
            if is_held and int(words[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{words[9]}]")
    return found


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: str) -> bytes:
    """Returns the contents of a file of /proc; empty if the process has ended or belongs to another user."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"".join(parts)
