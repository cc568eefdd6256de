"""Compiled schemas shared by content: versions, definitions and servers with the same schema share the functions.

A compiled schema is kept only as long as there is a reference.
"""

from hashlib import sha256
from weakref import WeakValueDictionary

import msgspec

from setpoint.objects.tree import Json
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.openapi import Schema

_known: WeakValueDictionary[bytes, CompiledSchema] = WeakValueDictionary()
_encode = msgspec.json.Encoder().encode


def shared_schema(tree: Json) -> CompiledSchema:
    """Returns the compiled schema of an `openAPIV3Schema`, for whole resources."""
    key = sha256(_encode(tree)).digest()
    found = _known.get(key)
    if found is None:
        found = _known.setdefault(key, compile_schema(Schema.parse(tree)))
    return found
