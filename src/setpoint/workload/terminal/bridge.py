"""A terminal on a Unix socket, by HMP v1: for whoever connects, or at a socket that a peer listens on.

Several may look at once. One who does not read loses its connection rather than stop the others, or the process; what
it has missed is shown when it comes back.
"""

import asyncio
import contextlib
import os
import socket
import stat
from typing import NoReturn

from setpoint.objects.clock import Clock, timeout
from setpoint.workload.terminal import hmp
from setpoint.workload.terminal.hmp import FrameError, Kind, Size, frame, read_frame
from setpoint.workload.terminal.screen import Screen

# What may wait for a viewer that does not read.
_MOST_WAITING = 4 << 20
# How soon a peer is dialled again: more slowly while it is not there, and never more often than this.
_FIRST_SECONDS, _MOST_SECONDS, _AGAIN_SECONDS = 0.1, 5.0, 0.5
# How long viewers have to take the end.
_CLOSING_SECONDS = 3.0


class _Viewer:
    """A connection."""

    def __init__(self, screen: Screen, writer: asyncio.StreamWriter) -> None:
        self._screen, self._writer = screen, writer

    def begin(self) -> None:
        self._write(hmp.hello(self._screen.size) + frame(Kind.STATE_SYNC))
        # Not in the StateSync, which DCP's clients know as empty.
        if past := self._screen.join(self):
            self.output(past)

    def output(self, data: bytes) -> None:
        self._write(frame(Kind.OUTPUT, data))

    def resized(self, size: Size) -> None:
        self._write(hmp.resize(size))

    def ended(self, code: int) -> None:
        self._write(hmp.exited(code))
        self._writer.close()

    def abort(self) -> None:
        self._writer.transport.abort()

    def _write(self, data: bytes) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > _MOST_WAITING:
            transport.abort()
        else:
            self._writer.write(data)


class Bridge:
    """One terminal on one socket. It ends with `close`, after the terminal has."""

    def __init__(self, screen: Screen, path: str, clock: Clock) -> None:
        self._screen, self.path, self._clock = screen, path, clock
        self._server: asyncio.Server | None = None
        self._dialling: asyncio.Task[NoReturn] | None = None
        self._serving: dict[asyncio.Task[None], _Viewer] = {}

    async def listen(self) -> None:
        """Has others connect to the socket, which only we may. Raises OSError."""
        await _clear(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The file that binding makes has the mode of the socket: there is no moment when others may connect.
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(self.path)
            listener.setblocking(False)
            self._server = await asyncio.start_unix_server(self._connected, sock=listener)
        except BaseException:
            listener.close()
            raise

    def dial(self) -> None:
        """Connects to a peer that listens on the socket, now and whenever the connection has ended."""
        self._dialling = asyncio.ensure_future(self._dial())

    async def close(self) -> None:
        """Ends all connections, after they have had a while to take what was written."""
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
        serving = list(self._serving)
        if serving:
            if self._screen.code is not None:
                with contextlib.suppress(TimeoutError):
                    async with timeout(self._clock, _CLOSING_SECONDS):
                        await asyncio.wait(serving)
            for viewer in list(self._serving.values()):
                viewer.abort()
            await asyncio.gather(*serving, return_exceptions=True)

    async def _dial(self) -> NoReturn:
        wait = _FIRST_SECONDS
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(self.path)
            except OSError:
                await self._clock.sleep(wait)
                wait = min(wait * 2, _MOST_SECONDS)
                continue
            wait = _FIRST_SECONDS
            serving = asyncio.ensure_future(self._connected(reader, writer))
            await asyncio.wait((serving,))
            await self._clock.sleep(_AGAIN_SECONDS)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        viewer = _Viewer(self._screen, writer)
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = viewer
        try:
            viewer.begin()
            while True:
                await self._heard(viewer, *await read_frame(reader))
        except (EOFError, FrameError, OSError):
            pass  # it has left, or is none of ours
        finally:
            self._screen.leave(viewer)
            del self._serving[task]
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _heard(self, viewer: _Viewer, kind: int, payload: bytes) -> None:
        if kind == Kind.INPUT:
            # Where nobody reads any more the end is near, and is told; what was typed is lost.
            with contextlib.suppress(OSError):
                await self._screen.write(payload)
        elif kind == Kind.RESIZE and (size := hmp.size_of(payload)) is not None:
            self._screen.resize(size, viewer)


async def _clear(path: str) -> None:
    """Removes a socket that nobody listens on any more. Raises OSError for whatever else has this path."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(f"{path} is there already, and no socket")
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        os.unlink(path)
        return
    writer.close()
    raise FileExistsError(f"somebody else listens on {path}")
