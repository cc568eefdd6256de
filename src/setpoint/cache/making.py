"""How the bytes of an object become what readers of a cache get: frozen, of the form they asked for."""

from collections.abc import Callable
from typing import Any

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.objects.tree import Object
from setpoint.schema.types.frozen import freeze

_decode = msgspec.json.Decoder().decode


def maker(kind: KindRef) -> Callable[[bytes], Any]:
    """What makes the objects of a kind."""
    cls = kind.cls
    if cls is not None and not kind.metadata_only:
        decode = cls.decode
        return lambda raw: freeze(decode(raw))
    api_version, name = kind.gvk.api_version, kind.gvk.kind

    def tree(raw: bytes) -> Object:
        found: Object = _decode(raw)
        if "kind" not in found:  # an item of a list of built-in objects
            found = {"apiVersion": api_version, "kind": name, **found}
        return freeze(found)

    return tree
