"""PartialObjectMetadata: the metadata of objects, cut out of their JSON without encoding again."""

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource


class _RawMetadata(msgspec.Struct):
    """An object whose metadata is kept as undecoded bytes."""

    metadata: msgspec.Raw


_decode = msgspec.json.Decoder(_RawMetadata).decode
_decode_tree = msgspec.json.Decoder(dict).decode
_encode = msgspec.json.Encoder().encode


def partial(resource: Resource, body: bytes, api_version: str) -> bytes:
    """Returns the partial form of an object, given as final JSON."""
    metadata = bytes(_decode(body).metadata)
    if resource.strategy.annotations_of_full_object:
        metadata = _encode(_shown(resource, _decode_tree(metadata)))
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":%b}' % (api_version.encode(), metadata)


def partial_tree(resource: Resource, tree: Object, api_version: str) -> Object:
    """Returns the partial form of a decoded object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": api_version,
        "metadata": _shown(resource, tree["metadata"]),
    }


def _shown(resource: Resource, metadata: Object) -> Object:
    """Returns the metadata without the annotations that only full objects show."""
    hidden, annotations = resource.strategy.annotations_of_full_object, metadata.get("annotations")
    if not annotations or not any(name in annotations for name in hidden):
        return metadata
    left = {name: value for name, value in annotations.items() if name not in hidden}
    shown = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**shown, "annotations": left} if left else shown
