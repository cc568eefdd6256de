"""The request of a client to open a WebSocket, and Kubernetes' use of its protocols."""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping
from typing import NamedTuple

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
