"""Summaries of objects over the API: their content, their watches, their past, and the rights that they require."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.transport import Call
from setpoint.objects.errors import BadRequest, Forbidden, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.plane import ControlPlane
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.workload.kinds.definitions import definitions

OWN = "/apis/setpoint.dev/v1"
GROUP = "usvc-dev.developer.microsoft.com"
NOW = "2026-01-31T12:00:00Z"


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    """Provides a control plane with the kinds of workloads, and without their controllers."""
    async with ControlPlane("memory", system=False) as plane:
        await provide(plane.services, definitions())
        yield plane


async def read(client: Client, path: str, **query: str) -> Any:
    answer = await client.raw("GET", f"{OWN}/{path}", query=list(query.items()))
    return json.loads(answer.body)


def executable(name: str, status: dict[str, Any], *, after: str = "") -> dict[str, Any]:
    depends = {"dependsOn": [{"kind": "Executable", "name": after, "condition": "Ready"}]} if after else {}
    tree = {"apiVersion": f"{GROUP}/v1", "kind": "Executable", "metadata": {"name": name}}
    return {**tree, "spec": {"executablePath": "/bin/true", **depends}, "status": status}


async def write(client: Client, tree: dict[str, Any]) -> None:
    """Creates a workload, and writes its status as its controller does."""
    kind = KindRef(GroupVersionKind(GROUP, "v1", tree["kind"]))
    try:
        made = await client.get(kind, tree["metadata"]["name"])
    except NotFound:
        made = await client.create({key: value for key, value in tree.items() if key != "status"})
    await client.update_status({**made, "status": tree["status"]})


def condition(status: str, reason: str, message: str = "") -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": NOW}]


RUNNING: dict[str, Any] = {"state": "Running", "healthStatus": "Healthy", "conditions": condition("True", "Healthy")}
WAITS: dict[str, Any] = {"state": "", "conditions": condition("False", "WaitingForDependencies", "waits for db")}
FAILED: dict[str, Any] = {"state": "Finished", "exitCode": 3, "conditions": condition("False", "Failed", "exit code 3")}


async def test_the_parts_have_states_reasons_and_dependencies(plane: ControlPlane) -> None:
    client = plane.client()
    await write(client, executable("db", WAITS))
    await write(client, executable("api", WAITS, after="db"))
    await write(client, executable("bad", FAILED))
    found = {each["metadata"]["name"]: each for each in (await read(client, "summaries"))["items"]}
    assert {name: (each["state"], each["reason"]) for name, each in found.items()} == {
        "db": ("Waiting", "WaitingForDependencies"),
        "api": ("Waiting", "WaitingForDependencies"),
        "bad": ("Failed", "Failed"),
    }
    api = found["api"]
    assert api["dependsOn"] == [{"name": "db", "kind": "Executable", "condition": "Ready", "met": False}]
    assert (api["ready"], api["wanted"], api["since"]) == (0, 1, NOW)
    assert (api["object"]["resource"], api["object"]["group"]) == ("executables", GROUP)
    await write(client, executable("db", RUNNING))
    single = await read(client, f"executables.{GROUP}/api/summary")
    assert single["dependsOn"][0]["met"] is True
    assert (await read(client, f"executables.{GROUP}/db/summary"))["state"] == "Ready"


async def test_objects_of_any_kind_have_summaries(plane: ControlPlane) -> None:
    client = plane.client()
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}}
    await client.create({**pod, "spec": {"containers": [{"name": "a", "image": "a"}]}})
    listed = await read(client, "namespaces/default/summaries", resource="pods")
    assert [(each["state"], each["ready"], each["wanted"]) for each in listed["items"]] == [("Waiting", 0, 1)]
    assert listed["metadata"]["resourceVersion"]
    found = await read(client, "namespaces/default/pods/web/summary")
    assert (found["object"]["kind"], found["metadata"]["namespace"]) == ("Pod", "default")
    assert (await read(client, "namespaces/default/summary"))["state"] == "Ready"
    assert (await read(client, "summaries", resource="pods", labelSelector="a=b"))["items"] == []


async def test_a_summary_of_the_past_shows_the_past(plane: ControlPlane) -> None:
    client = plane.client()
    await write(client, executable("db", WAITS))
    then = (await read(client, "summaries"))["metadata"]["resourceVersion"]
    await write(client, executable("db", RUNNING))
    for path in ("summaries", f"executables.{GROUP}/db/summary"):
        found = await read(client, path, at=then)
        assert (found["items"][0] if "items" in found else found)["state"] == "Waiting"


class Events:
    """The events of a watch of summaries."""

    def __init__(self, client: Client, **query: str) -> None:
        self._call = Call("GET", f"{OWN}/summaries", [("watch", "true"), *query.items()])
        self._client = client
        self._lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def __aenter__(self) -> "Events":
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        rest = b""
        async with self._client.stream(self._call) as stream:
            async for piece in stream:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._lines.put_nowait(json.loads(line))

    async def next(self) -> tuple[str, str, str]:
        event = await self._lines.get()
        return event["type"], event["object"]["metadata"]["name"], event["object"]["state"]

    async def until(self, name: str, state: str) -> None:
        """Waits for a state of an object. Several changes may be one event."""
        while (await self.next())[1:] != (name, state):
            pass


async def test_a_watch_of_the_parts_sends_changed_summaries(plane: ControlPlane) -> None:
    client = plane.client()
    await write(client, executable("db", WAITS))
    async with Events(client) as events:
        assert await events.next() == ("ADDED", "db", "Waiting")
        await write(client, executable("db", RUNNING))
        assert await events.next() == ("MODIFIED", "db", "Ready")
        await write(client, executable("api", RUNNING, after="db"))
        await events.until("api", "Ready")
        await client.delete(KindRef(GroupVersionKind(GROUP, "v1", "Executable")), "db")
        # The dependency is no longer met, and the summary of the deleted part ends.
        assert {await events.next(), await events.next()} == {("MODIFIED", "api", "Ready"), ("DELETED", "db", "Ready")}


async def test_a_watch_continues_after_a_list(plane: ControlPlane) -> None:
    client = plane.client()
    await write(client, executable("db", WAITS))
    listed = await read(client, "summaries")
    await write(client, executable("db", RUNNING))
    async with Events(client, resourceVersion=listed["metadata"]["resourceVersion"]) as events:
        assert await events.next() == ("MODIFIED", "db", "Ready")


async def test_a_watch_of_a_resource_sends_summaries(plane: ControlPlane) -> None:
    client = plane.client()
    async with Events(client, resource="namespaces") as events:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"}})
        await events.until("own", "Ready")


@pytest.mark.parametrize(
    ("path", "resource", "text"),
    [
        ("summaries", "nothing", "resource: the server stores no 'nothing'"),
        ("namespaces/default/summaries", "nodes", "resource: nodes is not in namespaces"),
        ("namespaces/default/summaries", "", "resource: required in a namespace"),
    ],
)
async def test_a_wrong_resource_is_named(plane: ControlPlane, path: str, resource: str, text: str) -> None:
    query = {"resource": resource} if resource else {}
    with pytest.raises(BadRequest, match=text):
        await read(plane.client(), path, **query)


async def test_a_summary_requires_the_right_to_its_object(plane: ControlPlane) -> None:
    admin = plane.client()
    await write(admin, executable("db", RUNNING))
    rbac = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [GROUP], "resources": ["executables"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["setpoint.dev"], "resources": ["summaries"], "verbs": ["list", "watch"]},
    ]
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules}
    await admin.create(role)
    subject = {"kind": "User", "name": "eve", "apiGroup": rbac}
    binding = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}}
    reference = {"kind": "ClusterRole", "name": "a", "apiGroup": rbac}
    await admin.create({**binding, "roleRef": reference, "subjects": [subject]})
    eve, other = plane.client(user="eve"), plane.client(user="other")
    assert len((await read(eve, "summaries"))["items"]) == 1
    assert len((await read(eve, "summaries", resource=f"executables.{GROUP}"))["items"]) == 1
    assert (await read(eve, f"executables.{GROUP}/db/summary"))["state"] == "Ready"
    for path, query in (
        ("summaries", {"resource": "secrets"}),
        ("summaries", {"resource": "namespaces", "watch": "true"}),
        ("namespaces/default/summaries", {"resource": "pods"}),
        ("namespaces/default/summary", {}),
        # The past requires the right to the history.
        ("summaries", {"at": "1"}),
        ("summaries", {"resource": f"executables.{GROUP}", "at": "1"}),
        (f"executables.{GROUP}/db/summary", {"at": "1"}),
    ):
        with pytest.raises(Forbidden):
            await read(eve, path, **query)
    for path in ("summaries", f"executables.{GROUP}/db/summary"):
        with pytest.raises(Forbidden):
            await read(other, path)
