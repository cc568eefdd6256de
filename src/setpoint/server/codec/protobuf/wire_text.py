"""The wire format of protobuf as text, in which each character is one byte.

Writing text takes less time than writing bytes, because the strings of a JSON document need not be encoded one by one:
`byte_text` prepares the document, and the whole message is encoded at the end.
"""

import msgspec

from setpoint.server.codec.protobuf.wire import BYTES

# The charset whose characters are single bytes.
CHARSET = "latin-1"
# The numbers that are nearly all lengths: of one or two bytes.
LOW = 1024
SMALL = tuple([chr(value) if value < 0x80 else chr(value & 0x7F | 0x80) + chr(value >> 7) for value in range(LOW)])

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def byte_text(body: bytes) -> bytes:
    """Returns the JSON document with strings that have a character for each byte of the given strings."""
    if b"\\" in body and b"\\u" in body:
        # An escape may stand for several bytes. The encoder writes escapes only for control characters.
        body = _encode(_decode(body))
    return body if body.isascii() else body.decode(CHARSET).encode()


def number(value: int) -> str:
    """Returns a number; a negative one is written with 64 bits."""
    if 0 <= value < LOW:
        return SMALL[value]
    value &= 0xFFFF_FFFF_FFFF_FFFF
    found = ""
    while value > 0x7F:
        found += chr(value & 0x7F | 0x80)
        value >>= 7
    return found + SMALL[value]


def sized(field: int, content: str) -> str:
    """Returns a field with bytes: its tag, their number, the bytes."""
    return number(field << 3 | BYTES) + number(len(content)) + content
