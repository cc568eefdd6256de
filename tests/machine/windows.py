"""Simulates Windows for our modules: they see its platform, and none of the modules and functions that Windows lacks.

Other modules keep their functions, because the simulation runs on another system.
"""

import asyncio
import importlib.abc
import os
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Sequence
from typing import Any

MODULES = ("fcntl", "pty", "termios", "tty", "resource", "grp", "pwd", "readline", "syslog", "curses")
PACKAGES = ("uvloop", "psutil", "watchfiles")  # no dependencies of ours on Windows
ABSENT = {
    os: "fork forkpty openpty ttyname getuid geteuid getgid getegid getpgid getpgrp getsid setsid setpgid killpg uname "
    "sysconf pread pwrite fchmod fchown chown lchown mkfifo set_blocking posix_spawn pidfd_open memfd_create eventfd "
    "pipe2 tcgetpgrp wait3 wait4 waitid WNOHANG O_CLOEXEC O_NONBLOCK O_DIRECTORY O_NOFOLLOW sched_getaffinity "
    "getloadavg POSIX_SPAWN_OPEN POSIX_SPAWN_DUP2 nice getpriority statvfs fstatvfs sync fdatasync",
    signal: "SIGKILL SIGHUP SIGCHLD SIGWINCH SIGTSTP SIGSTOP SIGCONT SIGPIPE SIGUSR1 SIGUSR2 SIGALRM SIGQUIT pause "
    "alarm setitimer pthread_sigmask sigwait",
    socket: "AF_UNIX AF_NETLINK SCM_RIGHTS MSG_DONTWAIT CMSG_SPACE send_fds recv_fds",
    sys.modules["_socket"]: "AF_UNIX SCM_RIGHTS",
    select: "poll epoll kqueue POLLIN POLLOUT POLLHUP",
    time: "tzset clock_gettime pthread_getcpuclockid CLOCK_BOOTTIME",
    sys: "platform",
    asyncio: "open_unix_connection start_unix_server get_child_watcher",
}


class _Module(types.ModuleType):
    """A module that hides names from our modules."""

    def __getattribute__(self, name: str) -> Any:
        found = types.ModuleType.__getattribute__
        if name in found(self, "__dict__").get("_hidden_", ()) and _is_ours(found(sys, "_getframe")(1)):
            if self is sys:
                return "win32"
            raise AttributeError(f"simulated Windows has no {name}")
        return found(self, name)


def _is_ours(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("setpoint")


class _Blocker(importlib.abc.MetaPathFinder):
    """Refuses imports of modules that Windows lacks."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if name in PACKAGES or (name in MODULES and frame is not None and _is_ours(frame)):
            raise ModuleNotFoundError(f"simulated Windows has no module {name}", name=name)


def _absent(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


def simulate() -> None:
    """Changes this process, before it imports any of our modules."""
    assert not [name for name in sys.modules if name.partition(".")[0] == "setpoint"]
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Blocker())
    for module, names in ABSENT.items():
        module.__dict__["_hidden_"] = frozenset(names.split())
        module.__class__ = _Module
    loop: Any = asyncio.SelectorEventLoop
    # The default loop of Windows has none of these functions.
    for name in ("add_signal_handler", "add_reader", "add_writer", "create_unix_server", "create_unix_connection"):
        setattr(loop, name, _absent)
