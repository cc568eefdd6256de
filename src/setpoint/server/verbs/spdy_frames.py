"""Frames of SPDY/3.1, as far as port-forwarding uses them: streams with headers and data. Without input and output.

`kubectl port-forward` has SPDY inside of a WebSocket. Flow control is not part of this use: the programs of Kubernetes
ignore windows.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

DATA, SYN_STREAM, SYN_REPLY, RST_STREAM, PING, HEADERS = 0, 1, 2, 3, 6, 8
FIN = 1
PROTOCOL_ERROR, REFUSED = 1, 3
MOST_FRAME_BYTES, MOST_HEADER_BYTES = 1 << 20, 16 << 10
_VERSION = 3
_CONTROL = 0x8000
_STREAM = 0x7FFFFFFF
_HEAD = struct.Struct("!HHI")
_NUMBER = struct.Struct("!I")
# The offset of the header block in the frames that have one.
_BLOCKS = {SYN_STREAM: 10, SYN_REPLY: 4, HEADERS: 4}
# The dictionary for the compression of headers, by which both sides know frequent texts: first each with its length.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_TEXTS = (*_WORDS.split(" "), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(_NUMBER.pack(len(text)) + text.encode() for text in _TEXTS) + _REST.encode()


class SpdyError(ValueError):
    """The peer violates the protocol."""


class SpdyFrame(NamedTuple):
    """A received frame. A data frame has a payload, and the start of a stream has headers."""

    kind: int
    stream: int
    flags: int
    payload: bytes = b""
    headers: Mapping[str, str] = {}


class FrameReader:
    """Divides the bytes of a peer into frames."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def read(self, data: bytes) -> Iterator[SpdyFrame]:
        """Yields the complete frames. Raises SpdyError."""
        self._received += data
        while len(self._received) >= _HEAD.size:
            first, second, rest = _HEAD.unpack_from(self._received)
            size, flags = rest & 0xFFFFFF, rest >> 24
            if size > MOST_FRAME_BYTES:
                raise SpdyError(f"a frame has {size} bytes, more than {MOST_FRAME_BYTES}")
            if len(self._received) < _HEAD.size + size:
                return
            payload = bytes(self._received[_HEAD.size : _HEAD.size + size])
            del self._received[: _HEAD.size + size]
            if not first & _CONTROL:
                yield SpdyFrame(DATA, (first << 16 | second) & _STREAM, flags, payload)
            elif first & ~_CONTROL != _VERSION:
                raise SpdyError(f"the version of a frame is {first & ~_CONTROL}, not {_VERSION}")
            else:
                yield self._control(second, flags, payload)

    def _control(self, kind: int, flags: int, payload: bytes) -> SpdyFrame:
        if len(payload) < _BLOCKS.get(kind, 4 if kind in (RST_STREAM, PING) else 0):
            raise SpdyError(f"a frame of type {kind} is too short")
        number = _NUMBER.unpack_from(payload)[0] if len(payload) >= _NUMBER.size else 0
        if kind == PING:
            return SpdyFrame(kind, number, flags)
        # All header blocks are decompressed: each depends on those before.
        headers = self._headers(payload[_BLOCKS[kind] :]) if kind in _BLOCKS else {}
        return SpdyFrame(kind, number & _STREAM, flags, b"", headers)

    def _headers(self, block: bytes) -> Mapping[str, str]:
        try:
            text = self._inflate.decompress(block, MOST_HEADER_BYTES)
            if self._inflate.unconsumed_tail:
                raise SpdyError(f"the headers of a stream have more than {MOST_HEADER_BYTES} bytes")
            count, place = _NUMBER.unpack_from(text)[0], _NUMBER.size
            found: dict[str, str] = {}
            for _ in range(min(count, MOST_HEADER_BYTES)):
                pair = []
                for _ in range(2):
                    size = _NUMBER.unpack_from(text, place)[0]
                    place += _NUMBER.size + size
                    pair.append(text[place - size : place].decode())
                found[pair[0].lower()] = pair[1]
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"the headers of a stream are malformed: {error}") from None
        return found


class FrameWriter:
    """Makes the frames for a peer."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def start(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """Returns the frame that opens a stream."""
        return _control(SYN_STREAM, _NUMBER.pack(stream) + bytes(6) + self._block(headers))

    def reply(self, stream: int) -> bytes:
        """Returns the frame that accepts a stream."""
        return _control(SYN_REPLY, _NUMBER.pack(stream) + self._block({}))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        texts = [text.encode() for pair in headers.items() for text in pair]
        block = _NUMBER.pack(len(headers)) + b"".join(_NUMBER.pack(len(text)) + text for text in texts)
        return self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def data_frame(stream: int, data: bytes, *, is_last: bool = False) -> bytes:
    """Returns a frame with data of a stream."""
    return _NUMBER.pack(stream) + _NUMBER.pack(len(data) | (FIN << 24 if is_last else 0)) + data


def refusal(stream: int, code: int) -> bytes:
    """Returns the frame that ends a stream with an error."""
    return _control(RST_STREAM, _NUMBER.pack(stream) + _NUMBER.pack(code))


def ping(number: int) -> bytes:
    """Returns the answer to a ping."""
    return _control(PING, _NUMBER.pack(number))


def _control(kind: int, payload: bytes) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION, kind, len(payload)) + payload
