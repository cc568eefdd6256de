"""The control plane's connection to a guardian: starts the guardian, exchanges messages, and detects its end.

Messages are small frames; large data is in a memory file whose descriptor is sent along. Sends never block: unsent data
stays in the outbox.
"""

import asyncio
import marshal
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setpoint.machine.chosen import SWITCH, is_portable
from setpoint.workload.process import detached_process
from setpoint.workload.process.frames import Frames, frame
from setpoint.workload.process.guardian import Message
from setpoint.workload.process.limits import inherited_files

_PROGRAM = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); from setpoint.workload.process.guardian import main; main()"
)
_ROOT = str(Path(__file__).parents[3])


def _roots() -> str:
    """Returns the directories from which a guardian imports modules: only the portable layer needs site packages."""
    found = find_spec("psutil") if is_portable else None
    packages = [] if found is None or not found.origin else [str(Path(found.origin).parents[1])]
    return os.pathsep.join((_ROOT, *packages))


def _switch() -> dict[str, str]:
    """Returns the variable that selects the same process layer for the guardian."""
    return {SWITCH: "1"} if is_portable else {}


class Link:
    """The connection to one guardian. `on_message` receives its messages; `on_lost` is called when the guardian has
    ended, for any reason."""

    def __init__(
        self,
        session: str,
        environment: Mapping[str, str],
        *,
        kept: bool,
        on_message: Callable[[Message], None],
        on_lost: Callable[["Link"], None],
    ) -> None:
        self.kept = kept
        self.was_ready = False
        self._on_message, self._on_lost = on_message, on_lost
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._outbox: deque[tuple[bytes, Sequence[int]]] = deque()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            program = (sys.executable, "-I", "-S", "-c", _PROGRAM, _roots())
            arguments = (str(theirs.fileno()), session, "kept" if kept else "session", str(inherited_files()))
            self._process = detached_process.start(
                (*program, *arguments), {**environment, **_switch()}, directory="/", descriptors=(theirs.fileno(),)
            )
        self._socket.setblocking(False)
        self._frames = Frames(self._socket)
        self._loop.add_reader(self._socket, self._read)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Sends a message with descriptors, which are closed here after sending."""
        self._outbox.append((frame(marshal.dumps(message), len(descriptors)), descriptors))
        if len(self._outbox) == 1:
            self._flush()

    async def close(self) -> None:
        """Closes the sending half, and waits for the end of the guardian."""
        if not self.closed.done():
            self._socket.shutdown(socket.SHUT_WR)
        await asyncio.shield(self.closed)

    def _flush(self) -> None:
        while self._outbox:
            data, descriptors = self._outbox[0]
            try:
                sent = socket.send_fds(self._socket, [data], descriptors) if descriptors else self._socket.send(data)
            except BlockingIOError:
                self._loop.add_writer(self._socket, self._flush)
                return
            except OSError:
                sent = len(data)  # the guardian has ended, as the next read detects; its successor gets the requests
            for descriptor in descriptors:
                os.close(descriptor)
            if sent < len(data):
                self._outbox[0] = data[sent:], ()
            else:
                self._outbox.popleft()
        self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        while True:
            try:
                is_open = self._frames.receive()
            except BlockingIOError:
                return
            except OSError:
                is_open = False
            if not is_open:
                self._end()
                return
            for data, _ in self._frames.messages():
                message: dict[str, Any] = marshal.loads(data)
                if message["event"] == "ready":
                    self.was_ready = True
                else:
                    self._on_message(message)

    def _end(self) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for _, descriptors in self._outbox:
            for descriptor in descriptors:
                os.close(descriptor)
        self._outbox.clear()
        self._process.wait()  # the guardian closes its end last
        self.closed.set_result(None)
        self._on_lost(self)
