"""The frames of a watch in protobuf: four bytes with the length, and the message of an event."""

from setpoint.server.codec.protobuf.wire_text import CHARSET, number, sized


def watch_event(kind: str, enclosed: bytes) -> bytes:
    """Returns the frame of an event with an object in its envelope."""
    raw = b"\x0a%b" % number(len(enclosed)).encode(CHARSET)
    size = len(raw) + len(enclosed)
    start = b"%b\x12%b%b" % (sized(1, kind).encode(CHARSET), number(size).encode(CHARSET), raw)
    return b"%b%b%b" % ((len(start) + len(enclosed)).to_bytes(4), start, enclosed)
