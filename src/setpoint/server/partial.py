"""PartialObjectMetadata: objects without anything but their metadata, cut out of their JSON and never encoded anew."""

from collections.abc import Iterable

import msgspec

from setpoint.objects.tree import Object


class _Whole(msgspec.Struct):
    """An object of which only the bytes of the metadata are looked at."""

    metadata: msgspec.Raw


_decode = msgspec.json.Decoder(_Whole).decode


def partial(body: bytes, api_version: str) -> bytes:
    """The partial form of an object, given as finished JSON."""
    metadata = bytes(_decode(body).metadata)
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":%b}' % (api_version.encode(), metadata)


def partial_tree(tree: Object, api_version: str) -> Object:
    """The same of an object that is decoded already."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": tree["metadata"]}


def partial_list(bodies: Iterable[bytes], metadata: bytes, api_version: str) -> bytes:
    """The partial form of a list; `metadata` is its own."""
    items = b",".join(partial(body, api_version) for body in bodies)
    return b'{"kind":"PartialObjectMetadataList","apiVersion":"%b","metadata":%b,"items":[%b]}' % (
        api_version.encode(),
        metadata,
        items,
    )
