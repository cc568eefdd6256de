"""How the bytes of an object become what readers of a cache get: frozen, of the form they asked for."""

from collections.abc import Callable
from typing import Any

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.objects.frozen import freeze
from setpoint.objects.tree import Object

_decode = msgspec.json.Decoder().decode


def maker(kind: KindRef) -> Callable[[bytes], Any]:
    """What makes the objects of a kind."""
    api_version, name = kind.gvk.api_version, kind.gvk.kind

    def tree(raw: bytes) -> Object:
        found: Object = _decode(raw)
        if "kind" not in found:  # an item of a list of built-in objects
            found = {"apiVersion": api_version, "kind": name, **found}
        return found

    if kind.cls is None or kind.metadata_only:
        return lambda raw: freeze(tree(raw))
    cls = kind.cls
    return lambda raw: cls.from_json(tree(raw))
