"""Port-forwarding with SPDY inside of a WebSocket, as kubectl does: any number of connections to ports of a pod.

A connection has two streams with the same `requestID`: data, and a text after an error.
"""

import asyncio
from collections.abc import Mapping

from setpoint.node.functions import NodeFunctions
from setpoint.node.streams import Streams
from setpoint.objects.tree import Object
from setpoint.server.message import Frame, Sink
from setpoint.server.verbs.channels import ClientMessages
from setpoint.server.verbs.port_conversation import PortStreams, is_port, talk
from setpoint.server.verbs.spdy_frames import (
    DATA,
    FIN,
    PING,
    PROTOCOL_ERROR,
    REFUSED,
    RST_STREAM,
    SYN_STREAM,
    FrameReader,
    FrameWriter,
    SpdyError,
    SpdyFrame,
    data_frame,
    ping,
    refusal,
)

SPDY = "SPDY/3.1+portforward.k8s.io"
MOST_CONNECTIONS = 128


class _Connection(PortStreams):
    """One connection of the client to a port."""

    def __init__(self, sink: Sink, port: int) -> None:
        super().__init__(sink)
        self.port = port
        # The streams for data and for an error; 0 until the client has opened them.
        self.data = self.error = 0
        self.talking: asyncio.Task[None] | None = None

    def _framed(self, data: bytes, *, is_error: bool) -> bytes:
        return data_frame(self.error if is_error else self.data, data)


class SpdyForwardStream:
    """Runs the connections of a client when the WebSocket is open, until the client ends the WebSocket."""

    def __init__(self, agent: NodeFunctions, pod: Object) -> None:
        self._agent = agent
        self._pod = pod
        self._reader, self._writer = FrameReader(), FrameWriter()
        self._connections: dict[str, _Connection] = {}
        self._streams: dict[int, _Connection] = {}
        self._sink: Sink

    async def run(self, sink: Sink) -> None:
        self._sink = sink
        serving = asyncio.ensure_future(self._serve(ClientMessages(sink)))
        closed = asyncio.ensure_future(sink.wait_closed())
        try:
            await asyncio.wait((serving, closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            talking = [each.talking for each in self._connections.values() if each.talking is not None]
            for task in (serving, closed, *talking):
                task.cancel()
            await asyncio.gather(serving, closed, *talking, return_exceptions=True)

    async def _serve(self, messages: ClientMessages) -> None:
        """Processes the frames of the client. Returns after a violation of the protocol."""
        while True:
            try:
                for frame in self._reader.read(await messages.next()):
                    await self._process(frame)
            except SpdyError:
                return

    async def _process(self, frame: SpdyFrame) -> None:
        if frame.kind == SYN_STREAM:
            self._open(frame.stream, frame.headers)
        elif frame.kind == PING:
            self._send(ping(frame.stream))
        connection = self._streams.get(frame.stream)
        if connection is None or frame.kind not in (DATA, SYN_STREAM, RST_STREAM):
            return
        if frame.kind == RST_STREAM:
            self._abandon(connection)
        elif frame.stream == connection.data:
            if frame.payload:
                await connection.put(frame.payload)
            if frame.flags & FIN:
                await connection.put(b"")

    def _open(self, stream: int, headers: Mapping[str, str]) -> None:
        """Opens a stream; a connection begins with the second of its two streams."""
        kind, port, name = (headers.get(each, "") for each in ("streamtype", "port", "requestid"))
        connection = self._connections.get(name)
        known = connection and (connection.data if kind == "data" else connection.error)
        if kind not in ("data", "error") or not is_port(port) or known or stream in self._streams:
            self._send(refusal(stream, PROTOCOL_ERROR))
            return
        if connection is None:
            if len(self._connections) >= MOST_CONNECTIONS:
                self._send(refusal(stream, REFUSED))
                return
            connection = self._connections[name] = _Connection(self._sink, int(port))
        if kind == "data":
            connection.data = stream
        else:
            connection.error = stream
        self._streams[stream] = connection
        self._send(self._writer.reply(stream))
        if connection.data and connection.error:
            connection.talking = asyncio.ensure_future(self._connect(name, connection))

    def _abandon(self, connection: _Connection) -> None:
        """Ends a connection, or the part of one that the client does not complete."""
        if connection.talking is not None:
            connection.talking.cancel()
            return
        self._connections = {name: each for name, each in self._connections.items() if each is not connection}
        self._streams = {stream: each for stream, each in self._streams.items() if each is not connection}

    async def _connect(self, name: str, connection: _Connection) -> None:
        """Connects the client to the port, and ends both streams afterwards."""

        async def conversation(streams: Streams) -> int:
            return await (await self._agent.forward(self._pod, connection.port))(streams)

        try:
            await talk(connection.port, conversation, connection)
        finally:
            del self._connections[name]
            for stream in (connection.data, connection.error):
                del self._streams[stream]
                self._send(data_frame(stream, b"", is_last=True))

    def _send(self, frame: bytes) -> None:
        self._sink.write(Frame(frame))
