"""A whole store as bytes that any backend can load: a header, a checksum, and all kept entries, in msgpack.

The header names the version of the format; dumps of older versions stay loadable.
"""

import zlib
from collections.abc import Mapping, Sequence

import msgspec

from setpoint.store.bounds import Bounds
from setpoint.store.contract import LogEntry, StoreError

_HEADING = b"setpoint snapshot 1\n"


class BadSnapshot(StoreError):
    """The bytes are not a snapshot, or are damaged."""


class Contents(msgspec.Struct, frozen=True, array_like=True):
    """The contents of a snapshot: the bounds, every kept entry in the order of the log, and the expiry times by key."""

    bounds: Bounds
    entries: Sequence[LogEntry]
    deadlines: Mapping[str, float]


class Dumped:
    """A snapshot that is already encoded."""

    def __init__(self, revision: int, data: bytes) -> None:
        self._revision = revision
        self._data = data

    @property
    def revision(self) -> int:
        return self._revision

    def dump(self) -> bytes:
        return self._data


def dump(contents: Contents) -> bytes:
    body = msgspec.msgpack.encode(contents)
    return _HEADING + zlib.crc32(body).to_bytes(4, "big") + body


def load(data: bytes) -> Contents:
    """Decodes the output of `dump`. Raises BadSnapshot for all other or incomplete data."""
    if not data.startswith(_HEADING):
        raise BadSnapshot("this is not a snapshot of a store, or one of a version that is not known here")
    checksum, body = data[len(_HEADING) : len(_HEADING) + 4], data[len(_HEADING) + 4 :]
    if zlib.crc32(body).to_bytes(4, "big") != checksum:
        raise BadSnapshot("the snapshot is damaged: its checksum does not match; take another copy of it")
    try:
        return msgspec.msgpack.decode(body, type=Contents)
    except msgspec.DecodeError as error:
        raise BadSnapshot(f"the snapshot cannot be read: {error}") from None
