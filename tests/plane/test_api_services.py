"""The APIServices of the versions that a listening server serves."""

import json

from tests.plane.test_plane import ask

from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.store.memory import MemoryStore

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/widgets"
LABEL = "kube-aggregator.kubernetes.io/automanaged"


def definition(plural: str = "widgets", *versions: str) -> bytes:
    schema = {"openAPIV3Schema": {"type": "object"}}
    shown = [
        {"name": name, "served": True, "storage": not place, "schema": schema}
        for place, name in enumerate(versions or ("v1",))
    ]
    kind = plural.capitalize()[:-1]
    spec = {"group": "example.com", "scope": "Cluster", "names": {"plural": plural, "kind": kind}, "versions": shown}
    return json.dumps({"metadata": {"name": f"{plural}.example.com"}, "spec": spec}).encode()


async def registered(plane: ControlPlane, label: str = "true") -> dict[str, Object]:
    """Returns the registered APIServices by name."""
    status, found = await ask(plane, "GET", API_SERVICES)
    assert status == 200
    return {
        each["metadata"]["name"]: each
        for each in found["items"]
        if (each["metadata"].get("labels") or {}).get(LABEL) == label
    }


async def test_a_listening_server_registers_every_built_in_version() -> None:
    async with ControlPlane(system=False) as plane:
        assert await registered(plane, "onstart") == {}
        await plane.listen(tls=False)
        found = await registered(plane, "onstart")
        _, groups = await ask(plane, "GET", "/apis")
        versions = {
            f"{version['version']}.{group['name']}" for group in groups["groups"] for version in group["versions"]
        }
        # A chart of metrics-server creates the APIService of its group.
        assert set(found) == {"v1.", *versions} - {"v1.apiregistration.k8s.io", "v1beta1.metrics.k8s.io"}
        assert {each["status"]["conditions"][0]["reason"] for each in found.values()} == {"Local"}


async def test_a_built_in_version_that_a_user_deleted_returns_with_the_next_start() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as plane:
        await plane.listen(tls=False)
        before = await registered(plane, "onstart")
        assert (await ask(plane, "DELETE", f"{API_SERVICES}/v1.apps"))[0] == 200
        assert "v1.apps" not in await registered(plane, "onstart")
    async with ControlPlane(store, system=False) as plane:
        await plane.listen(tls=False)
        after = await registered(plane, "onstart")
        assert set(after) == set(before)
        assert [name for name in after if after[name] != before[name]] == ["v1.apps"]


async def test_the_registration_of_a_version_ends_with_the_last_definition() -> None:
    async with ControlPlane(system=False) as plane:
        await plane.listen(tls=False)
        for body in (definition("widgets", "v1", "v2"), definition("gadgets")):
            assert (await ask(plane, "POST", DEFINITIONS, body))[0] == 201
        assert set(await registered(plane)) == {"v1.example.com", "v2.example.com"}
        await ask(plane, "DELETE", f"{DEFINITIONS}/widgets.example.com")
        assert set(await registered(plane)) == {"v1.example.com"}
        await ask(plane, "DELETE", f"{DEFINITIONS}/gadgets.example.com")
        assert await registered(plane) == {}


async def test_the_registration_ends_after_the_last_instance_of_a_deleted_definition() -> None:
    async with ControlPlane(system=False) as plane:
        await plane.listen(tls=False)
        await ask(plane, "POST", DEFINITIONS, definition())
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["a.b/c"]}}
        assert (await ask(plane, "POST", WIDGETS, json.dumps(widget).encode()))[0] == 201
        await ask(plane, "DELETE", f"{DEFINITIONS}/widgets.example.com")
        assert set(await registered(plane)) == {"v1.example.com"}
        _, held = await ask(plane, "GET", f"{WIDGETS}/w")
        held["metadata"]["finalizers"] = []
        assert (await ask(plane, "PUT", f"{WIDGETS}/w", json.dumps(held).encode()))[0] == 200
        assert (await ask(plane, "GET", f"{DEFINITIONS}/widgets.example.com"))[0] == 404
        assert await registered(plane) == {}


async def test_an_api_service_of_a_user_is_left_alone() -> None:
    async with ControlPlane(system=False) as plane:
        await plane.listen(tls=False)
        spec = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 6}
        own = {"metadata": {"name": "v1.example.com"}, "spec": spec}
        _, made = await ask(plane, "POST", API_SERVICES, json.dumps(own).encode())
        await ask(plane, "POST", DEFINITIONS, definition())
        await ask(plane, "DELETE", f"{DEFINITIONS}/widgets.example.com")
        assert await registered(plane) == {}
        assert (await ask(plane, "GET", f"{API_SERVICES}/v1.example.com")) == (200, made)


async def test_definitions_that_changed_while_no_server_listened_are_registered_at_the_start() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as plane:
        await ask(plane, "POST", DEFINITIONS, definition())
        assert await registered(plane) == {}
    async with ControlPlane(store, system=False) as plane:
        await plane.listen(tls=False)
        assert set(await registered(plane)) == {"v1.example.com"}
    async with ControlPlane(store, system=False) as plane:
        await ask(plane, "DELETE", f"{DEFINITIONS}/widgets.example.com")
        assert set(await registered(plane)) == {"v1.example.com"}
    async with ControlPlane(store, system=False) as plane:
        await plane.listen(tls=False)
        assert await registered(plane) == {}
