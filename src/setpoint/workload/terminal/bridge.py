"""A terminal on a Unix socket, by HMP v1: listens for connections, or connects to a socket of a peer.

Several viewers may be connected. A viewer that does not read is disconnected, so that the other viewers and the process
are not blocked; after a reconnection the missed output is shown.
"""

import asyncio
import contextlib
import os
import socket
import stat
from typing import NoReturn

from setpoint.node.streams import Size
from setpoint.objects.clock import Clock, timeout
from setpoint.workload.terminal import hmp
from setpoint.workload.terminal.hmp import FrameError, Kind, frame, read_frame
from setpoint.workload.terminal.screen import Screen

# The maximum size of unsent data for a viewer.
_MOST_WAITING = 4 << 20
# The first and last delay between attempts to connect to a peer, and the delay before a reconnection.
_FIRST_SECONDS, _MOST_SECONDS, _AGAIN_SECONDS = 0.1, 5.0, 0.5
# The time for viewers to receive the end.
_CLOSING_SECONDS = 3.0


class _Viewer:
    """The connection of a viewer."""

    def __init__(self, screen: Screen, writer: asyncio.StreamWriter) -> None:
        self._screen, self._writer = screen, writer

    def begin(self) -> None:
        self._write(hmp.hello(self._screen.size) + frame(Kind.STATE_SYNC))
        # Not in the StateSync, which is empty in DCP.
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
    """One terminal on one socket, until `close`, after the end of the terminal."""

    def __init__(self, screen: Screen, path: str, clock: Clock) -> None:
        self._screen, self.path, self._clock = screen, path, clock
        self._server: asyncio.Server | None = None
        self._dialling: asyncio.Task[NoReturn] | None = None
        self._serving: dict[asyncio.Task[None], _Viewer] = {}

    async def listen(self) -> None:
        """Listens on the socket, for our own user only. Raises OSError."""
        await _clear(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The file gets the mode of the socket: other users can never connect.
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(self.path)
            listener.setblocking(False)
            self._server = await asyncio.start_unix_server(self._connected, sock=listener)
        except BaseException:
            listener.close()
            raise

    def dial(self) -> None:
        """Connects to a peer that listens on the socket, and reconnects after each disconnection."""
        self._dialling = asyncio.ensure_future(self._dial())

    async def close(self) -> None:
        """Closes all connections, after a delay for unsent data."""
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
                await self._on_message(viewer, *await read_frame(reader))
        except (EOFError, FrameError, OSError):
            pass  # disconnected, or not a valid client
        finally:
            self._screen.detach(viewer)
            del self._serving[task]
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _on_message(self, viewer: _Viewer, kind: int, payload: bytes) -> None:
        if kind == Kind.INPUT:
            # If the process no longer reads, its end will be reported; the input is lost.
            with contextlib.suppress(OSError):
                await self._screen.write(payload)
        elif kind == Kind.RESIZE and (size := hmp.size_of(payload)) is not None:
            self._screen.resize(size, viewer)


async def _clear(path: str) -> None:
    """Removes a stale socket without a listener. Raises OSError if the path is used otherwise."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(f"{path} already exists and is not a socket")
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        os.unlink(path)
        return
    writer.close()
    raise FileExistsError(f"another process listens on {path}")
