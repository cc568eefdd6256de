"""The resident process: forks for each request, until no request came for a while or no app runs.

The resident process begins as a fork of a finished command, whose modules are already imported. Its socket is in the
state directory and is accessible to its user only. Each fork reports its newly imported modules; the resident process
imports them as well, so that the next command of this kind finds them. A process with modules that have changed
on disk refuses requests and exits.
"""

import gc
import marshal
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from setpoint.cli.resident.peer import peer
from setpoint.cli.resident.request import (
    HEAD_BYTES,
    REFUSED,
    REPLY_BYTES,
    Identity,
    directory,
    identity,
    is_private,
    socket_path,
)
from setpoint.objects.clock import Clock
from setpoint.session.registry import Sessions
from setpoint.store.files import make_directory

IDLE_SECONDS = 60.0
_CHECK_SECONDS = 5.0
_REQUEST_SECONDS = 2.0
_BACKLOG = 16
_REQUEST_BYTES = 1 << 22
_STREAM_NAMES = ("stdin", "stdout", "stderr")
_STREAMS = len(_STREAM_NAMES)
# At most the bytes that a pipe accepts at once; a name that is cut off is not imported.
_NAMES_BYTES = 1 << 15


def remain(sessions: Sessions, clock: Clock) -> None:
    """Forks the resident process. Returns in the calling process, which can exit."""
    try:
        who = identity()
        path = socket_path(who)
        make_directory(Path(path).parent)
        if not is_private(directory()):
            return
        listener = _listen(path)
    except OSError:
        return  # another process is resident, the path is too long for a socket, or the directory is read-only
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        listener.close()
        return
    try:
        os.setsid()
        listener.listen(_BACKLOG)  # again: from now on, the other end of a connection is this process
        os.chdir("/")
        _close_descriptors(listener.fileno())
        gc.freeze()
        _Resident(listener, path, who, sessions, clock).run()
    finally:
        os._exit(0)


