"""What would change is found out without the server, and never said wrongly: the server itself is the judge."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flow.apply_set.sets import MANAGER, world

from setpoint.client.client import Client
from setpoint.flow.diff import FieldChange, changes, contains, is_applied
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
