"""The server's side of an accepted WebSocket (RFC 6455).

A browser watches over a WebSocket: every event is a text message, or a binary one in protobuf. The frames are
those of `client.http.frames`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from setpoint.server.handshake import PROTOCOL, Offer

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

# Clients send input in pieces, not in longer messages.
_MAX_HEARD_BYTES = 1 << 20


def accepted(offer: Offer, protocol: str = "") -> bytes:
    """Returns the response that accepts a handshake."""
    from websockets.utils import accept_key

    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept_key(offer.key)}",
    ]
    if protocol:
        lines.append(f"{PROTOCOL}: {protocol}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def delimited(stream: bytes) -> Iterator[bytes]:
    """Yields the events of a stream without their lengths, which precede them as four bytes."""
    start = 0
    while start < len(stream):
        end = start + 4 + int.from_bytes(stream[start : start + 4])
        yield stream[start + 4 : end]
        start = end


def frames() -> "Frames":
    """Returns the frames of an accepted WebSocket."""
    from setpoint.client.http.frames import SERVER, Frames

    return Frames(SERVER, _MAX_HEARD_BYTES)
