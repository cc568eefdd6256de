"""The rows of the file and their checksums: a row that was changed behind our back is noticed when it is read.

A revision's entries have consecutive ids: the revision, and the entry's place in its transaction.
"""

import struct
import zlib
from typing import NamedTuple

PLACES = 1 << 16  # how many entries one revision may have

_ENTRY = struct.Struct("<qqqqdqb")
_ITEM = struct.Struct("<qqqd")
_NEVER = -1.0  # stands for "does not expire" in a checksum


def entry_id(revision: int, place: int = 0) -> int:
    return revision * PLACES + place


def revision_of(id: int) -> int:  # noqa: A002 - the column's own name
    return id // PLACES


class EntryRow(NamedTuple):
    """A row of `entry`; the key and the actor are the ids of their rows."""

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

    def is_sound(self) -> bool:
        try:
            return entry_checksum(*self[:-1]) == self.checksum
        except (TypeError, struct.error):
            return False


class ItemRow(NamedTuple):
    """A row of `item`: a key as it is now. One that is absent but has a past has no value and is not live."""

    id: int
    key: str
    revision: int
    created: int
    expires: float | None
    depth: int  # how many differences lie between this value and the whole one before it
    live: int
    value: bytes | None
    checksum: int

    def is_sound(self) -> bool:
        try:
            checksum = item_checksum(self.key, self.revision, self.created, self.expires, self.depth, self.value)
        except (TypeError, AttributeError, struct.error):
            return False
        return checksum == self.checksum and bool(self.live) == (self.value is not None)


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


def item_checksum(key: str, revision: int, created: int, expires: float | None, depth: int, value: bytes | None) -> int:
    head = _ITEM.pack(revision, created, depth, _NEVER if expires is None else expires)
    return zlib.crc32(value or b"", zlib.crc32(key.encode(), zlib.crc32(head)))
