"""The endpoints of setpoint.dev that a control plane adds: causes, details of workloads, and controllers."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.config import Config
from setpoint.objects.errors import BadRequest, Forbidden, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.plane import ControlPlane
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.workload.kinds.definitions import definitions
from setpoint.workload.usage_settings import UsageSettings

GROUP = "usvc-dev.developer.microsoft.com"
PLACE = f"executables.{GROUP}/api"
KIND = KindRef(GroupVersionKind(GROUP, "v1", "Executable"))
TIME = "2026-01-31T12:00:00Z"
STATUS: dict[str, Any] = {
    "state": "Finished",
    "exitCode": 3,
    "startupTimestamp": TIME,
    "finishTimestamp": TIME,
    "effectiveEnv": [{"name": "PASSWORD", "value": "geheim"}, {"name": "PORT", "value": "8080"}],
    "healthProbeResults": [{"probeName": "up", "outcome": "Failure", "timestamp": TIME, "reason": "refused"}],
    "conditions": [
        {"type": "Ready", "status": "False", "reason": "Failed", "message": "exit code 3", "lastTransitionTime": TIME}
    ],
}
PROBE = {"name": "up", "type": "TCP", "tcpProbe": {"port": "80"}, "schedule": {"interval": "1s"}}
SPEC = {"executablePath": "/bin/true", "env": [{"name": "PORT", "value": "8080"}], "healthProbes": [PROBE]}


@asynccontextmanager
async def new_plane(**options: Any) -> AsyncIterator[ControlPlane]:
    """Starts a control plane with one workload, which has failed."""
    async with ControlPlane("memory", system=["namespace-controller"], **options) as plane:
        await provide(plane.services, definitions())
        client = plane.client()
        tree = {"apiVersion": f"{GROUP}/v1", "kind": "Executable", "metadata": {"name": "api"}, "spec": SPEC}
        made = await client.create(tree)
        await client.update_status({**made, "status": STATUS})
        yield plane


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with new_plane() as plane:
        yield plane


async def read(client: Client, path: str, **query: str) -> Any:
    answer = await client.raw("GET", f"/apis/setpoint.dev/v1/{path}", query=list(query.items()))
    return json.loads(answer.body)


async def test_why_leads_from_the_symptom_to_the_requests(plane: ControlPlane) -> None:
    found = await read(plane.client(), f"{PLACE}/why")
    nodes = {each["id"]: each for each in found["nodes"]}
    assert nodes[found["symptom"]]["title"].startswith("api is not ready")
    writes = [each for each in found["nodes"] if each["type"] == "write"]
    assert writes
    assert all(each["object"]["name"] == "api" and each["revision"] for each in writes)
    assert {nodes[each]["type"] for each in found["origins"]} == {"request"}
    assert {(nodes[each["from"]]["type"], nodes[each["to"]]["type"]) for each in found["edges"]} >= {
        ("request", "write"),
        ("write", "symptom"),
    }
    assert found["truncated"] is False


async def test_why_of_a_field_begins_with_its_last_write(plane: ControlPlane) -> None:
    found = await read(plane.client(), f"{PLACE}/why", field="status.exitCode")
    assert len([each for each in found["nodes"] if each["type"] == "write"]) == 1


async def test_why_names_wrong_parameters_and_missing_objects(plane: ControlPlane) -> None:
    with pytest.raises(BadRequest, match="depth must be a number from 1 to 6"):
        await read(plane.client(), f"{PLACE}/why", depth="7")
    with pytest.raises(NotFound):
        await read(plane.client(), f"executables.{GROUP}/none/why")


async def test_the_environment_is_masked_and_has_origins(plane: ControlPlane) -> None:
    items = (await read(plane.client(), f"{PLACE}/environment"))["items"]
    found = {each["name"]: each for each in items}
    assert "geheim" not in json.dumps(items)
    assert found["PASSWORD"]["masked"] is True
    assert (found["PORT"]["value"], found["PORT"]["origin"], found["PORT"]["masked"]) == ("8080", "spec.env", False)


async def test_probes_and_attempts_show_the_last_results(plane: ControlPlane) -> None:
    [probe] = (await read(plane.client(), f"{PLACE}/probes"))["items"]
    assert (probe["name"], probe["type"], probe["result"], probe["message"]) == ("up", "TCP", "Failed", "refused")
    [attempt] = (await read(plane.client(), f"{PLACE}/attempts"))["items"]
    assert (attempt["attempt"], attempt["exitCode"], attempt["reason"]) == (1, 3, "Failed")


async def test_samples_measure_the_running_process(plane: ControlPlane) -> None:
    assert (await read(plane.client(), f"{PLACE}/samples"))["items"] == []
    client = plane.client()
    running = await client.get(KIND, "api")
    await client.update_status({**running, "status": {"state": "Running", "pid": os.getpid()}})
    [sample] = (await read(client, f"{PLACE}/samples"))["items"]
    assert sample["replica"] == "api"
    assert sample["memoryBytes"] > 1_000_000
    assert sample["cpuMillicores"] >= 0
    assert sample["processes"] >= 1
    assert (await read(client, f"{PLACE}/samples", since="2100-01-01T00:00:00Z"))["items"] == []
    with pytest.raises(BadRequest, match="since: 'now' is not a time"):
        await read(client, f"{PLACE}/samples", since="now")


async def test_samples_are_kept_as_the_settings_say() -> None:
    for usage, kept in ((UsageSettings(max_samples=1), 1), (UsageSettings(enabled=False), 0)):
        async with new_plane(config=Config(usage=usage)) as plane:
            client = plane.client()
            running = await client.get(KIND, "api")
            await client.update_status({**running, "status": {"state": "Running", "pid": os.getpid()}})
            assert len((await read(client, f"{PLACE}/samples"))["items"]) == kept


async def test_controllers_show_their_reconciles(plane: ControlPlane) -> None:
    client = plane.client()
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"}})
    await plane.settle()
    [row] = (await read(client, "controllers"))["items"]
    assert (row["name"], row["state"]) == ("namespace-controller", "Running")
    await client.delete("v1/Namespace", "own")
    await plane.settle()
    items = (await read(client, "controllers/namespace-controller/reconciles"))["items"]
    assert "own" in {each["key"] for each in items}
    single = await read(client, f"controllers/namespace-controller/reconciles/{items[0]['id']}")
    assert (single["kind"], single["of"], single["id"]) == ("Reconcile", "Namespace", items[0]["id"])
    for path in ("controllers/none/reconciles", "controllers/namespace-controller/reconciles/none"):
        with pytest.raises(NotFound):
            await read(client, path)


async def test_each_endpoint_requires_a_right(plane: ControlPlane) -> None:
    admin = plane.client()
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [GROUP], "resources": ["executables"], "verbs": ["get"]}]
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules}
    await admin.create(role)
    binding = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}}
    reference = {"kind": "ClusterRole", "name": "a", "apiGroup": rbac}
    subjects = [{"kind": "User", "name": "eve", "apiGroup": rbac}]
    await admin.create({**binding, "roleRef": reference, "subjects": subjects})
    eve, other = plane.client(user="eve"), plane.client(user="other")
    for name in ("environment", "probes", "attempts", "samples"):
        assert "items" in await read(eve, f"{PLACE}/{name}")
        with pytest.raises(Forbidden):
            await read(other, f"{PLACE}/{name}")
    # The causes are the past of the object.
    for path in (f"{PLACE}/why", "controllers", "controllers/namespace-controller/reconciles"):
        with pytest.raises(Forbidden):
            await read(eve, path)
