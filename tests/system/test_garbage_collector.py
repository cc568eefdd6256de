"""The garbage collector over a real server: what belongs to nobody goes, the way its owner was deleted."""

from typing import Any

import pytest
from tests.system.worlds import CONFIG_MAP, World, new_world, reference

from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.server.message import Request
from setpoint.server.pipeline import Pipeline

NO_UID = "00000000-0000-0000-0000-00000000dead"


def crd(plural: str, kind: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def widget(name: str, *owners: Object) -> Object:
    metadata = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}


async def test_dependents_follow_their_owner_and_theirs_follow_them(world: World) -> None:
    owner = await world.make("owner")
    child = await world.make("child", reference(owner))
    await world.make("grandchild", reference(child))
    await world.make("stranger")
    await world.delete("owner")
    assert await world.names() == ["stranger"]


@pytest.mark.parametrize(
    ("propagation", "left"), [("Background", []), ("Foreground", []), ("Orphan", ["child", "grandchild"])]
)
async def test_the_way_of_the_deletion_decides(world: World, propagation: str, left: list[str]) -> None:
    owner = await world.make("owner")
    child = await world.make("child", reference(owner, blocks=True))
    await world.make("grandchild", reference(child, blocks=True))
    await world.delete("owner", propagation)
    assert await world.names() == left


async def test_an_orphan_keeps_its_other_owners(world: World) -> None:
    first, second = await world.make("first"), await world.make("second")
    await world.make("child", reference(first), reference(second))
    await world.delete("first", "Orphan")
    assert await world.names() == ["child", "second"]
    child = await world.client.get(CONFIG_MAP, "child", "default")
    assert child["metadata"]["ownerReferences"] == [reference(second)]


async def test_one_owner_is_enough_and_only_what_leads_nowhere_is_taken_away(world: World) -> None:
    first, second = await world.make("first"), await world.make("second")
    await world.make("child", reference(first), reference(second))
    await world.delete("first")
    assert await world.names() == ["child", "second"]
    child = await world.client.get(CONFIG_MAP, "child", "default")
    assert child["metadata"]["ownerReferences"] == [reference(second)]
    await world.delete("second")
    assert await world.names() == []


async def test_an_owner_waits_for_what_blocks_it_and_for_nothing_else(world: World) -> None:
    owner = await world.make("owner")
    await world.make("blocking", reference(owner, blocks=True), finalizers=["example.com/hold"])
    await world.make("other", reference(owner), finalizers=["example.com/hold"])
    await world.delete("owner", "Foreground")
    assert await world.names() == ["blocking", "other", "owner"]
    await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "blocking", "default")
    assert await world.names() == ["other"]


async def test_a_dependent_with_another_owner_does_not_hold_up_a_deletion_in_the_foreground(world: World) -> None:
    owner, other = await world.make("owner"), await world.make("other")
    await world.make("child", reference(owner, blocks=True), reference(other, blocks=True))
    await world.delete("owner", "Foreground")
    assert await world.names() == ["child", "other"]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_circle_goes_as_soon_as_one_in_it_does(world: World, propagation: str) -> None:
    first = await world.make("first")
    second = await world.make("second", reference(first, blocks=True))
    third = await world.make("third", reference(second, blocks=True))
    patch = merge({"metadata": {"ownerReferences": [reference(third, blocks=True)]}})
    await world.client.patch(CONFIG_MAP, patch, "first", "default")
    assert await world.names() == ["first", "second", "third"]
    await world.delete("first", propagation)
    assert await world.names() == []


async def test_an_object_whose_owner_never_was_goes(world: World) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": NO_UID}
    await world.make("child", ghost)
    assert await world.names() == []


async def test_an_owner_by_the_same_name_is_not_the_same(world: World) -> None:
    owner = await world.make("owner")
    await world.make("child", reference(owner, uid=NO_UID))
    assert await world.names() == ["owner"]


