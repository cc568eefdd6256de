"""The process layer of Linux: /proc, pidfds, memfds and prctl."""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache

from setpoint.machine.layer import ListeningSocket, Problem, ProcessFields, Resources, Usage

NAME = "linux"
SEES_CONTAINERS = True
_PR_SET_CHILD_SUBREAPER = 36
_LISTENING = "0A"


def problem() -> Problem | None:
    if hasattr(os, "pidfd_open") and os.path.exists("/proc/self/stat"):
        return None
    says = "processes cannot run here: Linux 5.3 or newer with /proc is required"
    return Problem(says, "run `pip install psutil watchfiles` and set SETPOINT_PORTABLE=1, or use a newer Linux")


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
    # Only stopping needs this; quick commands import no more than they use.
    from setpoint.machine.program_replacement import settled_environment

    return settled_environment(lambda: _read(f"/proc/{pid}/environ"), lambda: _has_arguments(pid))


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
    sockets = _bound_sockets(protocol, port)
    if not sockets:
        return None
    return next((pid for pid in pids() if has_socket(pid, sockets)), 0)


def listening(port: int) -> list[ListeningSocket]:
    from setpoint.machine import linux_sockets  # only controllers need this module, short commands do not

    return linux_sockets.listening(port)


def has_socket(pid: int, keys: Collection[int]) -> bool | None:
    wanted = {f"socket:[{inode}]" for inode in keys}
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            return any(_target(entry.path) in wanted for entry in entries)
    except PermissionError:
        return None
    except OSError:
        return False  # the process has ended


def family(pid: int) -> Iterator[int]:
    left = [pid]
    while left:
        found = left.pop()
        yield found
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{found}/task"):
                left += map(int, _read(f"/proc/{found}/task/{thread}/children").split())


def pid_inside(pid: int) -> int | None:
    lines = _read(f"/proc/{pid}/status").decode(errors="replace").splitlines()
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return int(numbers[-1]) if len(numbers) > 1 else None


def pid_namespace() -> str:
    return _target("/proc/self/ns/pid").strip("pid:[]") or "unknown"


def resources() -> Resources | None:
    import resource

    own, memory = fields(os.getpid()), _read("/proc/self/statm").split()
    if own is None or len(memory) < 2:
        return None
    page, most = os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Resources(
        int(memory[0]) * page,
        int(memory[1]) * page,
        len(os.listdir("/proc/self/fd")),
        0 if most == resource.RLIM_INFINITY else most,
        boot_time() + since_boot(own.started),
    )


def local_ports() -> tuple[int, int] | None:
    found = _read("/proc/sys/net/ipv4/ip_local_port_range").split()
    return (int(found[0]), int(found[1])) if len(found) == 2 else None


def watch_limits() -> Mapping[str, int]:
    found = {name: _read(f"/proc/sys/fs/inotify/{name}").strip() for name in ("max_user_watches", "max_user_instances")}
    return {f"fs.inotify.{name}": int(limit) for name, limit in found.items() if limit.isdigit()}


def _bound_sockets(protocol: str, port: int) -> set[int]:
    found = set()
    for table in (f"/proc/net/{protocol}", f"/proc/net/{protocol}6"):
        for line in _read(table).decode().splitlines()[1:]:
            words = line.split()
            is_held = protocol == "udp" or words[3] == _LISTENING
            if is_held and int(words[1].rpartition(":")[2], 16) == port:
                found.add(int(words[9]))
    return found


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _has_arguments(pid: int) -> bool:
    """Returns True also for processes of the kernel, zombies, and processes of other users."""
    return bool(_read(f"/proc/{pid}/cmdline")) or not os.path.exists(f"/proc/{pid}/exe")


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
