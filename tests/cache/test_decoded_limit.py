"""A cache with a bound on decoded objects keeps bytes, and its readers see the same objects."""

from typing import Any

import msgspec
from tests.cache.faults import CONFIG_MAP, World, config_map

from setpoint.api.core.v1 import ConfigMap
from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject, DecodedObjects, maker, read_meta
from setpoint.cache.packed_bytes import PackedBytes
from setpoint.client.kinds import kind_of
from setpoint.objects.frozen import is_frozen
from setpoint.objects.tree import Object


def entry(name: str, kept: DecodedObjects | None, value: str = "v") -> CachedObject[Any]:
    managed = [{"manager": "m", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}}]
    tree: Object = {**config_map(name, k=value), "apiVersion": "v1", "kind": "ConfigMap"}
    tree["metadata"] = {**tree["metadata"], "resourceVersion": "7", "managedFields": managed}
    raw = msgspec.json.encode(tree)
    return CachedObject(read_meta(raw), raw, maker(kind_of(CONFIG_MAP)), kept)


def test_only_the_last_objects_stay_decoded() -> None:
    kept = DecodedObjects(2)
    entries = [entry(name, kept) for name in "abc"]
    found = [each.object for each in entries]
    assert [each.is_made for each in entries] == [False, True, True]
    assert entries[2].object is found[2]
    assert kept.decoded == 3


def test_an_object_that_is_decoded_again_is_the_same_and_frozen() -> None:
    kept = DecodedObjects(1)
    first, second = entry("a", kept), entry("b", kept)
    before, raw = first.object, first.raw
    assert second.object["metadata"]["name"] == "b"
    assert not first.is_made
    assert first.object == before
    assert first.object["metadata"]["managedFields"][0]["manager"] == "m"
    assert is_frozen(first.object)
    assert first.raw == raw


def test_the_bytes_of_all_but_the_last_objects_are_compressed() -> None:
    kept, plain = DecodedObjects(1), [entry(name, None, "v" * 2000) for name in "abc"]
    entries = [entry(name, kept, "v" * 2000) for name in "abc"]
    assert [type(each._raw) for each in entries] == [PackedBytes, PackedBytes, bytes]
    assert [each.raw for each in entries] == [each.raw for each in plain]
    assert [each.object for each in entries] == [each.object for each in plain]
    other = entries[0].in_form(maker(kind_of(ConfigMap)))
    assert other.object.data == {"k": "v" * 2000}
    assert entries[1].view(Name).name == "b"


def test_an_object_without_a_bound_stays_decoded() -> None:
    one = entry("a", None)
    found = one.object
    one.drop_decoded()
    assert one.object is found


class Name(msgspec.Struct):
    """A view that counts its reads."""

    name: str
    reads = 0

    @classmethod
    def read(cls, raw: bytes) -> "Name":
        Name.reads += 1
        return cls(msgspec.json.decode(raw)["metadata"]["name"])


def test_a_view_is_decoded_once_and_leaves_the_object_as_bytes() -> None:
    one = entry("a", DecodedObjects(1))
    before = Name.reads
    assert [one.view(Name).name for _ in range(3)] == ["a"] * 3
    assert Name.reads == before + 1
    assert not one.is_made
    decoded = entry("b", None)
    assert decoded.object["metadata"]["name"] == decoded.view(Name).name


async def test_all_forms_of_a_cache_have_the_bound(world: World) -> None:
    for name in "abc":
        await world.client.create(config_map(name, k="v"))
    async with Cache(world.client, decoded_limit=1) as cache:
        informer = cache.acquire(CONFIG_MAP, "default")
        await informer.wait_synced()
        assert [each["metadata"]["name"] for each in informer.list("default")] == ["a", "b", "c"]
        assert sum(each.is_made for each in informer.store.all()) == 1