async def test_an_owner_in_another_namespace_owns_nothing_and_an_event_says_so(world: World) -> None:
    await world.namespace("other")
    owner = await world.make("owner", namespace="other")
    child = await world.make("child", reference(owner))
    await world.make("own", reference(owner), namespace="other")
    assert await world.names() == []
    assert await world.names("other") == ["own", "owner"]
    (event,) = (await world.client.list("v1/Event", "default")).items
    assert (event["reason"], event["type"]) == ("OwnerRefInvalidNamespace", "Warning")
    assert event["involvedObject"]["uid"] == child["metadata"]["uid"]
    uid = owner["metadata"]["uid"]
    assert event["message"] == (
        f'ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] does not exist in namespace "default"'
    )


async def test_a_namespaced_owner_of_something_in_no_namespace_is_passed_over(world: World) -> None:
    owner = await world.make("owner")
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "mine", "ownerReferences": [reference(owner)]},
    }
    await world.client.create(role)
    await world.delete("owner")
    await world.plane.settle()
    assert await world.is_there("rbac.authorization.k8s.io/v1/ClusterRole", "mine")


async def test_an_owner_in_no_namespace_owns_in_all(world: World) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "mine"}}
    owner = await world.client.create(role)
    await world.make("child", reference(owner))
    assert await world.names() == ["child"]
    await world.client.delete("rbac.authorization.k8s.io/v1/ClusterRole", "mine")
    assert await world.names() == []


async def test_custom_resources_own_and_are_owned_at_once(world: World) -> None:
    await world.client.create(crd("widgets", "Widget"))
    owner = await world.client.create(widget("owner"))
    await world.make("child", reference(owner))
    config_map = await world.make("config-map")
    await world.client.create(widget("owned", reference(config_map)))
    assert await world.names() == ["child", "config-map"]
    await world.client.delete("example.com/v1/Widget", "owner", "default")
    await world.delete("config-map", "Orphan")
    assert await world.names() == []
    (left,) = (await world.client.list("example.com/v1/Widget", "default")).items
    assert "ownerReferences" not in left["metadata"]


async def test_what_names_an_owner_of_an_unknown_kind_waits_until_there_is_such_a_kind(world: World) -> None:
    ghost = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "ghost", "uid": NO_UID}
    await world.make("child", ghost)
    found = (await world.client.list(CONFIG_MAP, "default")).items
    assert [item["metadata"]["name"] for item in found] == ["child"]
    await world.client.create(crd("widgets", "Widget"))
    assert await world.names() == []


async def test_any_served_version_of_an_owner_will_do(world: World) -> None:
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa", "namespace": "default"},
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    owner = await world.client.create(scaler)
    await world.make("child", reference(owner, apiVersion="autoscaling/v1"))
    await world.make("other", reference(owner))
    assert await world.names() == ["child", "other"]
    await world.client.delete("autoscaling/v2/HorizontalPodAutoscaler", "hpa", "default")
    assert await world.names() == []


async def test_writes_are_those_of_the_collectors_own_user(world: World) -> None:
    first, second = await world.make("first"), await world.make("second")
    await world.make("child", reference(first), reference(second))
    await world.delete("first")
    await world.plane.settle()
    server = world.plane._started
    (entry, *_) = await server.services.store.history("/core/configmaps/default/child")
    assert entry.actor.user == "system:serviceaccount:kube-system:generic-garbage-collector"


async def test_owners_that_are_there_need_not_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = Pipeline.__call__

    def call(pipeline: Pipeline, request: Request) -> Any:
        if "generic-garbage-collector" in request.headers.get("user-agent", ""):
            asked.append(f"{request.method} {request.path}")
        return answer(pipeline, request)

    monkeypatch.setattr(Pipeline, "__call__", call)
    async with new_world() as world:
        owner = await world.make("owner")
        for number in range(3):
            await world.make(f"child-{number}", reference(owner))
        await world.plane.settle()
        assert asked == []
        await world.delete("owner")
        assert not [name for name in await world.names() if name.startswith("child")]
        assert asked
