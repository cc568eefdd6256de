"""The guardian: the small process that starts, monitors and stops all processes of a control plane, and that outlives
the control plane just long enough to clean up.

The guardian is the parent of all started processes and adopts their orphans. So the guardian knows every process of the
control plane, even daemons that have left their session and environment, and leaves no zombies. It communicates with
the control plane over one socket; when the socket is closed for any reason, the guardian stops all processes with their
signals and grace periods, removes the registered containers and networks, and exits. A guardian of `kept` processes
does not stop them. Only for kept processes that are tied to another process a child stays behind, which stops them when
that process ends. If control plane and guardian are killed together, a watcher (`watcher`) cleans up.

The guardian runs in a separate interpreter without site packages, imports little, and uses the real time.
"""

import contextlib
import errno
import marshal
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from setpoint.machine.chosen import system
from setpoint.workload.process.frames import Frames, frame
from setpoint.workload.process.identity import Identity, stat
from setpoint.workload.process.limits import allowing
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.termination import Stopping, exit_descriptor
from setpoint.workload.process.ties import Tie, see_to
from setpoint.workload.process.watcher import Watcher
from setpoint.workload.process.watcher import start as start_watcher

# The grace period of processes that were not registered.
STRAY_GRACE = 2.0
# Trees that end at nearly the same time share one snapshot of the process table.
GATHER_SECONDS = 0.003
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})

Message = dict[str, Any]


class Removal(NamedTuple):
    """The resources to remove at one engine: containers and networks by id or name, and all resources with one of the
    labels (`key` or `key=value`)."""

    socket: str
    containers: Sequence[str] = ()
    networks: Sequence[str] = ()
    labels: Sequence[str] = ()


class Root:
    """A process that was started or is monitored for the control plane."""

    def __init__(self, identity: Identity, message: Message) -> None:
        self.identity = identity
        self.cookie: str = message["cookie"]
        self.signal: int = message["signal"]
        self.grace: float = message["grace"]
        # A kept process is stopped unless the control plane has confirmed the process.
        self.known: bool = message["do"] == "watch"


