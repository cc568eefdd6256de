"""Decoded metadata: texts that many objects have in common are held once."""

import msgspec
import pytest

from setpoint.api.core.v1 import ConfigMap
from setpoint.cache.entry import _share_texts, number, read_meta
from setpoint.objects.frozen import freeze

TREE = {
    "metadata": {
        "name": "a-long-name",
        "namespace": "a-namespace",
        "uid": "a-uid",
        "resourceVersion": "12",
        "labels": {"some-label": "some-value"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a-long-name", "uid": "u"}],
    }
}


def test_texts_are_shared_between_objects() -> None:
    first, second = (read_meta(msgspec.json.encode(TREE)) for _ in range(2))
    assert first.namespace is second.namespace
    assert first.labels == {"some-label": "some-value"}
    assert first.labels is second.labels
    assert first.owner_references
    assert first.owner_references is second.owner_references
    [owner] = first.owner_references
    assert (owner.uid, owner.kind, owner.name, owner.api_version) == ("u", "ReplicaSet", "a-long-name", "apps/v1")


def test_a_frozen_object_shares_the_texts_of_its_metadata() -> None:
    raw = msgspec.json.encode(TREE)
    meta, made = read_meta(raw), freeze(ConfigMap.decode(raw))
    _share_texts(meta, made.metadata)
    for name in ("name", "namespace", "uid", "resource_version"):
        assert getattr(made.metadata, name) is getattr(meta, name)


@pytest.mark.parametrize(
    ("text", "expected"), [("12", 12), ("0", 0), ("", None), ("1a", None), ("-1", None), ("²", None)]
)
def test_a_resource_version_is_a_number_or_cannot_be_compared(text: str, expected: int | None) -> None:
    assert number(text) == expected
