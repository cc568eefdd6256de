"""WebSockets (RFC 6455), as far as a stream over one takes: the handshake, frames out, and what a client may say.

A browser watches this way: every event is a text frame. What the client sends is only heard for what ends or tests the
connection; a client that says anything else than the protocol allows is left.
"""

import hashlib
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Mapping
from typing import NamedTuple

MORE, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
NORMAL, GOING_AWAY, PROTOCOL_ERROR, TOO_BIG = 1000, 1001, 1002, 1009

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_FINAL, _MASKED, _RESERVED, _CONTROL = 0x80, 0x80, 0x70, 0x8
_MAX_CONTROL_BYTES = 125
# Nobody who only listens has much to say.
_MAX_HEARD_BYTES = 1 << 20
# The header that names the protocol which is spoken.
PROTOCOL = "Sec-WebSocket-Protocol"
# How a browser, which cannot set headers, brings a token: among the protocols that it offers.
_BEARER = "base64url.bearer.authorization.k8s.io."


class Refused(Exception):  # noqa: N818 - says what happened
    """The other side broke the protocol; `code` is what it is told."""

    def __init__(self, code: int) -> None:
        super().__init__(f"WebSocket error {code}")
        self.code = code


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
    digest = hashlib.sha1((offer.key + _GUID).encode(), usedforsecurity=False).digest()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {b64encode(digest).decode()}",
    ]
    if protocol:
        lines.append(f"{PROTOCOL}: {protocol}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def frame(kind: int, payload: bytes) -> bytes:
    """A whole message in one frame."""
    size = len(payload)
    if size < 126:
        return bytes((_FINAL | kind, size)) + payload
    if size < 1 << 16:
        return bytes((_FINAL | kind, 126)) + size.to_bytes(2, "big") + payload
    return bytes((_FINAL | kind, 127)) + size.to_bytes(8, "big") + payload


def closing(code: int) -> bytes:
    """The frame that ends a connection."""
    return frame(CLOSE, code.to_bytes(2, "big"))


class Heard(NamedTuple):
    """A message of the client's, or a frame that controls the connection."""

    kind: int
    payload: bytes


class Ear:
    """Takes the messages of a client apart, however their bytes come and in however many frames."""

    def __init__(self) -> None:
        self._rest = b""
        # The message whose frames are still coming.
        self._begun: Heard | None = None

    def hear(self, data: bytes) -> list[Heard]:
        """The messages that are whole now. Raises Refused."""
        self._rest += data
        found = []
        while (taken := self._frame()) is not None:
            is_final, heard = taken
            if heard.kind & _CONTROL:
                found.append(heard)
                continue
            message = self._joined(heard)
            self._begun = None if is_final else message
            if is_final:
                found.append(message)
        return found

    def _joined(self, heard: Heard) -> Heard:
        begun = self._begun
        if (begun is None) == (heard.kind == MORE):
            raise Refused(PROTOCOL_ERROR)
        if begun is None:
            return heard
        if len(begun.payload) + len(heard.payload) > _MAX_HEARD_BYTES:
            raise Refused(TOO_BIG)
        return Heard(begun.kind, begun.payload + heard.payload)

    def _frame(self) -> tuple[bool, Heard] | None:
        data = self._rest
        if len(data) < 2:
            return None
        first, second = data[0], data[1]
        kind, size, start = first & 0xF, second & 0x7F, 2
        is_control = bool(kind & _CONTROL)
        if (
            first & _RESERVED
            or not second & _MASKED
            or (is_control and (size > _MAX_CONTROL_BYTES or not first & _FINAL))
        ):
            raise Refused(PROTOCOL_ERROR)
        if size >= 126:
            start += 2 if size == 126 else 8
            if len(data) < start:
                return None
            size = int.from_bytes(data[2:start], "big")
        if size > _MAX_HEARD_BYTES:
            raise Refused(TOO_BIG)
        end = start + 4 + size
        if len(data) < end:
            return None
        mask, masked = data[start : start + 4], data[start + 4 : end]
        self._rest = data[end:]
        return bool(first & _FINAL), Heard(kind, _unmasked(mask, masked))


def _unmasked(mask: bytes, data: bytes) -> bytes:
    if not data:
        return b""
    pattern = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pattern, "big")).to_bytes(len(data), "big")
