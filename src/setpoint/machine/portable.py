"""The process layer for systems other than Linux: psutil for the process table, a thread or kqueue for exits.

psutil is imported with the first call. A start time is a wall-clock time in hundredths of a second, as recorded by
the system, so an identity stays unique after a reboot.
"""

import os
import select
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from setpoint.machine.layer import ListeningSocket, Problem, ProcessFields, Resources, Usage

NAME = "portable"
# Engines outside of Linux run in a virtual machine. A pid that they report belongs to another process here.
SEES_CONTAINERS = False
_PACKAGES = ("psutil", "watchfiles")
_HUNDREDTHS = 100
# The states of a bound socket: of TCP, and of UDP.
_HELD = ("LISTEN", "NONE")
_STATES = {"zombie": "Z", "dead": "X", "stopped": "T", "tracing-stop": "t"}
_FIRST_SECONDS, _LONGEST_SECONDS = 0.01, 0.25


@cache
def _psutil() -> ModuleType:
    return import_module("psutil")  # without types


def problem() -> Problem | None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if not missing:
        return None
    return Problem(f"{' and '.join(missing)} not installed", f"run `pip install {' '.join(missing)}`")


def _process(pid: int) -> Any | None:
    try:
        return _psutil().Process(pid)
    except (_psutil().Error, OSError):
        return None


def fields(pid: int) -> ProcessFields | None:
    found = _process(pid)
    if found is None:
        return None
    try:
        with found.oneshot():
            state = _STATES.get(found.status(), "R")
            started = round(found.create_time() * _HUNDREDTHS)
            return ProcessFields(pid, state, found.ppid(), _id(os.getpgid, pid), _id(os.getsid, pid), started)
    except (_psutil().Error, OSError):
        return None


def _id(read: Any, pid: int) -> int:
    try:
        return int(read(pid))
    except PermissionError:
        return 0


def pids() -> list[int]:
    return list(_psutil().pids())


def environment(pid: int) -> bytes:
    found = _process(pid)
    if found is None:
        return b""
    # Only stopping needs this; quick commands import no more than they use.
    from setpoint.machine.program_replacement import settled_environment

    return settled_environment(lambda: _environment(found), lambda: _has_arguments(found))


def _environment(process: Any) -> bytes:
    try:
        return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in process.environ().items())
    except (_psutil().Error, OSError):
        return b""


def _has_arguments(process: Any) -> bool:
    """Returns True also for processes that have ended or belong to other users."""
    try:
        return bool(process.cmdline()) or not process.exe()
    except (_psutil().Error, OSError):
        return True


def program(pid: int) -> str:
    found = _process(pid)
    try:
        return "" if found is None else str(found.name())
    except (_psutil().Error, OSError):
        return ""


def usage(pid: int) -> Usage | None:
    found = _process(pid)
    if found is None:
        return None
    try:
        times, memory = found.cpu_times(), found.memory_info()
    except (_psutil().Error, OSError):
        return None
    return Usage(times.user + times.system, memory.rss)


def boot_id() -> str:
    return NAME


def since_boot(started: int) -> float:
    return started / _HUNDREDTHS - boot_time()


def boot_time() -> float:
    return float(_psutil().boot_time())


def exit_descriptor(pid: int) -> int | None:
    if sys.platform != "linux" and hasattr(select, "kqueue"):
        from setpoint.machine import kqueue_exits

        return kqueue_exits.exit_descriptor(pid)
    found = fields(pid)
    if found is None or found.state in "ZX":
        return None
    from threading import Thread

    reading, writing = os.pipe()
    Thread(target=_await, args=(found, writing), daemon=True).start()
    return reading


def _await(process: ProcessFields, writing: int) -> None:
    """Closes the pipe when the process has ended, or when its other end was closed."""
    poll = select.poll()
    poll.register(writing, 0)
    seconds = _FIRST_SECONDS
    while not poll.poll(seconds * 1000):
        found = fields(process.pid)
        if found is None or found.started != process.started or found.state in "ZX":
            break
        seconds = min(2 * seconds, _LONGEST_SECONDS)
    os.close(writing)


def become_subreaper() -> None:
    """Has no effect: orphans become children of the first process of the system."""


def memory_file() -> int:
    descriptor, path = tempfile.mkstemp(prefix="setpoint-start-")
    os.unlink(path)
    return descriptor


def port_holder(protocol: str, port: int) -> int | None:
    holders, is_complete = _bound(protocol, port)
    if holders:
        return holders[0].key
    return None if is_complete else 0


def listening(port: int) -> list[ListeningSocket]:
    """Returns the sockets with the pids of their processes as keys: other systems than Linux show no inodes. A socket
    of several processes is listed for each of them."""
    return _bound("tcp", port)[0]


def _bound(protocol: str, port: int) -> tuple[list[ListeningSocket], bool]:
    """Returns the bound sockets of a port, and True if the sockets of all processes were readable."""
    found, is_complete = [], True
    for process in _psutil().process_iter():
        try:
            connections = process.net_connections(kind=protocol)
        except _psutil().AccessDenied:
            is_complete = False
            continue
        except (_psutil().Error, OSError):
            continue
        found += [
            ListeningSocket(str(each.laddr.ip), int(process.pid))
            for each in connections
            if each.laddr and each.laddr.port == port and each.status in _HELD
        ]
    return found, is_complete


def has_socket(pid: int, keys: Collection[int]) -> bool | None:
    return pid in keys


def family(pid: int) -> Iterator[int]:
    yield pid
    found = _process(pid)
    if found is not None:
        try:
            yield from [int(child.pid) for child in found.children(recursive=True)]
        except (_psutil().Error, OSError):
            return


def pid_inside(pid: int) -> int | None:
    return None


def pid_namespace() -> str:
    # Only Linux has namespaces of pids. The name of the machine differs between containers.
    return os.uname().nodename if sys.platform == "linux" else "host"


def resources() -> Resources | None:
    try:
        import resource

        own = _psutil().Process()
        memory, most = own.memory_info(), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return Resources(
            memory.vms,
            memory.rss,
            own.num_fds(),
            0 if most == resource.RLIM_INFINITY else most,
            own.create_time(),
        )
    except ImportError:
        return None  # Windows


def local_ports() -> tuple[int, int] | None:
    return None


def watch_limits() -> Mapping[str, int]:
    return {}
