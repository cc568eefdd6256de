"""An IDE for tests: speaks DCP's protocol for run sessions, and does what a test tells it to."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, Protocol

from setpoint.server.edge.websocket import accepted
from setpoint.server.handshake import offered

TOKEN = "let-me-in"


class Editor:
    """The server's side."""

    def __init__(self) -> None:
        self.port = 0
        self.info: dict[str, Any] = {
            "protocols_supported": ["2024-03-03", "2024-04-23", "2099-01-01"],
            "supported_launch_configurations": ["project", "python"],
        }
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.refuses: dict[str, Any] | None = None
        # Told before the answer to the next request for a session.
        self.early: list[dict[str, Any]] = []
        self.ends_on_stop = True
        self.stopped: list[str] = []
        self.connected = asyncio.Event()
        self.pinged = asyncio.Event()
        # A paused IDE reads, but answers no pings.
        self.is_paused, self.pings, self.connections = False, 0, 0
        self._sessions = 0
        self._sockets: set[asyncio.StreamWriter] = set()

    def tell(self, kind: str, session: str, **more: Any) -> None:
        """Notifies everybody who listens."""
        line = json.dumps({"notification_type": kind, "session_id": session, **more}).encode()
        for socket in self._sockets:
            socket.write(Frame(Opcode.TEXT, line + b"\r\n").serialize(mask=False))

    def hang_up(self) -> None:
        """Breaks the connections on which it notifies."""
        self.connected.clear()
        for socket in list(self._sockets):
            socket.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (EOFError, ConnectionError):
            pass
        finally:
            self._sockets.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append((method, target, headers, json.loads(body) if body else None))
        path = target.partition("?")[0]
        if headers.get("authorization") != f"Bearer {TOKEN}":
            self._answer(writer, 401, {"error": {"code": "Unauthorized", "message": "who are you?"}})
        elif path == "/info":
            self._answer(writer, 200, self.info)
        elif path == "/run_session/notify":
            await self._notify(reader, writer, headers)
            return False
        elif method == "PUT":
            self._run(writer)
        else:
            id_ = path.rpartition("/")[2]
            self.stopped.append(id_)
            if self.ends_on_stop:
                self.tell("sessionTerminated", id_, exit_code=143)
            self._answer(writer, 200 if self.ends_on_stop else 204)
        await writer.drain()
        return True

    def _run(self, writer: asyncio.StreamWriter) -> None:
        if self.refuses is not None:
            self._answer(writer, 400, self.refuses)
            return
        self._sessions += 1
        id_ = f"session-{self._sessions}"
        for each in self.early:
            self.tell(each["kind"], id_, **each["more"])
        where = f"Location: https://localhost:{self.port}/run_session/{id_}\r\n"
        self._answer(writer, 201, None, where)

    def _answer(self, writer: asyncio.StreamWriter, status: int, body: Any = None, more: str = "") -> None:
        text = b"" if body is None else json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} x\r\n{more}Content-Length: {len(text)}\r\n\r\n".encode() + text)

    async def _notify(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]
    ) -> None:
        offer = offered(headers)
        assert offer is not None
        # Some servers refuse an offer of no protocols.
        assert "sec-websocket-protocol" not in headers
        writer.write(accepted(offer))
        self._sockets.add(writer)
        self.connections += 1
        self.connected.set()
        protocol = Protocol(SERVER)
        while data := await reader.read(1 << 16):
            protocol.receive_data(data)
            for event in protocol.events_received():
                if isinstance(event, Frame) and event.opcode is Opcode.PING:
                    self.pinged.set()
                    self.pings += 1
            if not self.is_paused:
                writer.writelines(protocol.data_to_send())


@asynccontextmanager
async def editor(tls: ssl.SSLContext | None = None) -> AsyncIterator[Editor]:
    """An IDE that listens."""
    ide = Editor()
    server = await asyncio.start_server(ide.serve, "127.0.0.1", 0, ssl=tls)
    ide.port = server.sockets[0].getsockname()[1]
    try:
        yield ide
    finally:
        server.close()
        ide.hang_up()
        await asyncio.sleep(0)
