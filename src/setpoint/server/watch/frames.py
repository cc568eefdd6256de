"""Events of watches: the frames for the changes in the log, each made once for all watches."""

from collections.abc import Callable

from setpoint.objects.metrics import Histogram
from setpoint.server.message import Frame
from setpoint.server.watch.starts import SharedStarts
from setpoint.server.watch.stored_labels import labels_of
from setpoint.store.contract import Event, LogEntry

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
PURGED = "PURGED"  # only in a history: a watch never receives an entry without its value

# The limits of the cache: watches follow the log closely, so they need the same few changes at about the same time.
_REMEMBERED = 256
_REMEMBERED_BYTES = 4 << 20
_REMEMBERED_LABELS = 16
# The buckets of the sizes of events are powers of two, which `Changes.count` relies on.
_SIZES = tuple(float(1024 << power) for power in range(8))
_LARGEST = len(_SIZES)


def event_line(kind: str, body: bytes) -> bytes:
    """Returns the line of a watch for an event."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


def event_frame(kind: str, body: bytes) -> Frame:
    """Returns the line of an event as a frame."""
    return Frame(event_line(kind, body))


def kind_of(entry: LogEntry) -> str:
    """Returns the event type of an entry of the log, for a watch without selectors."""
    if entry.purged is not None:
        return PURGED
    if entry.value is None:
        return DELETED
    return MODIFIED if entry.previous else ADDED


class Changes:
    """A cache of the frames of the latest changes of a resource, by form, type, revision and key."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str, int, str], Frame] = {}
        self._bytes = 0
        # The initial events that watches share.
        self.starts = SharedStarts()
        # The number of bytes of the events that all watches of the resource have sent.
        self.sizes = Histogram(_SIZES)
        self._labels: dict[bytes, dict[str, str] | None] = {}

    @property
    def sent(self) -> int:
        """The number of events that all watches of the resource have sent."""
        return self.sizes.count

    def count(self, size: int) -> None:
        """Counts a sent event."""
        sizes = self.sizes
        sizes.buckets[min((size - 1 >> 10).bit_length(), _LARGEST)] += 1
        sizes.sum += size

    def labels(self, value: bytes) -> dict[str, str] | None:
        """Returns the labels of a stored object. Cached, as all watches with selectors need those of the latest
        objects."""
        # Bytes cache their hash, and the log passes the same bytes object to all watches.
        if value not in self._labels:
            if len(self._labels) >= _REMEMBERED_LABELS:
                del self._labels[next(iter(self._labels))]
            self._labels[value] = labels_of(value)
        return self._labels[value]

    def evict(self, key: str) -> None:
        """Removes the frames of an object from the cache, and all labels and initial events, which are cached for
        whole objects."""
        for place in [place for place in self._frames if place[3] == key]:
            self._bytes -= len(self._frames.pop(place).payload)
        self._labels.clear()
        self.starts.clear()

    def frame(self, form: str, kind: str, event: Event, make: Callable[[str, Event], bytes]) -> Frame:
        """Returns the frame of an event; `make` returns the bytes of the event if the frame is not cached."""
        entry = event.entry
        key = (form, kind, entry.revision, entry.key)
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = Frame(make(kind, event))
            self._bytes += len(found.payload)
            while len(self._frames) > _REMEMBERED or (self._bytes > _REMEMBERED_BYTES and len(self._frames) > 1):
                oldest = next(iter(self._frames))
                self._bytes -= len(self._frames.pop(oldest).payload)
        return found
