"""The server's side of a WebSocket's handshake (RFC 6455), and what Kubernetes puts into its protocols.

A browser watches over a WebSocket: every event is a message of text. The frames are those of `client.http.frames`.
"""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

# A client sends input in pieces, and no longer messages.
_MAX_HEARD_BYTES = 1 << 20
# The header that names the protocol which is spoken.
PROTOCOL = "Sec-WebSocket-Protocol"
# How a browser, which cannot set headers, brings a token: among the protocols that it offers.
_BEARER = "base64url.bearer.authorization.k8s.io."


class Offer(NamedTuple):
    """What a client offers: its key, the protocols it knows, and the token that was among them."""

    key: str
    protocols: tuple[str, ...] = ()
    token: str = ""


def offered(headers: Mapping[str, str]) -> Offer | None:
    """The offer in the headers of a request; None where there is none that can be taken."""
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
    """The answer that takes an offer."""
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


def frames() -> "Frames":
    """The frames of a WebSocket whose offer was taken."""
    from setpoint.client.http.frames import SERVER, Frames

    return Frames(SERVER, _MAX_HEARD_BYTES)
