"""Changes as watchers see them: one event of the log, and the frames that tell it, each made once for all of them."""

from collections.abc import Callable

from setpoint.server.message import Frame
from setpoint.server.watch.stored_labels import labels_of
from setpoint.store.contract import Entry, Event

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
PURGED = "PURGED"  # in a history only: a watch is never told an entry that lost its value

# What is remembered: watchers follow the log closely, so they want the same few changes at about the same time.
_REMEMBERED = 256
_REMEMBERED_BYTES = 4 << 20
_REMEMBERED_LABELS = 16


def event_line(kind: str, body: bytes) -> bytes:
    """The line of a watch that tells an event of some type."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


def event_frame(kind: str, body: bytes) -> Frame:
    """That line as a frame of its own."""
    return Frame(event_line(kind, body))


def kind_of(entry: Entry) -> str:
    """What an entry of the log is to who watches everything."""
    if entry.purged is not None:
        return PURGED
    if entry.value is None:
        return DELETED
    return MODIFIED if entry.previous else ADDED


class Changes:
    """The frames of the latest changes of a resource, by form, type, revision and key."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str, int, str], Frame] = {}
        self._bytes = 0
        self._labels: dict[bytes, dict[str, str] | None] = {}

    def labels(self, value: bytes) -> dict[str, str] | None:
        """The labels of a stored object, which all watches with selectors want to know of the latest ones."""
        # Bytes know their hash once they were asked for it, and the log hands the same ones to everybody.
        if value not in self._labels:
            if len(self._labels) >= _REMEMBERED_LABELS:
                del self._labels[next(iter(self._labels))]
            self._labels[value] = labels_of(value)
        return self._labels[value]

    def forget(self, key: str) -> None:
        """Drops the frames of an object, and all labels: they are remembered by the whole object."""
        for place in [place for place in self._frames if place[3] == key]:
            self._bytes -= len(self._frames.pop(place).payload)
        self._labels.clear()

    def frame(self, form: str, kind: str, event: Event, make: Callable[[str, Event], bytes]) -> Frame:
        """The frame that tells an event; `make` makes its object where nobody has asked for it yet."""
        entry = event.entry
        key = (form, kind, entry.revision, entry.key)
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = event_frame(kind, make(kind, event))
            self._bytes += len(found.payload)
            while len(self._frames) > _REMEMBERED or (self._bytes > _REMEMBERED_BYTES and len(self._frames) > 1):
                oldest = next(iter(self._frames))
                self._bytes -= len(self._frames.pop(oldest).payload)
        return found
