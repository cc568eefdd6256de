"""A whole store as bytes that any backend can load: a heading, a checksum, and everything kept, in msgpack.

The heading names the version of the format; what an older version wrote stays loadable.
"""

import zlib
from collections.abc import Mapping, Sequence

import msgspec

from setpoint.store.bounds import Bounds
from setpoint.store.contract import Entry, StoreError

_HEADING = b"setpoint snapshot 1\n"


class BadSnapshot(StoreError):
    """These bytes are no snapshot, or were damaged on their way."""


class Contents(msgspec.Struct, frozen=True, array_like=True):
    """What a snapshot holds: the bounds, every kept entry in the order of the log, and when which key expires."""

    bounds: Bounds
    entries: Sequence[Entry]
    deadlines: Mapping[str, float]


class Dumped:
    """A snapshot that is bytes already."""

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
    """Raises BadSnapshot for anything but the whole output of `dump`."""
    if not data.startswith(_HEADING):
        raise BadSnapshot("this is not a snapshot of a store, or one of a version that is not known here")
    checksum, body = data[len(_HEADING) : len(_HEADING) + 4], data[len(_HEADING) + 4 :]
    if zlib.crc32(body).to_bytes(4, "big") != checksum:
        raise BadSnapshot("the snapshot is damaged: its checksum does not match; take another copy of it")
    try:
        return msgspec.msgpack.decode(body, type=Contents)
    except msgspec.DecodeError as error:
        raise BadSnapshot(f"the snapshot cannot be read: {error}") from None
