"""Decodes the bytes of objects into the frozen form that the readers of a cache requested."""

from collections.abc import Callable
from typing import Any

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.objects.frozen import freeze as freeze_tree
from setpoint.schema.types.frozen import freeze

_decode = msgspec.json.Decoder().decode


def maker(kind: KindRef) -> Callable[[bytes], Any]:
    """Returns the decoder for the objects of a kind."""
    cls = kind.cls
    if cls is not None and not kind.metadata_only:
        decode = cls.decode
        return lambda raw: freeze(decode(raw))
    # Items in lists of built-in kinds have no apiVersion and kind, and metadata-only objects have those of
    # PartialObjectMetadata.
    own = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}

    def tree(raw: bytes) -> Any:
        return freeze_tree(own | _decode(raw))

    def metadata(raw: bytes) -> Any:
        return freeze_tree({**own, "metadata": _decode(raw).get("metadata", {})})

    return metadata if kind.metadata_only else tree
