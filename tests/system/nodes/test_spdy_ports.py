"""Forwarded ports with SPDY inside of a WebSocket, as kubectl has them: connections, errors, and violations."""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.system.nodes.test_ports import PODS, nodes, web

from setpoint import testing
from setpoint.client.transport import Call, Socket
from setpoint.objects.errors import Forbidden
from setpoint.server.verbs import spdy_forward
from setpoint.server.verbs.spdy_forward import SPDY
from setpoint.server.verbs.spdy_frames import (
    DATA,
    DICTIONARY,
    FIN,
    MOST_FRAME_BYTES,
    PING,
    PROTOCOL_ERROR,
    REFUSED,
    RST_STREAM,
    SYN_REPLY,
    FrameReader,
    FrameWriter,
    SpdyError,
    SpdyFrame,
    data_frame,
    ping,
    refusal,
)

REQUEST = b"GET /%b HTTP/1.1\r\nConnection: close\r\n\r\n"


class Peer:
    """The client's side of a session."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._reader, self._writer = FrameReader(), FrameWriter()
        self.received: list[SpdyFrame] = []

    async def send(self, data: bytes) -> None:
        await self._socket.send(data)

    async def open(self, stream: int, kind: str, port: int | str, request: int) -> None:
        headers = {"streamType": kind, "port": str(port), "requestID": str(request)}
        await self.send(self._writer.start(stream, headers))

    async def connect(self, request: int, port: int = 8080) -> int:
        """Opens both streams of a connection; returns that for data."""
        first = 4 * request + 1
        await self.open(first, "error", port, request)
        await self.send(data_frame(first, b"", is_last=True))
        await self.open(first + 2, "data", port, request)
        return first + 2

    async def until_ended(self, *streams: int) -> None:
        """Reads until the server has ended the streams."""
        ended = {each.stream for each in self.received if each.flags & FIN or each.kind == RST_STREAM}
        while not ended >= set(streams):
            message = await self._socket.receive()
            if message is None:
                raise ConnectionResetError("the server has ended the session")
            frames = list(self._reader.read(message))
            self.received += frames
            ended |= {each.stream for each in frames if each.flags & FIN or each.kind == RST_STREAM}

    def text(self, stream: int) -> bytes:
        return b"".join(each.payload for each in self.received if each.kind == DATA and each.stream == stream)


@asynccontextmanager
async def session(**ports: Any) -> AsyncIterator[Peer]:
    async with testing.world(nodes=nodes(**ports), objects=[web()]) as world:
        await world.settle()
        async with world.client.socket(Call("GET", f"{PODS}/web/portforward"), (SPDY,)) as socket:
            yield Peer(socket)


async def test_connections_are_independent() -> None:
    async with session() as peer:
        one, two = await peer.connect(0), await peer.connect(1)
        request = REQUEST % b"two"
        await peer.send(data_frame(two, request[:10]))
        await peer.send(data_frame(one, REQUEST % b"one") + data_frame(two, request[10:]))
        await peer.until_ended(one, one - 2, two, two - 2)
        assert peer.text(one).endswith(b"8080 GET /one?  []")
        assert peer.text(two).endswith(b"8080 GET /two?  []")
        assert peer.text(one - 2) == peer.text(two - 2) == b""
        assert {each.stream for each in peer.received if each.kind == SYN_REPLY} == {one - 2, one, two - 2, two}
        await peer.until_ended(await peer.connect(2, 9))
        assert b"no script of a running container answers at port 9" in peer.text(9)


async def test_a_frame_may_come_in_pieces() -> None:
    async with session() as peer:
        stream = await peer.connect(0)
        for place in range(0, 60, 7):
            await peer.send(data_frame(stream, REQUEST % b"pieces")[place : place + 7])
        await peer.until_ended(stream)
        assert peer.text(stream).endswith(b"GET /pieces?  []")


async def test_the_end_of_the_input_ends_the_connection() -> None:
    async with session() as peer:
        stream = await peer.connect(0)
        await peer.send(data_frame(stream, b"", is_last=True))
        await peer.until_ended(stream, stream - 2)
        assert peer.text(stream) == b""


async def test_pings_are_answered_and_invalid_streams_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spdy_forward, "MOST_CONNECTIONS", 2)
    async with session() as peer:
        await peer.send(ping(7))
        for stream, kind, port in ((1, "terminal", 80), (3, "data", "x"), (5, "error", 0)):
            await peer.open(stream, kind, port, stream)
        await peer.connect(10)
        await peer.connect(11)
        await peer.open(101, "data", 8080, 12)
        await peer.open(103, "data", 8080, 11)
        await peer.until_ended(1, 3, 5, 101, 103)
        assert (PING, 7) in [(each.kind, each.stream) for each in peer.received]
        # A client that gives up a connection makes room for another.
        await peer.send(refusal(43, PROTOCOL_ERROR))
        await peer.until_ended(41, 43)
        stream = await peer.connect(13)
        await peer.send(data_frame(stream, REQUEST % b"room"))
        await peer.until_ended(stream)
        assert peer.text(stream).endswith(b"GET /room?  []")


async def test_a_client_may_give_up_before_a_connection_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spdy_forward, "MOST_CONNECTIONS", 1)
    async with session() as peer:
        await peer.open(1, "error", 8080, 0)
        await peer.send(refusal(1, REFUSED))
        stream = await peer.connect(1)
        await peer.send(data_frame(stream, REQUEST % b"next"))
        await peer.until_ended(stream)
        assert peer.text(stream).endswith(b"GET /next?  []")


def control(kind: int, payload: bytes, version: int = 3) -> bytes:
    return struct.pack("!HHI", 0x8000 | version, kind, len(payload)) + payload


def block(text: bytes) -> bytes:
    deflate = zlib.compressobj(zdict=DICTIONARY)
    return bytes(10) + deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)


VIOLATIONS: Mapping[str, tuple[bytes, str]] = {
    "version": (control(1, b"", version=2), "version of a frame is 2"),
    "large": (struct.pack("!II", 1, MOST_FRAME_BYTES + 1), "more than"),
    "short": (control(1, b"1234"), "too short"),
    "not compressed": (control(1, bytes(20)), "malformed"),
    "expanding": (control(1, block(bytes(1 << 20))), "more than"),
    "cut": (control(1, block(struct.pack("!II", 1, 3) + b"key")), "malformed"),
    "not text": (control(1, block(struct.pack("!II", 1, 1) + b"\xff" + struct.pack("!I", 0))), "malformed"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
async def test_a_violation_ends_the_session(name: str) -> None:
    sent, message = VIOLATIONS[name]
    with pytest.raises(SpdyError, match=message):
        list(FrameReader().read(sent))
    async with session() as peer:
        await peer.send(sent)
        with pytest.raises(ConnectionResetError, match="ended the session"):
            await peer.until_ended(1)


async def test_a_user_without_the_right_forwards_no_port() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        with pytest.raises(Forbidden, match="portforward"):
            async with world.client.as_("eve").socket(Call("GET", f"{PODS}/web/portforward"), (SPDY,)):
                pass


async def test_a_connection_whose_application_does_not_read_ends_with_the_session() -> None:
    async def stuck(call: Any) -> Any:
        await asyncio.Event().wait()

    async with session(p8080=stuck) as peer:
        stream = await peer.connect(0)
        await peer.send(data_frame(stream, REQUEST % b""))
