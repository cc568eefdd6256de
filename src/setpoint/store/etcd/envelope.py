"""The format of the values in etcd.

A value of the state is `VERSION DIGEST LENGTH META VALUE`. The digest of the value comes first, so that an etcd
transaction can compare whether a write would change the value (all values with one digest lie between `unchanged_from`
and `unchanged_to`). The meta holds the actor, the time and the cause of the write. A deletion's envelope has the same
format with an empty value. The encoding is stable: another layout uses another version byte, and fields of a meta are
only added at the end.
"""

from hashlib import blake2b
from typing import NamedTuple

import msgspec

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import StoreError

VERSION = b"\x01"
_DIGEST = 32
_LENGTH = 2
_META = len(VERSION) + _DIGEST + _LENGTH


class Meta(msgspec.Struct, frozen=True, array_like=True):
    """The metadata that is stored beside a value."""

    time: float
    actor: Actor
    cause: Cause | None = None
    expires: float | None = None
    previous: int = 0  # etcd's revision of the replaced value, 0 if the key was absent


BY_HAND = Meta(0.0, Actor(""))  # for a change that was made in etcd directly, not by the store


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The value that every transaction writes to the head key: the id of the write, and its time."""

    write: bytes
    time: float


class EpochRecord(msgspec.Struct, frozen=True, array_like=True):
    """The current epoch, and the offset of its revisions from etcd's (None: the epoch begins at 0)."""

    name: str
    shift: int | None = None


class CompactRecord(msgspec.Struct, frozen=True, array_like=True):
    """The revision that the replicas last agreed to compact to, and the time of that agreement."""

    revision: int
    time: float


class Opened(NamedTuple):
    """A value with its meta."""

    value: bytes
    meta: Meta


_encode = msgspec.msgpack.Encoder().encode
_decode_meta = msgspec.msgpack.Decoder(Meta).decode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_epoch = msgspec.msgpack.Decoder(EpochRecord).decode
_decode_compact = msgspec.msgpack.Decoder(CompactRecord).decode


def seal(value: bytes, meta: Meta) -> bytes:
    encoded = _encode(meta)
    if len(encoded) >= 1 << 8 * _LENGTH:
        raise StoreError(f"actor and cause take {len(encoded)} bytes; at most {(1 << 8 * _LENGTH) - 1} can be kept")
    return b"".join((unchanged_from(value), len(encoded).to_bytes(_LENGTH, "big"), encoded, value))


def unchanged_from(value: bytes) -> bytes:
    """Returns the lower bound, in byte order, of every envelope of this value."""
    return VERSION + blake2b(value, digest_size=_DIGEST).digest()


def unchanged_to(start: bytes) -> bytes:
    """Returns the upper bound that belongs to a lower bound of `unchanged_from`."""
    number = int.from_bytes(start, "big") + 1
    return number.to_bytes(len(start), "big")


def value_of(envelope: bytes, key: bytes) -> bytes:
    """Returns only the value, which is sufficient for most reads."""
    return envelope[_meta_end(envelope, key) :]


def open_(envelope: bytes, key: bytes) -> Opened:
    end = _meta_end(envelope, key)
    try:
        return Opened(envelope[end:], _decode_meta(envelope[_META:end]))
    except msgspec.MsgspecError as error:
        raise foreign(key) from error


def _meta_end(envelope: bytes, key: bytes) -> int:
    if envelope[:1] != VERSION or len(envelope) < _META:
        raise foreign(key)
    return _META + int.from_bytes(envelope[_META - _LENGTH : _META], "big")


def foreign(key: bytes) -> StoreError:
    """Returns the error for a key below the root whose value has an unknown format."""
    return StoreError(
        f"etcd key {key.decode(errors='replace')}: its value was not written by Setpoint, or by a later one"
    )


def seal_head(head: Head) -> bytes:
    return VERSION + _encode(head)


def open_head(data: bytes, key: bytes) -> Head:
    if data[:1] != VERSION:
        raise foreign(key)
    return _decode_head(data[1:])


def seal_record(record: EpochRecord | CompactRecord) -> bytes:
    return VERSION + _encode(record)


def open_epoch(data: bytes, key: bytes) -> EpochRecord:
    if data[:1] != VERSION:
        raise foreign(key)
    return _decode_epoch(data[1:])


def open_compact(data: bytes, key: bytes) -> CompactRecord:
    if data[:1] != VERSION:
        raise foreign(key)
    return _decode_compact(data[1:])
