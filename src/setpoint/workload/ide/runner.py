"""Runs Executables in an IDE: one session for each; the IDE reports output, process and end of all sessions on one
WebSocket.

Notifications that arrive before the response to the request of their session are kept until then. A lost connection is
reopened; sessions continue meanwhile.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

import msgspec

from setpoint.client.http.websocket import WebSocket
from setpoint.client.transport import Socket
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.ids import Ids
from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.ide import messages
from setpoint.workload.ide.ide_connection import IdeConnection, unavailable
from setpoint.workload.ide.messages import Info, Notification, RunSession, Variable
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.process.command import Exit, StartError
from setpoint.workload.process.pipes import Sink
from setpoint.workload.process.processes import Running
from setpoint.workload.terminal.screen import Screen

_CONNECT_SECONDS, _AGAIN_SECONDS, _PING_SECONDS = 20.0, 1.0, 5.0
# The time to wait for the end of a stopped session.
_ENDING_SECONDS = 10.0
# The limits for unknown sessions whose notifications are kept, and for notifications per session.
_MOST_UNKNOWN, _MOST_KEPT = 256, 10_000

_log = logging.getLogger(__name__)


class IdeSession:
    """One session of the IDE, which runs an Executable."""

    # The process is not ours.
    running: Running | None = None
    screen: Screen | None = None
    identity = ""

    def __init__(self, ide: "IdeRunner", id_: str, execution: Execution, stdout: Sink, stderr: Sink) -> None:
        self._ide, self.id = ide, id_
        self.name, self.uid = execution.name, execution.uid
        self.pid: int | None = None
        self.stdout, self.stderr = stdout, stderr
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    async def stop(self, signal: int, grace: float) -> str:
        """Stops the session."""
        try:
            await self._ide.stop(self)
        except StartError as error:
            return f"session {self.id} of the IDE ({error.message})"
        return ""


class IdeRunner:
    """One IDE and its sessions. `wake` triggers a reconcile of an Executable."""

    def __init__(
        self, environ: Mapping[str, str], clock: Clock, ids: Ids, logs: LogStore, wake: Callable[[str], None]
    ) -> None:
        self._environ, self._clock, self._ids = environ, clock, ids
        self._logs, self._wake = logs, wake
        self._connection: IdeConnection | None = None
        self._info: Info | None = None
        self._lock = asyncio.Lock()
        self._listening: asyncio.Task[NoReturn] | None = None
        self._connected = asyncio.Event()
        self._problem = ""
        self._sessions: dict[str, IdeSession] = {}
        # Notifications of unknown sessions; None: the session has ended.
        self._unknown: OrderedDict[str, list[Notification] | None] = OrderedDict()

    async def start(
        self, obj: Executable, execution: Execution, args: Sequence[str], stdout: Sink, stderr: Sink
    ) -> IdeSession:
        """Runs an Executable in the IDE. Raises StartError."""
        text = (obj.metadata.annotations or {}).get(messages.LAUNCH_CONFIGURATIONS, "")
        if not text:
            raise StartError(
                "NoLaunchConfiguration",
                "the Executable has no launch configuration for the IDE",
                f"set the annotation {messages.LAUNCH_CONFIGURATIONS}, or use executionType Process",
            )
        try:
            wanted = messages.launch_types(text)
        except ValueError as error:
            raise StartError("NoLaunchConfiguration", str(error), "correct the annotation") from None
        connection, info = await self._ready()
        if not set(wanted) & set(info.launches):
            message = f"the IDE supports the launch types {', '.join(info.launches)}, but not {', '.join(wanted)}"
            raise StartError(
                "UnsupportedLaunchConfiguration", message, "install the extension of the IDE for this launch type"
            )
        assert execution.environment is not None
        env = [Variable(name, value) for name, value in sorted(execution.environment.values.items())]
        id_ = await connection.run(RunSession(msgspec.Raw(text.encode()), env, list(args)))
        session = self._sessions[id_] = IdeSession(self, id_, execution, stdout, stderr)
        for each in self._unknown.pop(id_, None) or ():
            self._handle_message(session, each)
        return session

    async def stop(self, session: IdeSession) -> None:
        """Stops a session and waits for its end. Raises StartError."""
        if session.exited.done() or self._connection is None:
            return
        if await self._connection.stop(session.id):
            with suppress(TimeoutError):
                async with timeout(self._clock, _ENDING_SECONDS):
                    await asyncio.shield(session.exited)
        self._end(session, None)

    async def close(self) -> None:
        """Stops all sessions and closes the connection."""
        stops = (self.stop(session) for session in list(self._sessions.values()))
        for ended in await asyncio.gather(*stops, return_exceptions=True):
            if isinstance(ended, BaseException):
                _log.warning("%s", ended)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    # The connection

    async def _ready(self) -> tuple[IdeConnection, Info]:
        """Returns the connection once the IDE's information and notifications are available. Raises StartError."""
        async with self._lock:
            if self._connection is None:
                self._connection = IdeConnection(self._environ, self._ids)
            if self._info is None:
                self._info = await self._connection.info()
            if self._listening is None:
                self._listening = asyncio.ensure_future(self._listen(self._connection))
        try:
            async with timeout(self._clock, _CONNECT_SECONDS):
                await self._connected.wait()
        except TimeoutError:
            raise unavailable(self._problem or "the IDE's notifications are not available") from None
        return self._connection, self._info

    async def _listen(self, connection: IdeConnection) -> NoReturn:
        while True:
            try:
                async with connection.notifications() as socket:
                    self._connected.set()
                    await self._receive(socket)
                    self._problem = "the IDE has closed the connection"
            except StartError as error:
                self._problem = error.message
            self._connected.clear()
            _log.debug("%s", self._problem)
            await self._clock.sleep(_AGAIN_SECONDS)

    async def _receive(self, socket: Socket) -> None:
        pinging = asyncio.ensure_future(self._ping(socket))
        try:
            while (message := await socket.receive()) is not None:
                for line in message.splitlines():
                    self._on_line(line)
        finally:
            pinging.cancel()

    async def _ping(self, socket: Socket) -> None:
        while isinstance(socket, WebSocket):
            await self._clock.sleep(_PING_SECONDS)
            socket.ping()

    # Notifications

    def _on_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            notification = messages.notification(line)
        except msgspec.DecodeError as error:
            _log.debug("ignored an invalid notification of the IDE: %s", error)
            return
        session = self._sessions.get(notification.session_id)
        if session is not None:
            self._handle_message(session, notification)
            return
        if notification.session_id not in self._unknown:
            self._record_session(notification.session_id, [])
        kept = self._unknown[notification.session_id]
        if kept is not None and len(kept) < _MOST_KEPT:
            kept.append(notification)

    def _record_session(self, id_: str, kept: list[Notification] | None) -> None:
        self._unknown[id_] = kept
        while len(self._unknown) > _MOST_UNKNOWN:
            self._unknown.popitem(last=False)

    def _handle_message(self, session: IdeSession, message: Notification) -> None:
        match message:
            case messages.ProcessRestarted(pid=pid):
                session.pid = pid
                self._wake(session.name)
            case messages.ServiceLogs(log_message=text, is_std_err=is_error):
                sink = session.stderr if is_error else session.stdout
                sink.write((text if text.endswith("\n") else f"{text}\n").encode())
            case messages.SessionMessage():
                self._logs.note(session.uid, f"message of the IDE: {message}", "Executable")
            case messages.SessionTerminated(exit_code=code):
                self._end(session, code)

    def _end(self, session: IdeSession, code: int | None) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        self._record_session(session.id, None)
        for sink in (session.stdout, session.stderr):
            sink.close()
        if not session.exited.done():
            # The status has signed 32-bit exit codes, but IDEs report unsigned ones.
            signed = None if code is None else ((code + (1 << 31)) % (1 << 32)) - (1 << 31)
            session.exited.set_result(Exit(signed, None, self._clock.now()))