def _node(path: str) -> tuple[int, int] | None:
    """Identifies the file at a path; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_own(connection: socket.socket) -> bool:
    """Returns True if the other end belongs to this user. Systems without the option rely on the directory."""
    found = peer(connection)
    return found is None or found.user == os.geteuid()


def _listen(path: str) -> socket.socket:
    """Listens at a path. Raises OSError if another process does, or if the path is too long."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            try:
                other.connect(path)
            except FileNotFoundError:
                pass
            except ConnectionRefusedError:
                os.unlink(path)  # of a killed process
            else:
                raise FileExistsError(path)
        mask = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(mask)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _close_descriptors(kept: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(_STREAMS):
        os.dup2(null, stream)
    os.closerange(_STREAMS, kept)
    os.closerange(kept + 1, max(kept + 1, null) + 256)


class _Resident:
    """The event loop of the resident process."""

    def __init__(self, listener: socket.socket, path: str, who: Identity, sessions: Sessions, clock: Clock) -> None:
        self._listener, self._path, self._who = listener, path, repr(who)
        self._sessions, self._clock = sessions, clock
        self._node = _node(path)
        # By the pid of the fork: the connection to the command, and the pipe for the names of imported modules.
        self._running: dict[int, tuple[socket.socket, int]] = {}
        self._sources = _modification_times()
        self._wake_pipe, waker = os.pipe()
        for descriptor in (self._wake_pipe, waker):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        last = self._clock.monotonic()
        try:
            while self._running or self._is_wanted(last):
                waiting: list[Any] = [self._listener, self._wake_pipe]
                waiting += [connection for connection, _ in self._running.values()]
                ready = select.select(waiting, [], [], _CHECK_SECONDS)[0]
                if self._wake_pipe in ready:
                    os.read(self._wake_pipe, 4096)
                self._reap()
                self._end_abandoned(ready)
                if self._listener in ready:
                    last = self._clock.monotonic()
                    if not self._accept():
                        break
        finally:
            if self._node == _node(self._path):
                with suppress(OSError):
                    os.unlink(self._path)

    def _is_wanted(self, last: float) -> bool:
        """Returns True if a command came within the last minute, an app runs, and commands can find the socket."""
        is_idle = self._clock.monotonic() - last >= IDLE_SECONDS
        return not is_idle and self._node == _node(self._path) and bool(self._sessions.alive())

    def _accept(self) -> bool:
        """Serves one request. Returns False if the modules on disk have changed."""
        connection, _ = self._listener.accept()
        try:
            connection.settimeout(_REQUEST_SECONDS)
            if not _is_own(connection):
                raise PermissionError("a process of another user")
            request, descriptors = _receive(connection)
        except (OSError, ValueError, EOFError, TypeError):
            connection.close()
            return True
        fresh = _modification_times() == self._sources
        if not fresh or request[0] != self._who or len(descriptors) != _STREAMS:
            _send(connection, REFUSED)
            connection.close()
        else:
            self._fork(connection, request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return fresh

    def _fork(self, connection: socket.socket, request: Any, descriptors: list[int]) -> None:
        reading, writing = os.pipe()
        if pid := os.fork():
            os.close(writing)
            _send(connection, pid)
            self._running[pid] = connection, reading
            return
        self._listener.close()
        signal.set_wakeup_fd(-1)
        os.close(reading)
        for other, _ in ((connection, reading), *self._running.values()):
            other.close()
        _run(request, descriptors, writing)

    def _reap(self) -> None:
        for pid, (connection, reading) in list(self._running.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self._running[pid]
                _send(connection, os.waitstatus_to_exitcode(status))
                connection.close()
                self._import(os.read(reading, _NAMES_BYTES).decode().split())
                os.close(reading)

    def _import(self, names: list[str]) -> None:
        for name in names:
            with suppress(ImportError):
                import_module(name)
        if names:
            self._sources = {**_modification_times(), **self._sources}
            gc.freeze()

    def _end_abandoned(self, ready: list[Any]) -> None:
        """Ends the forks of commands that were killed."""
        for pid, (connection, _) in self._running.items():
            if connection in ready:
                os.kill(pid, signal.SIGKILL)


def _receive(connection: socket.socket) -> tuple[Any, list[int]]:
    data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, _STREAMS)
    size = int.from_bytes(data[:HEAD_BYTES], "little")
    parts, missing = [data[HEAD_BYTES:]], size - len(data) + HEAD_BYTES
    if len(data) < HEAD_BYTES or size > _REQUEST_BYTES:
        raise ValueError("invalid request")
    while missing > 0:
        if not (part := connection.recv(missing)):
            raise ValueError("incomplete request")
        parts.append(part)
        missing -= len(part)
    return marshal.loads(b"".join(parts)), descriptors


def _send(connection: socket.socket, number: int) -> None:
    with suppress(OSError):  # the command was killed
        connection.sendall(number.to_bytes(REPLY_BYTES, "little", signed=True))


def _run(request: Any, descriptors: list[int], report: int) -> None:
    """Runs the command in this fork, reports the imported modules, and exits."""
    code, imported = 1, set(sys.modules)
    try:
        _, words, directory, environ, streams, mask = request
        for stream, descriptor in enumerate(descriptors):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(directory)
        os.umask(mask)
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        for stream, (name, (encoding, errors)) in enumerate(zip(_STREAM_NAMES, streams, strict=True)):
            mode = "r" if name == "stdin" else "w"
            opened = open(stream, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)
            setattr(sys, f"__{name}__", opened)
        sys.argv = ["setpoint", *words]
        code = _run_main()
        names = [name for name in sys.modules if name not in imported and name.startswith("setpoint.")]
        os.write(report, " ".join(names).encode()[:_NAMES_BYTES])
    finally:
        os._exit(code)


def _run_main() -> int:
    """Runs the command of `sys.argv` and returns its exit code."""
    from setpoint.cli.main import main

    code: object = 0
    try:
        main(prog_name="setpoint")
    except SystemExit as exit_:
        code = exit_.code
    except KeyboardInterrupt:
        code = 130
    with suppress(OSError):
        sys.stdout.flush()
    return code if isinstance(code, int) else int(code is not None)


def _modification_times() -> dict[str, int]:
    """Returns the modification times of the imported modules of this package."""
    found = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name.startswith("setpoint") and path:
            try:
                found[path] = os.stat(path).st_mtime_ns
            except OSError:
                found[path] = 0
    return found