class Guardian:
    """The event loop: messages, ended children, and stopping trees."""

    def __init__(
        self, connection: socket.socket, session: str, *, kept: bool, files: int = 0, watcher: Watcher | None = None
    ) -> None:
        self._connection, self._session, self._kept = connection, session, kept
        self._watcher = watcher
        self._frames = Frames(connection)
        # The limit of open files for started processes.
        self._files = files
        self._roots: dict[int, Root] = {}
        self._children: dict[int, int] = {}  # pid -> id of the root
        self._watches: dict[int, int] = {}  # exit descriptor -> id of a root that is not our child
        self._stops: dict[int, Stopping] = {}
        self._removals: dict[str, tuple[Any, ...]] = {}
        self._removing: list[Any] = []
        self._ties: list[Tie] = []
        self._orphaned = False
        self._poll = select.poll()
        self._polled: set[int] = set()
        self._wake_pipe, waker = os.pipe()
        for descriptor in (self._wake_pipe, waker):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._spare = frozenset((os.getpid(), os.getppid(), *(() if watcher is None else (watcher.pid,))))

    def run(self) -> None:
        self._send(id=0, event="ready")
        for descriptor in (self._connection.fileno(), self._wake_pipe):
            self._poll.register(descriptor, select.POLLIN)
        while not (self._orphaned and not self._stops):
            self._poll_once()
        if not self._kept:
            self._clean_up()
            if self._watcher is not None:
                self._watcher.dismiss()
        elif self._ties and os.fork() == 0:
            # The parent waits for our end, and must not wait for that of others.
            self._connection.close()
            see_to(self._ties)

    def _poll_once(self) -> None:
        ready = dict(self._poll.poll(self._timeout()))
        if self._wake_pipe in ready:
            os.read(self._wake_pipe, 4096)
        if self._connection.fileno() in ready and not self._orphaned:
            self._receive()
        self._reap()
        now = time.monotonic()
        for stop in self._stops.values():
            for descriptor in ready.keys() & stop.watched.keys():
                stop.ended(descriptor, now + GATHER_SECONDS)
        for descriptor in ready.keys() & self._watches.keys():
            self._on_exit(descriptor)
        self._advance(now)
        self._follow()

    def _timeout(self) -> float | None:
        if not self._stops:
            return None
        return max(0.0, (min(stop.due for stop in self._stops.values()) - time.monotonic()) * 1000)

    def _follow(self) -> None:
        """Polls exactly the descriptors of the monitored processes."""
        wanted = {descriptor for stop in self._stops.values() for descriptor in stop.watched} | self._watches.keys()
        for descriptor in self._polled - wanted:
            self._poll.unregister(descriptor)
        for descriptor in wanted - self._polled:
            self._poll.register(descriptor, select.POLLIN)
        self._polled = wanted

    # Messages

    def _receive(self) -> None:
        while True:
            try:
                is_open = self._frames.receive(socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                is_open = False
            if not is_open:
                self._orphan()
                return
            for data, descriptors in self._frames.messages():
                try:
                    message: Message = marshal.loads(data)
                    getattr(self, f"_do_{message['do']}")(message, descriptors)
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)

    def _send(self, **message: Any) -> None:
        with contextlib.suppress(OSError):  # the control plane may have ended; the next read detects that
            self._connection.sendall(frame(marshal.dumps(message)))

    def _do_start(self, message: Message, descriptors: list[int]) -> None:
        payload, *streams = descriptors
        size = os.fstat(payload).st_size
        path, arguments, environment, directory, terminal = marshal.loads(os.pread(payload, size, 0))
        where = "directory"
        try:
            os.chdir(directory)
            where = "program"
            with allowing(self._files):
                pid = os.posix_spawn(
                    path,
                    arguments,
                    environment,
                    file_actions=_file_actions(streams, terminal),
                    setsid=True,
                    setsigmask=[],
                    setsigdef=_SIGNALS,  # Python ignores some signals, and shells ignore others in the background
                )
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", errno.EINVAL)
            self._send(id=message["id"], event="failed", errno=number, where=where)
            return
        finally:
            os.chdir("/")
        found = stat(pid)  # exists even if ended, because its exit was not collected yet
        identity = Identity(pid, found.started if found is not None else 0)
        self._roots[message["id"]] = Root(identity, message)
        self._children[pid] = message["id"]
        self._send(id=message["id"], event="started", pid=pid, started=identity.started)

    def _do_keep(self, message: Message, _: list[int]) -> None:
        if root := self._roots.get(message["id"]):
            root.known = True

    def _do_watch(self, message: Message, _: list[int]) -> None:
        identity = Identity(message["pid"], message["started"])
        descriptor = exit_descriptor(identity)
        if descriptor is None:
            self._send(id=message["id"], event="exited", status=None)
            return
        self._roots[message["id"]] = Root(identity, message)
        self._watches[descriptor] = message["id"]

    def _do_stop(self, message: Message, _: list[int]) -> None:
        root = Identity(message["pid"], message["started"]) if message["pid"] else None
        self._stop(message["id"], root, message["cookie"], message["signal"], message["grace"])

    def _do_remove(self, message: Message, _: list[int]) -> None:
        self._removals[message["key"]] = message["removal"]
        if self._watcher is not None:
            self._watcher.register(message["key"], message["removal"])

    def _do_forget(self, message: Message, _: list[int]) -> None:
        self._removals.pop(message["key"], None)
        if self._watcher is not None:
            self._watcher.register(message["key"], None)

    def _do_tie(self, message: Message, _: list[int]) -> None:
        self._ties = [Tie(*each) for each in message["ties"]]

    def _stop(self, number: int, root: Identity | None, cookie: str, how: int, grace: float) -> None:
        now = time.monotonic()
        self._stops[number] = Stopping(root, cookie, how, grace, now=now, spare=self._spare)

    # Processes that end

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._children.pop(pid, None)
            if number is not None:
                del self._roots[number]
                self._send(id=number, event="exited", status=status)

    def _on_exit(self, descriptor: int) -> None:
        number = self._watches.pop(descriptor)
        os.close(descriptor)
        del self._roots[number]
        self._send(id=number, event="exited", status=None)

    def _advance(self, now: float) -> None:
        table: ProcessTable | None = None
        while due := {number: stop for number, stop in self._stops.items() if stop.due <= now}:
            table = ProcessTable()
            for number, stop in due.items():
                stop.step(now, table)
                if stop.done:
                    del self._stops[number]
                    self._send(id=number, event="stopped", **stop.report())
            self._reap()
            now = time.monotonic()

    # Termination

    def _orphan(self) -> None:
        self._orphaned = True
        self._poll.unregister(self._connection.fileno())
        for number, root in self._roots.items():
            if not (self._kept and root.known):
                self._stop(-number, root.identity, root.cookie, root.signal, root.grace)
        self._start_removals()

    def _clean_up(self) -> None:
        """Stops all remaining processes: our descendants, and processes with a cookie of the session."""
        while True:
            table = ProcessTable()
            ours = table.descendants([os.getpid()]) - self._spare
            known = frozenset(table.stats[pid].identity for pid in ours if pid in table.stats)
            stray = Stopping(
                None,
                f"{self._session}/",
                signal.SIGTERM,
                STRAY_GRACE,
                now=time.monotonic(),
                spare=self._spare,
                known=known,
            )
            self._stops[0] = stray
            while self._stops:
                self._poll_once()
            report = stray.report()
            if not report["asked"] or report["left"]:
                break
        for thread in self._removing:
            thread.join()

    def _start_removals(self) -> None:
        if not self._removals:
            return
        from threading import Thread

        from setpoint.workload.process.removal import remove

        self._removing = [Thread(target=remove, args=(Removal(*what),)) for what in self._removals.values()]
        for thread in self._removing:
            thread.start()


def _file_actions(streams: list[int], terminal: bytes) -> list[tuple[Any, ...]]:
    if terminal:
        # A session leader without a terminal gets the opened terminal as its controlling terminal.
        return [(os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0), *((os.POSIX_SPAWN_DUP2, 0, to) for to in (1, 2))]
    return [(os.POSIX_SPAWN_DUP2, descriptor, to) for to, descriptor in enumerate(streams)]


def main() -> None:
    descriptor, session, kept, files = sys.argv[1:]
    system.become_subreaper()
    connection = socket.socket(fileno=int(descriptor))
    connection.set_inheritable(False)  # otherwise started processes would keep the socket open
    connection.setblocking(True)
    watcher = start_watcher(session, connection) if kept != "kept" else None
    Guardian(connection, session, kept=kept == "kept", files=int(files), watcher=watcher).run()
    os._exit(0)  # no cleanup is needed, and the control plane may wait
