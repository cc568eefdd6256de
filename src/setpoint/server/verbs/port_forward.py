"""The subresource portforward: connections to ports of a pod over one WebSocket.

With `v4.channel.k8s.io`, each port has two channels: data, and a text after an error. The first message of each channel
is the number of its port, in two bytes. kubectl uses SPDY instead (`spdy_forward`).
"""

import asyncio
from collections.abc import Sequence

from setpoint.node.functions import NodeFunctions
from setpoint.node.streams import Conversation
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.request.context import Context
from setpoint.server.verbs.channels import ClientMessages, chosen_protocol
from setpoint.server.verbs.port_conversation import PortStreams, is_port, talk
from setpoint.server.verbs.spdy_forward import SPDY, SpdyForwardStream

MOST_PORTS = 16
_PROTOCOLS = ("v4.channel.k8s.io", SPDY)


async def forwarded(context: Context, agent: NodeFunctions, pod: Object) -> Response:
    """Connects a client to ports of a pod. Raises APIError."""
    chosen = chosen_protocol(context, "portforward", _PROTOCOLS)
    if chosen == SPDY:
        return Response(200, "text/plain", SpdyForwardStream(agent, pod), [(PROTOCOL, chosen)])
    ports = _ports(context)
    found = [(port, await agent.forward(pod, port)) for port in ports]
    return Response(200, "text/plain", ForwardStream(found), [(PROTOCOL, chosen)])


def _ports(context: Context) -> list[int]:
    """Returns the ports of a request. Raises BadRequest."""
    texts = [part for value in context.query.get("ports") or () for part in value.split(",")]
    if not texts or len(texts) > MOST_PORTS:
        raise BadRequest(f"ports: required, from 1 to {MOST_PORTS} numbers")
    for text in texts:
        if not is_port(text):
            raise BadRequest(f'ports: invalid port "{text}": use a number from 1 to 65535')
    return [int(text) for text in texts]


class _ChannelStreams(PortStreams):
    """The two channels of one port."""

    def __init__(self, sink: Sink, channel: int) -> None:
        super().__init__(sink)
        self._channel = channel

    def _framed(self, data: bytes, *, is_error: bool) -> bytes:
        return bytes((self._channel + is_error,)) + data


class ForwardStream:
    """Runs the conversations with all ports when the WebSocket is open, until all have ended."""

    def __init__(self, conversations: Sequence[tuple[int, Conversation]]) -> None:
        self._conversations = conversations

    async def run(self, sink: Sink) -> None:
        messages = ClientMessages(sink)
        streams = [_ChannelStreams(sink, 2 * place) for place in range(len(self._conversations))]
        for place, (port, _) in enumerate(self._conversations):
            for channel in (2 * place, 2 * place + 1):
                sink.write(Frame(bytes((channel,)) + port.to_bytes(2, "little")))
        talking = [
            asyncio.ensure_future(talk(port, conversation, each))
            for (port, conversation), each in zip(self._conversations, streams, strict=True)
        ]
        all_done = asyncio.gather(*talking)
        others = [asyncio.ensure_future(_distribute(messages, streams)), asyncio.ensure_future(sink.wait_closed())]
        try:
            await asyncio.wait((all_done, others[1]), return_when=asyncio.FIRST_COMPLETED)
        finally:
            all_done.cancel()
            for task in others:
                task.cancel()
            await asyncio.gather(all_done, *others, return_exceptions=True)


async def _distribute(messages: ClientMessages, streams: Sequence[PortStreams]) -> None:
    """Passes the messages of the client to the ports, until cancelled."""
    while True:
        message = await messages.next()
        # An empty piece would be the end of the input.
        if len(message) > 1 and message[0] % 2 == 0 and message[0] // 2 < len(streams):
            await streams[message[0] // 2].put(message[1:])
