"""The record of who manages which field of an object (`managedFields`), kept apart from the object.

It is often half of it, and of thousands of objects of a kind it differs in its times, and the uids of their owners,
alone. So what is alike is there once for all of them: as bytes, and as a tree for those who read it.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.frozen import FrozenDict, FrozenList, freeze, frozen_dict, frozen_list
from setpoint.schema.types.resource import Resource

_NAME = b'"managedFields":'
# What stands in an object where its record was: a list, so that the rest can be read as it is.
_NOTHING = b"[]"
_BETWEEN = b" "
_OWN = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_set_field = msgspec.Struct.__setattr__


class Record(NamedTuple):
    """A record: the texts that others have as well, and what stands between them that is its own."""

    texts: tuple[bytes, ...]
    own: bytes

    def to_bytes(self) -> bytes:
        """The record as it came."""
        if len(self.texts) == 1:
            return self.texts[0]
        pieces: list[bytes] = [b""] * (2 * len(self.texts) - 1)
        pieces[::2], pieces[1::2] = self.texts, self.own.split(_BETWEEN)
        return b"".join(pieces)


def cut(raw: bytes, managed: bytes) -> tuple[bytes, Record] | None:
    """An object without its record, and that; None where there is none, or it is not sure where in the object it is."""
    if not managed.startswith(b"[{"):
        return None
    before, name, after = raw.partition(_NAME)
    if not after.startswith(managed) or _NAME in after:
        return None
    return b"".join((before, name, _NOTHING, after[len(managed) :])), _record(managed)


def whole(rest: bytes, record: Record) -> bytes:
    """An object as it came."""
    before, name, after = rest.partition(_NAME)
    return b"".join((before, name, record.to_bytes(), after[len(_NOTHING) :]))


def attach(made: Any, record: Record) -> None:
    """Gives an object that was made of the rest its record, though it is frozen already."""
    if isinstance(made, Resource):
        _set_field(made.metadata, "managed_fields", _entries(record))
    elif isinstance(made, FrozenDict) and "metadata" in made:
        dict.__setitem__(made["metadata"], "managedFields", _entries(record))


@lru_cache(maxsize=32)
def _record(managed: bytes) -> Record:
    pieces = _OWN.split(managed)
    return Record(_alike(tuple(pieces[::2])), _BETWEEN.join(pieces[1::2]))


@lru_cache(maxsize=1024)
def _alike(texts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The first of all that are equal."""
    return texts


@lru_cache(maxsize=128)
def _entries(record: Record) -> FrozenList:
    """The record as a tree. Its field sets are shared by all that have the same."""
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
