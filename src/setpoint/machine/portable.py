"""The process layer for systems other than Linux: psutil for the process table, a thread or kqueue for exits.

psutil is imported with the first call. A start time is a wall-clock time in hundredths of a second, as recorded by
the system, so an identity stays unique after a reboot.
"""

import os
import select
import sys
import tempfile
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from setpoint.machine.layer import ProcessFields, Usage

NAME = "portable"
_HUNDREDTHS = 100
# The states of a bound socket: of TCP, and of UDP.
_HELD = ("LISTEN", "NONE")
_STATES = {"zombie": "Z", "dead": "X", "stopped": "T", "tracing-stop": "t"}
_FIRST_SECONDS, _LONGEST_SECONDS = 0.01, 0.25


@cache
def _psutil() -> ModuleType:
    return import_module("psutil")  # without types


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
    try:
        return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in found.environ().items())
    except (_psutil().Error, OSError):
        return b""


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
    is_refused = False
    for process in _psutil().process_iter():
        try:
            connections = process.net_connections(kind=protocol)
        except _psutil().AccessDenied:
            is_refused = True
            continue
        except (_psutil().Error, OSError):
            continue
        if any(each.laddr and each.laddr.port == port and each.status in _HELD for each in connections):
            return int(process.pid)
    return 0 if is_refused else None
