"""The labels of stored objects, decoded without the rest of the objects."""

import msgspec


class _Labels(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct):
    metadata: _Labels


_decode = msgspec.json.Decoder(_Labelled).decode


def labels_of(value: bytes) -> dict[str, str] | None:
    """Returns the labels of an object, or None if there are none."""
    return _decode(value).metadata.labels
