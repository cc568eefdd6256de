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
    # Items of lists of built-in objects do not say what they are, and metadata alone says that it is just that.
    own = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}

    def tree(raw: bytes) -> Object:
        return freeze(own | _decode(raw))

    def metadata(raw: bytes) -> Object:
        return freeze({**own, "metadata": _decode(raw).get("metadata", {})})

    return metadata if kind.metadata_only else tree
