"""The rows of the file and their checksums: a row that was changed outside of the store is detected when read.

The entries of a revision have consecutive ids: the revision, and the entry's index in its transaction.
"""

import struct
import zlib
from typing import NamedTuple, Self

import msgspec

from setpoint.store.bounds import Bounds
from setpoint.store.contract import Item

PLACES = 1 << 16  # the number of ids of one revision
# A place that no entry uses: stands for an entry that is no longer kept, of which only the revision is known.
FORGOTTEN = PLACES - 1

_ENTRY = struct.Struct("<qqqqdqb")
_META = struct.Struct("<qqq")
_PURGES = struct.Struct("<qq")
_ITEM = struct.Struct("<qqqd")
_NEVER = -1.0  # stands for "does not expire" in a checksum


def entry_id(revision: int, place: int = 0) -> int:
    return revision * PLACES + place


def revision_of(id: int) -> int:  # noqa: A002 - the column's own name
    return id // PLACES


class EntryRow(NamedTuple):
    """A row of `entry`; the key, the entry it replaced (0: none) and the actor are the ids of their rows."""

    id: int
    key: int
    previous: int
    created: int
    time: float
    actor: int
    cause: bytes | None
    form: int
    value: bytes | None
    checksum: int

    @property
    def revision(self) -> int:
        return revision_of(self.id)

    def is_sound(self) -> bool:
        try:
            return entry_checksum(*self[:-1]) == self.checksum
        except (TypeError, struct.error):
            return False


class ItemRow(NamedTuple):
    """A row of `item`: the current state of a key. A deleted key that has entries has no value and is not live."""

    id: int
    key: str
    entry: int  # the id of its newest entry
    created: int
    expires: float | None
    depth: int  # the number of differences between this value and the whole one before
    live: int
    value: bytes | None
    checksum: int

    @property
    def revision(self) -> int:
        return revision_of(self.entry)

    def item(self) -> Item | None:
        return None if self.value is None else Item(self.key, self.value, self.revision, self.created)

    def is_sound(self) -> bool:
        try:
            checksum = item_checksum(self.key, self.entry, self.created, self.expires, self.depth, self.value)
        except (TypeError, AttributeError, struct.error):
            return False
        return checksum == self.checksum and bool(self.live) == (self.value is not None)


class MetaRow(NamedTuple):
    """The only row of `meta`: properties of the store as a whole."""

    oldest: int
    swept: int  # up to this revision, compacted rows are removed from the file
    restored: int  # the revision that the last restore made
    gaps: str
    purged: int  # no event after this revision has lost a value in a purge
    scrub: int  # 1: bytes of purged values may still be in the file or its write-ahead log
    checksum: int

    @classmethod
    def of(cls, bounds: Bounds, swept: int, restored: int, purged: int = 0, scrub: int = 0) -> Self:
        gaps = msgspec.json.encode(bounds.gaps)
        checksum = zlib.crc32(gaps, zlib.crc32(_META.pack(bounds.oldest, swept, restored)))
        if purged or scrub:  # a row of layout 2, without these columns, keeps its checksum
            checksum = zlib.crc32(_PURGES.pack(purged, scrub), checksum)
        return cls(bounds.oldest, swept, restored, gaps.decode(), purged, scrub, checksum)

    def bounds(self, newest: int) -> Bounds:
        """Returns the bounds, given the newest revision of the log."""
        gaps = msgspec.json.decode(self.gaps, type=tuple[tuple[int, int], ...])
        return Bounds(self.oldest, max(self.oldest, self.restored, newest), gaps)

    def is_sound(self) -> bool:
        try:
            return MetaRow.of(self.bounds(0), self.swept, self.restored, self.purged, self.scrub) == self
        except (TypeError, struct.error, msgspec.DecodeError):
            return False


META_COLUMNS = ", ".join(MetaRow._fields)
ENTRY_COLUMNS = ", ".join(EntryRow._fields)
ITEM_COLUMNS = ", ".join(ItemRow._fields)


def entry_checksum(
    id: int,  # noqa: A002 - the column's own name
    key: int,
    previous: int,
    created: int,
    time: float,
    actor: int,
    cause: bytes | None,
    form: int,
    value: bytes | None,
) -> int:
    head = _ENTRY.pack(id, key, previous, created, time, actor, form)
    return zlib.crc32(value or b"", zlib.crc32(cause or b"", zlib.crc32(head)))


def item_checksum(key: str, entry: int, created: int, expires: float | None, depth: int, value: bytes | None) -> int:
    head = _ITEM.pack(entry, created, depth, _NEVER if expires is None else expires)
    return zlib.crc32(value or b"", zlib.crc32(key.encode(), zlib.crc32(head)))
