"""Watch streams: splits the stream of a watch into lines, and decodes their events."""

from collections.abc import AsyncIterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.client.transport import Stream, TransportError
from setpoint.objects.status import from_status
from setpoint.objects.tree import Object

T = TypeVar("T")

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# No object is larger; the limit bounds the memory for a line.
MAX_LINE_BYTES = 64 << 20


class RawEvent(msgspec.Struct, gc=False):
    """A watch event with an undecoded object."""

    type: str
    object: msgspec.Raw


class WatchEvent(NamedTuple, Generic[T]):
    """A watch event: ADDED, MODIFIED or DELETED, or a BOOKMARK with the watch's current resource version."""

    type: str
    object: T
    resource_version: str
    # True for the bookmark that ends the initial events.
    ends_initial: bool = False


_decode_event = msgspec.json.Decoder(RawEvent).decode
_decode = msgspec.json.Decoder().decode


async def lines(stream: Stream, *, with_remainder: bool = False) -> AsyncIterator[bytes]:
    """Yields the lines of a stream. An incomplete last line is dropped, unless `with_remainder` is set."""
    async for several in _lines_at_once(stream, with_remainder):
        for line in several:
            yield line


async def _lines_at_once(stream: Stream, with_remainder: bool) -> AsyncIterator[list[bytes]]:
    """Yields the lines of a stream in batches, as they arrive."""
    rest: list[bytes] = []
    size = 0
    async for piece in stream:
        if b"\n" not in piece:
            rest.append(piece)
            size += len(piece)
            if size > MAX_LINE_BYTES:
                raise TransportError(f"an event is larger than {MAX_LINE_BYTES} bytes", sent=True)
            continue
        several = piece.split(b"\n")
        if rest:
            several[0] = b"".join((*rest, several[0]))
        last = several.pop()
        yield several
        rest, size = [last] if last else [], len(last)
    if rest and with_remainder:
        yield [b"".join(rest)]


async def raw_events(stream: Stream) -> AsyncIterator[RawEvent]:
    """Yields the events of a watch. Raises the API error of an ERROR event."""
    async for several in _lines_at_once(stream, with_remainder=False):
        for line in several:
            if not line.strip():
                continue
            try:
                event = _decode_event(line)
            except msgspec.DecodeError as error:
                raise TransportError(f"the watch sent an invalid event: {error}", sent=True) from None
            if event.type == ERROR:
                raise from_status(_decode(event.object), 500)
            yield event


def read_event(event: RawEvent, kind: KindRef) -> WatchEvent[Any]:
    """Decodes the object of an event."""
    tree: Object = _decode(event.object)
    metadata = tree.get("metadata") or {}
    version = metadata.get("resourceVersion", "")
    if event.type == BOOKMARK:
        ends = (metadata.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true"
        return WatchEvent(BOOKMARK, tree, version, ends)
    return WatchEvent(event.type, kind.read(tree), version)
