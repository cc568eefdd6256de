"""Lists: the objects of a page or of all pages, and the revision they are of."""

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.objects.tree import Object

T = TypeVar("T")
# How many objects a page has where nobody says otherwise, as in client-go.
PAGE = 500


class Listing(NamedTuple, Generic[T]):
    """What a list found. `continue_` asks for the next page where there is one."""

    items: list[T]
    resource_version: str = ""
    continue_: str = ""
    # How many come after this page, where the server tells.
    remaining: int | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class RawList(msgspec.Struct):
    """A list whose items are not decoded yet."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    items: list[msgspec.Raw] | None = None


decode_raw = msgspec.json.Decoder(RawList).decode
_decode = msgspec.json.Decoder().decode


def read_list(body: bytes, kind: KindRef) -> Listing[Any]:
    """A list with its objects."""
    found = decode_raw(body)
    items = [read_item(item, kind) for item in found.items or ()]
    metadata = found.metadata
    return Listing(items, metadata.resource_version, metadata.continue_, metadata.remaining_item_count)


def read_item(item: msgspec.Raw | bytes, kind: KindRef) -> Any:
    """An object of a list: those of built-in kinds do not say what they are."""
    tree: Object = _decode(item)
    if "kind" not in tree:
        tree = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind, **tree}
    return kind.read(tree)
