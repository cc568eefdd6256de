"""The storage of managed fields (`managedFields`), separate from the objects.

Managed fields are often half of an object, and those of thousands of objects of a kind differ only in timestamps, the
uids of owners and the addresses of pods. So the common parts are stored once: as bytes, and as a tree for readers.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.frozen import FrozenDict, FrozenList, freeze, frozen_dict, frozen_list
from setpoint.schema.types.resource import Resource

_NAME = b'"managedFields":'
# Replaces the managed fields in the stored bytes: an empty list, so that the rest can be decoded.
_NOTHING = b"[]"
_BETWEEN = b" "
# Times, uids, and addresses in the keys of lists.
_OWN = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rb"|(?<=ip\\\":\\\")[0-9a-f.:]+)"
)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_set_field = msgspec.Struct.__setattr__


class Record(NamedTuple):
    """The managed fields of one object: the common texts, and the parts of this object between them."""

    texts: tuple[bytes, ...]
    own: bytes

    def to_bytes(self) -> bytes:
        """Returns the managed fields as received."""
        if len(self.texts) == 1:
            return self.texts[0]
        pieces: list[bytes] = [b""] * (2 * len(self.texts) - 1)
        pieces[::2], pieces[1::2] = self.texts, self.own.split(_BETWEEN)
        return b"".join(pieces)


def split(raw: bytes, managed: bytes) -> tuple[bytes, Record] | None:
    """Splits an object into the rest and its managed fields. Returns None if there are none, or their position is
    ambiguous."""
    if not managed.startswith(b"[{"):
        return None
    before, name, after = raw.partition(_NAME)
    if not after.startswith(managed) or _NAME in after:
        return None
    return b"".join((before, name, _NOTHING, after[len(managed) :])), _record(managed)


def join(remainder: bytes, record: Record) -> bytes:
    """Returns the object as received, with its managed fields."""
    before, name, after = remainder.partition(_NAME)
    return b"".join((before, name, record.to_bytes(), after[len(_NOTHING) :]))


def attach(made: Any, record: Record) -> None:
    """Adds the managed fields to a frozen object that was decoded without them."""
    if isinstance(made, Resource):
        _set_field(made.metadata, "managed_fields", _entries(record))
    elif isinstance(made, FrozenDict) and "metadata" in made:
        dict.__setitem__(made["metadata"], "managedFields", _entries(record))


@lru_cache(maxsize=32)
def _record(managed: bytes) -> Record:
    pieces = _OWN.split(managed)
    return Record(_interned(tuple(pieces[::2])), _BETWEEN.join(pieces[1::2]))


@lru_cache(maxsize=1024)
def _interned(texts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Returns one shared instance of equal texts."""
    return texts


@lru_cache(maxsize=128)
def _entries(record: Record) -> FrozenList:
    """Returns the managed fields as a tree. Equal field sets are shared."""
    found = [
        frozen_dict(
            {name: _fields(_encode(value)) if name == "fieldsV1" else freeze(value) for name, value in entry.items()}
        )
        for entry in _decode(record.to_bytes())
    ]
    return frozen_list(found)


@lru_cache(maxsize=1024)
def _fields(encoded: bytes) -> Any:
    return freeze(_decode(encoded))
