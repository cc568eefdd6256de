"""The record of who manages what is kept apart from objects, and nobody who reads them notices."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cache.faults import CONFIG_MAP, World, config_map

from setpoint.api.core.v1 import ConfigMap
from setpoint.cache.entry import CachedObject, maker, read_meta
from setpoint.client.kinds import Kind, kind_of, metadata_only
from setpoint.objects.frozen import is_frozen, thaw
from setpoint.objects.tree import Object

UID = "6f1c0f6e-8a3e-4c55-9b0a-0d8c3c1f{:04d}"

times = st.integers(0, 59).map("2026-01-01T00:00:{:02d}Z".format)
uids = st.integers(0, 9999).map(UID.format)
keys = st.sampled_from(["f:data", "f:metadata", ".", "f:time", 'k:{"uid":"' + UID.format(1) + '"}']) | st.text(
    max_size=5
)
fields: st.SearchStrategy[Object] = st.recursive(
    st.just({}), lambda below: st.dictionaries(keys, below, max_size=3), max_leaves=6
)
entries = st.fixed_dictionaries(
    {"manager": st.text(max_size=8) | uids, "operation": st.sampled_from(["Apply", "Update"])},
    optional={"time": times | st.text(max_size=5), "fieldsV1": fields, "apiVersion": st.just("v1")},
)
annotations = st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.just('"managedFields":[]'), max_size=2)


def tree(managed: list[Any], **metadata: Any) -> Object:
    own = {"name": "a", "namespace": "default", "uid": UID.format(0), "resourceVersion": "7", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**own, "managedFields": managed}, "data": {"k": "v"}}


def held(obj: Object, kind: Kind[Any] = CONFIG_MAP) -> CachedObject[Any]:
    raw = msgspec.json.encode(obj)
    return CachedObject(read_meta(raw), raw, maker(kind_of(kind)))


@given(st.lists(entries, max_size=3), annotations)
def test_an_object_is_read_as_it_came(managed: list[Any], notes: dict[str, str]) -> None:
    wanted = tree(managed, annotations=notes)
    raw = msgspec.json.encode(wanted)
    found = held(wanted)
    assert found.raw == raw
    assert found.in_form(bytes).raw == raw
    assert found.raw_size == len(raw)
    assert found.annotations == notes
    assert thaw(found.object) == wanted
    assert msgspec.json.decode(found.raw) == wanted


@given(st.lists(entries, max_size=3))
def test_a_typed_object_and_metadata_alone_have_the_record_as_well(managed: list[Any]) -> None:
    wanted = tree(managed)
    typed = held(wanted, ConfigMap)
    assert thaw(typed.object.metadata.managed_fields) == managed
    assert typed.object.edit().metadata.managed_fields == managed
    assert thaw(held(wanted, metadata_only(CONFIG_MAP)).object["metadata"]) == wanted["metadata"]


def test_an_object_with_another_record_inside_it_is_kept_as_it_came() -> None:
    managed = [{"manager": "a", "operation": "Apply"}]
    wanted = tree(managed)
    wanted["spec"] = {"template": {"metadata": {"managedFields": managed}}}
    assert thaw(held(wanted).object) == wanted
    inside = {**tree([]), "spec": {"managedFields": managed}}
    del inside["metadata"]["managedFields"]
    assert thaw(held(inside).object) == inside


@pytest.mark.parametrize("managed", [None, []])
def test_an_object_without_a_record_is_read_as_it_came(managed: Any) -> None:
    wanted = tree(managed)
    assert thaw(held(wanted).object) == wanted
    del wanted["metadata"]["managedFields"]
    assert thaw(held(wanted).object) == wanted


def test_objects_that_differ_in_times_and_owners_share_the_rest_of_their_records() -> None:
    def one(number: int, second: int) -> CachedObject[Any]:
        key = 'k:{"uid":"' + UID.format(number) + '"}'
        managed = [
            {
                "manager": "m",
                "time": f"2026-01-01T00:00:{second:02d}Z",
                "fieldsV1": {"f:metadata": {"f:ownerReferences": {key: {}}}},
            }
        ]
        return held(tree(managed, uid=UID.format(number)))

    records = [one(number, number)._record for number in range(2)]
    assert records[0] is not None
    assert records[1] is not None
    assert records[0].texts is records[1].texts
    first, second = one(1, 5), one(1, 6)
    one_set, other_set = (each.object["metadata"]["managedFields"][0]["fieldsV1"] for each in (first, second))
    assert one_set is other_set


async def test_a_record_cannot_be_changed(world: World) -> None:
    await world.client.create(config_map("a", k="v"))
    informer = await world.followed(ConfigMap)
    found = informer.get("default/a")
    assert found is not None
    assert is_frozen(found.metadata.managed_fields)
    with pytest.raises(TypeError, match="change a copy"):
        found.metadata.managed_fields[0]["manager"] = "me"
    assert [entry["operation"] for entry in found.metadata.managed_fields] == ["Update"]
    assert found.edit().metadata.managed_fields == thaw(found.metadata.managed_fields)


def test_the_records_of_pods_that_differ_in_their_addresses_share_their_texts() -> None:
    def pod(address: str) -> CachedObject[Any]:
        key = 'k:{"ip":"' + address + '"}'
        owned: Object = {"f:status": {"f:podIPs": {key: {"f:ip": {}}}}}
        return held(tree([{"manager": "kubelet", "operation": "Update", "fieldsV1": owned}]))

    one, other = pod("10.244.0.2"), pod("fd00::17")
    assert one._record is not None
    assert other._record is not None
    assert one._record.texts is other._record.texts
    assert b"10.244.0.2" in one.raw
    assert b"fd00::17" in other.raw
