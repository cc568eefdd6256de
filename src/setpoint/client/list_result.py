"""Lists: the objects of one page or of all pages, and their resource version."""

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.objects.tree import Object

T = TypeVar("T")
# The default number of objects in a page, as in client-go.
PAGE = 500


class Listing(NamedTuple, Generic[T]):
    """The result of a list. `continue_` is the token of the next page, or empty."""

    items: list[T]
    resource_version: str = ""
    continue_: str = ""
    # The number of objects after this page, if the server reports the number.
    remaining: int | None = None


class _ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class RawList(msgspec.Struct):
    """A list with undecoded items."""

    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)
    items: list[msgspec.Raw] | None = None


decode_raw = msgspec.json.Decoder(RawList).decode
_decode = msgspec.json.Decoder().decode


def read_list(body: bytes, kind: KindRef) -> Listing[Any]:
    """Decodes a list and its objects."""
    found = decode_raw(body)
    items = [read_item(item, kind) for item in found.items or ()]
    metadata = found.metadata
    return Listing(items, metadata.resource_version, metadata.continue_, metadata.remaining_item_count)


def read_item(item: msgspec.Raw | bytes, kind: KindRef) -> Any:
    """Decodes an object of a list, and adds `apiVersion` and `kind`: servers omit them in lists of built-in kinds."""
    tree: Object = _decode(item)
    if "kind" not in tree:
        tree = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind, **tree}
    return kind.read(tree)
