"""What would change is found out without the server, and never said wrongly: the server itself is the judge."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flow.apply_set.sets import MANAGER, world

from setpoint.client.client import Client
from setpoint.flow.diff import FieldChange, applied_fields, changes, contains, find_item, is_applied, is_status_applied
from setpoint.merge.fieldset import MEMBER
from setpoint.objects.frozen import FrozenDict
from setpoint.objects.tree import Object
from setpoint.schema.types.frozen import freeze

names = st.sampled_from(["a", "b", "c"])
ports = st.lists(
    st.fixed_dictionaries({"containerPort": st.integers(1, 3)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}),
    min_size=1,
    max_size=2,
    unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": names, "image": st.sampled_from(["web:1", "web:2"])},
        optional={
            "ports": ports,
            "args": st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2),
            "env": st.lists(
                st.fixed_dictionaries({"name": names, "value": names}),
                min_size=1,
                max_size=2,
                unique_by=lambda e: e["name"],
            ),
            "resources": st.fixed_dictionaries({"limits": st.fixed_dictionaries({"cpu": st.sampled_from(["1", "2"])})}),
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda container: container["name"],
)


def deployment(found: tuple[list[Object], dict[str, str], int | None]) -> Object:
    items, labels, replicas = found
    spec: Object = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web", **labels}}, "spec": {"containers": items}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


deployments = st.tuples(containers, st.dictionaries(names, names, max_size=2), st.none() | st.integers(1, 2)).map(
    deployment
)


async def _judge(client: Client, first: Object, second: Object, other: Object | None) -> None:
    live = await client.apply(first, field_manager=MANAGER)
    if other is not None:
        live = await client.apply(other, field_manager="other", force=True)
    for seen in (live, freeze(live)):
        said = is_applied(second, seen, MANAGER)
        told = changes(second, seen, MANAGER)
        after = await client.apply(second, field_manager=MANAGER, force=True, dry_run=True)
        same = after["metadata"]["managedFields"] == live["metadata"]["managedFields"] and after["spec"] == live["spec"]
        assert not said or same
        assert not (said and told)
        # And where the very same is wanted again, it is known in spite of all defaults of items with keys.
        if other is None and second == first:
            assert said
    await client.delete("apps/v1/Deployment", "web", "default")


@settings(max_examples=25)
@given(deployments, deployments, st.booleans(), st.none() | deployments)
def test_what_is_said_to_be_applied_changes_nothing_at_the_server(
    first: Object, second: Object, again: bool, other: Object | None
) -> None:
    async def main() -> None:
        async with world() as it:
            await _judge(it.direct, first, first if again else second, other)

    asyncio.run(main())


def test_without_a_record_of_managers_nothing_is_known() -> None:
    tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
    assert not is_applied(tree, tree, MANAGER)


def test_a_map_may_have_more_and_a_list_not() -> None:
    assert contains({"a": [{"b": 1, "c": 2}], "d": 1}, {"a": [{"b": 1}]})
    assert not contains({"a": [1, 2]}, {"a": [1]})
    assert not contains({"a": 1}, {"a": True})
    assert contains({"a": 1}, {"b": None})
    assert contains(FrozenDict(a=1), {"a": 1})


def test_each_change_of_a_list_with_keys_is_told_once() -> None:
    """Owned items are compared by key; other items are told if the list has none with their fields."""
    fields: Object = {"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': {"f:image": {}} for name in ("a", "b")}}}
    live: Object = {
        "apiVersion": "v1",
        "metadata": {
            "name": "web",
            "managedFields": [{"manager": MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}],
        },
        "spec": {"containers": [{"name": name, "image": f"{name}:1", "tty": True} for name in ("a", "b", "c")]},
    }
    wanted = [("a", "a:2"), ("c", "c:1"), ("d", "d:1")]
    spec = {"containers": [{"name": name, "image": image} for name, image in wanted]}
    assert changes({"metadata": {"name": "web"}, "spec": spec}, live, MANAGER) == [
        FieldChange("/spec/containers/0/image", "a:1", "a:2"),
        FieldChange("/spec/containers/1", {"name": "b", "image": "b:1", "tty": True}, None),
        FieldChange("/spec/containers/-", None, {"name": "d", "image": "d:1"}),
    ]


# Without a server


def managed(fields: Any, live: Any = None, **entry: str) -> Object:
    """An object whose fields a manager has applied."""
    record = {"manager": MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields, **entry}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "managedFields": [record]},
        **(live or {"data": {"a": "1"}}),
    }


def plain(**fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}, **fields}


MEMBERS: list[Object] = [{}, {MEMBER: {}}]
DATA: Object = {"f:data": {MEMBER: {}, "f:a": {}}}


@pytest.mark.parametrize(
    ("entry", "subresource", "found"),
    [
        ({}, "", True),
        ({"manager": "other"}, "", False),
        ({"operation": "Update"}, "", False),
        ({"apiVersion": "v2"}, "", False),
        ({"subresource": "status"}, "", False),
        ({"subresource": "status"}, "status", True),
        ({"subresource": ""}, "", True),
    ],
)
def test_applied_fields_are_of_one_manager_one_version_and_one_subresource(
    entry: dict[str, str], subresource: str, found: bool
) -> None:
    assert applied_fields(managed(DATA, **entry), MANAGER, subresource) == (DATA if found else None)
    assert applied_fields(managed(None), MANAGER) == {}


@pytest.mark.parametrize(
    ("wanted", "live", "fields", "same"),
    [
        ({"a": "1"}, {"a": "1"}, {"f:a": {}}, True),
        ({"a": "1"}, {"a": "1", "theirs": "2"}, {"f:a": {}}, True),
        ({"a": "2"}, {"a": "1"}, {"f:a": {}}, False),
        ({"a": "1", "b": "1"}, {"a": "1", "b": "1"}, {"f:a": {}}, False),
        ({"a": "1"}, {"a": "1", "b": "1"}, {"f:a": {}, "f:b": {}}, False),
        ({"b": "1"}, {"a": "1", "b": "1"}, {"f:a": {}}, False),
        ({"a": "1"}, {}, {"f:a": {}}, False),
        ({"a": "1"}, [], {"f:a": {}}, False),
        ("x", "x", {"f:a": {}}, False),
    ],
)
def test_an_object_is_applied_if_the_manager_owns_exactly_the_wanted_values(
    wanted: Any, live: Any, fields: Any, same: bool
) -> None:
    for member in MEMBERS:
        found = managed({"f:data": {**member, **fields}}, {"data": live})
        assert is_applied(plain(data=wanted), found, MANAGER) is same


def test_an_object_in_another_version_is_not_known_to_be_applied() -> None:
    assert is_applied(plain(data={"a": "1"}), managed(DATA), MANAGER)
    assert not is_applied({**plain(data={"a": "1"}), "apiVersion": "v2"}, managed(DATA), MANAGER)


def test_labels_are_compared_and_the_name_is_not() -> None:
    found = managed({**DATA, "f:metadata": {"f:labels": {"f:x": {}}}})
    found["metadata"]["labels"] = {"x": "1", "theirs": "2"}
    labelled = plain(data={"a": "1"})
    assert not is_applied(labelled, found, MANAGER), "the label has to be given up"
    labelled["metadata"]["labels"] = {"x": "1"}
    assert is_applied(labelled, found, MANAGER)


def test_a_status_is_compared_with_the_fields_of_its_subresource() -> None:
    found = managed({"f:status": {"f:phase": {}}}, {"status": {"phase": "Ready"}}, subresource="status")
    assert is_status_applied({"phase": "Ready"}, found, MANAGER)
    assert not is_status_applied({"phase": "New"}, found, MANAGER)
    assert not is_status_applied({"phase": "Ready", "more": 1}, found, MANAGER)
    assert not is_status_applied({"phase": "Ready"}, managed(DATA, {"status": {"phase": "Ready"}}), MANAGER)


def items(*names: str, **more: Any) -> list[Object]:
    return [{"name": name, **more} for name in names]


def keys(*names: str, **more: Any) -> Object:
    return {f'k:{{"name":"{name}"}}': {MEMBER: {}, "f:name": {}, **more} for name in names}


@pytest.mark.parametrize(
    ("wanted", "live", "fields", "same"),
    [
        (items("a", "b"), items("a", "b"), keys("a", "b"), True),
        (items("a", "b"), items("a", "theirs", "b"), keys("a", "b"), True),
        (items("b", "a"), items("a", "b"), keys("a", "b"), False),
        (items("a"), items("a", "b"), keys("a", "b"), False),
        (items("a", "b"), items("a"), keys("a", "b"), False),
        (items("a", "c"), items("a", "b"), keys("a", "b"), False),
        (items("a", image="1"), items("a", image="2"), keys("a", **{"f:image": {}}), False),
        (items("a", image="1"), items("a", image="1", tty=True), keys("a", **{"f:image": {}}), True),
        (items("a"), {"name": "a"}, keys("a"), False),
        (["x", "y"], ["x", "z", "y"], {'v:"x"': {}, 'v:"y"': {}}, True),
        (["y", "x"], ["x", "z", "y"], {'v:"x"': {}, 'v:"y"': {}}, False),
        (["x"], ["z"], {'v:"x"': {}}, False),
        (["x", "x"], ["x", "x"], {'v:"x"': {}}, False),
        (["x", "y"], ["x", "y"], {"i:0": {}, "i:1": {}}, True),
    ],
)
def test_items_are_applied_if_each_is_owned_and_in_order(wanted: Any, live: Any, fields: Any, same: bool) -> None:
    for member in MEMBERS:
        found = managed({"f:data": {**member, **fields}}, {"data": live})
        assert is_applied(plain(data=wanted), found, MANAGER) is same


def test_a_key_with_a_default_is_owned_although_it_is_not_given() -> None:
    fields: Object = {'k:{"port":80,"protocol":"TCP"}': {MEMBER: {}, "f:port": {}, "f:protocol": {}}}
    found = managed({"f:data": fields}, {"data": [{"port": 80, "protocol": "TCP"}]})
    assert is_applied(plain(data=[{"port": 80}]), found, MANAGER)
    assert not is_applied(plain(data=[{"port": 80, "protocol": "UDP"}]), found, MANAGER)


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ("i:0", 0),
        ("i:3", 3),
        ("i:4", None),
        ('i:"0"', None),
        ('v:{"name":"a"}', 0),
        ('v:"x"', None),
        ('k:{"name":"b"}', 1),
        ('k:{"name":"z"}', None),
        ('k:{"id":1}', None),
        ('k:{"name":"c","port":1}', 2),
    ],
)
def test_a_path_element_selects_one_item(element: str, found: int | None) -> None:
    listed = [{"name": "a"}, {"name": "b"}, {"name": "c", "port": 1}, {"name": "c"}]
    assert find_item(element, listed) == found


def test_an_item_that_occurs_twice_is_not_selected() -> None:
    assert find_item('v:"x"', ["x", "x"]) is None
    assert find_item('k:{"name":"a"}', [{"name": "a"}, {"name": "a"}]) is None
    assert find_item('k:{"name":"a"}', ["a", {"name": "a"}]) == 1


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        ({"a": 1}, {}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": 1}, {"a": None}, False),
        ([{"a": 1, "b": 2}, 2], [{"a": 1}, 2], True),
        ([1, 2], [2, 1], False),
        ("x", {"a": 1}, False),
        ({"a": 1}, [1], False),
        (1, 1.0, True),
        ("1", 1, False),
    ],
)
def test_a_value_contains_another(live: Any, wanted: Any, expected: bool) -> None:
    assert contains(live, wanted) is expected


def told(wanted: Object, live: Object | None) -> list[str]:
    return [str(change) for change in changes(wanted, live, MANAGER)]


def test_changes_are_told_with_their_paths_and_values() -> None:
    found = managed(
        {"f:data": {"f:a": {}, "f:gone": {}, "f:lost": {}}}, {"data": {"a": "1", "gone": "2", "theirs": "3"}}
    )
    assert told(plain(data={"a": "9", "b/c~d": {"n": 1}}), found) == [
        '~ /data/a: "1" -> "9"',
        '+ /data/b~1c~0d: {"n":1}',
        '- /data/gone: "2"',
    ]
    assert told(plain(data={"a": "1", "gone": "2"}), found) == []
    unowned = managed({"f:data": {"f:x/y~z": {}}}, {"data": {"x/y~z": "1"}})
    assert told(plain(data={}), unowned) == ['- /data/x~1y~0z: "1"']


def test_a_list_without_keys_changes_as_a_whole() -> None:
    found = managed({"f:data": {}}, {"data": [1, 2]})
    assert told(plain(data=[1, 3]), found) == ["~ /data: [1,2] -> [1,3]"]
    assert told(plain(data=[1, 2]), found) == []


def test_a_new_object_is_told_as_a_whole_without_its_type() -> None:
    assert changes(plain(data={"a": "1"}), None, MANAGER) == [
        FieldChange("", None, {"metadata": {"name": "one", "namespace": "default"}, "data": {"a": "1"}})
    ]


def test_items_that_are_given_up_or_come_back_are_told() -> None:
    found = managed({"f:data": {MEMBER: {}, **keys("a", "b", "c")}}, {"data": items("a", "b", size=1)})
    assert told(plain(data=items("a", "c")), found) == [
        '- /data/1: {"name":"b","size":1}',
        '+ /data/{"name":"c"}: {"name":"c"}',
    ]


def test_values_of_secrets_are_hidden() -> None:
    secret = {**plain(data={"key": "czNjcmV0"}, stringData={"pass": "s3cret"}, type="Opaque"), "kind": "Secret"}
    new = "\n".join(told(secret, None))
    assert "czNjcmV0" not in new
    assert "s3cret" not in new
    assert new.count("(hidden)") == 2
    assert '"type":"Opaque"' in new
    found = managed({"f:data": {"f:key": {}, "f:old": {}}}, {"data": {"key": "b2xk", "old": "b2xk"}, "type": "other"})
    assert told(secret, found) == [
        '~ /data/key: "(hidden)" -> "(hidden)"',
        '- /data/old: "(hidden)"',
        '+ /stringData: "(hidden)"',
        '~ /type: "other" -> "Opaque"',
    ]
    assert '"czNjcmV0"' in "\n".join(told({**secret, "kind": "ConfigMap"}, None)), "only Secrets are hidden"
