"""The labels of stored objects, read without building the rest of them."""

import msgspec


class _Labels(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct):
    metadata: _Labels


_decode = msgspec.json.Decoder(_Labelled).decode


def labels_of(value: bytes) -> dict[str, str] | None:
    """The labels of an object, None where it has none."""
    return _decode(value).metadata.labels
