"""Compiled schemas shared by content: versions, definitions and servers with the same schema share the functions.

A compiled schema is kept as long as there is a reference. The latest ones are kept beyond that, up to a total size, so
that a process that starts one server after the other, as tests do, compiles each schema once.
"""

from collections import OrderedDict
from contextlib import suppress
from hashlib import sha256
from weakref import WeakValueDictionary

import msgspec

from setpoint.objects.tree import Json
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.openapi import Schema

# The total size of the JSON of the schemas that are kept without a reference: about ten that embed a PodTemplate.
_MOST_BYTES = 4 << 20

_known: WeakValueDictionary[bytes, CompiledSchema] = WeakValueDictionary()
_encode = msgspec.json.Encoder().encode


class RecentSchemas:
    """The latest used schemas, up to a total size of their JSON."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._schemas: OrderedDict[bytes, tuple[CompiledSchema, int]] = OrderedDict()

    def use(self, key: bytes, schema: CompiledSchema, size: int) -> None:
        """Makes a schema the latest one, and releases the oldest ones beyond the total size."""
        if size > self._most_bytes:
            return
        is_new = key not in self._schemas
        self._schemas[key] = schema, size
        # Another thread may have released the same schemas in the meantime.
        with suppress(KeyError):
            self._schemas.move_to_end(key)
            while is_new and sum([each[1] for each in list(self._schemas.values())]) > self._most_bytes:
                self._schemas.popitem(last=False)

    def __contains__(self, key: bytes) -> bool:
        return key in self._schemas


_recent = RecentSchemas()


def shared_schema(tree: Json | msgspec.Raw) -> CompiledSchema:
    """Returns the compiled schema of an `openAPIV3Schema`, a tree or its JSON, for whole resources."""
    text = bytes(tree) if isinstance(tree, msgspec.Raw) else _encode(tree)
    key = sha256(text).digest()
    found = _known.get(key)
    if found is None:
        parsed = msgspec.json.decode(text) if isinstance(tree, msgspec.Raw) else tree
        found = _known.setdefault(key, compile_schema(Schema.parse(parsed)))
    _recent.use(key, found, len(text))
    return found
