"""The server's side of the WebSocket handshake (RFC 6455), and Kubernetes' use of its protocols.

A browser watches over a WebSocket: every event is a text message, or a binary one in protobuf. The frames are
those of `client.http.frames`.
"""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

# Clients send input in pieces, not in longer messages.
_MAX_HEARD_BYTES = 1 << 20
# The header that names the chosen protocol.
PROTOCOL = "Sec-WebSocket-Protocol"
# The protocol prefix with which a browser, which cannot set headers, sends a token.
_BEARER = "base64url.bearer.authorization.k8s.io."


class Offer(NamedTuple):
    """The handshake of a client: its key, its protocols, and the token among them."""

    key: str
    protocols: tuple[str, ...] = ()
    token: str = ""


def offered(headers: Mapping[str, str]) -> Offer | None:
    """Returns the handshake in the headers of a request; None if there is no acceptable one."""
    if headers.get("upgrade", "").lower() != "websocket" or headers.get("sec-websocket-version") != "13":
        return None
    key = headers.get("sec-websocket-key", "")
    try:
        if len(b64decode(key, validate=True)) != 16:
            return None
    except ValueError:
        return None
    named = [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",")]
    tokens = [name.removeprefix(_BEARER) for name in named if name.startswith(_BEARER)]
    protocols = tuple(name for name in named if name and not name.startswith(_BEARER))
    return Offer(key, protocols, _token(tokens[0]) if len(tokens) == 1 and protocols else "")


def _token(text: str) -> str:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except ValueError:
        return ""


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
