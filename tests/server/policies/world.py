"""A server with admission policies, and tables of what they make of requests.

A case of a table has `policies` and `bindings` (specs by name, of the kind that the table is about; a policy is about
ConfigMaps unless it says otherwise), `given` objects that are there before, and `requests`. What a request must be
answered with stands in `answer`: the status, and whatever of the rest matters.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.server.write.api import Answer

from setpoint.objects.clock import ManualClock
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Json, Object
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.store.memory import MemoryStore

REGISTRATION = "admissionregistration.k8s.io/v1"
_CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}
_BINDING_DEFAULTS = {"ValidatingAdmissionPolicyBinding": {"validationActions": ["Deny"]}}
_POLICY_DEFAULTS = {"MutatingAdmissionPolicy": {"reinvocationPolicy": "Never"}}


class World:
    """A server over an empty store. It remembers what the audit log would note beside the last request."""

    def __init__(self, admission: Sequence[Plugin] = ()) -> None:
        clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        store = MemoryStore(clock=clock)
        self.server = Server(store, clock=clock, ids=SeededIds(7), admission=admission, observer=self)
        self.annotations: Mapping[str, str] = {}

    def observe(self, context: Context, response: Response, seconds: float) -> Response:
        self.annotations = context.annotations
        return response

    async def send(self, method: str, path: str, body: Json = None, *, user: str = "", **more: str) -> Answer:
        """Sends a request as a user, who is an administrator unless told otherwise."""
        kind = more.get("type") or "application/json"
        data = b"" if body is None else msgspec.json.encode(body)
        headers = {"content-type": kind, "user-agent": "test/1.0"}
        if user:
            headers["impersonate-user"] = user
        response = await self.server(Request(method, path, more.get("query", ""), headers, data))
        assert isinstance(response.body, bytes)
        warnings = [value for name, value in response.headers if name == "Warning"]
        return Answer(response.status, msgspec.json.decode(response.body), warnings)

    def path(self, manifest: Object) -> str:
        """Where objects like this one are served."""
        resource = self.server.services.registry.kinds[GroupVersionKind.of(manifest)]
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        scope = f"/namespaces/{manifest['metadata'].get('namespace', 'default')}" if resource.namespaced else ""
        return f"{root}{scope}/{resource.resource}"

    async def post(self, *manifests: Object) -> None:
        """Creates objects."""
        for manifest in manifests:
            answer = await self.send("POST", self.path(manifest), manifest)
            assert answer.status == 201, answer.body

    async def delete(self, manifest: Object) -> None:
        answer = await self.send("DELETE", f"{self.path(manifest)}/{manifest['metadata']['name']}")
        assert answer.status == 200, answer.body


@asynccontextmanager
async def new_world(**options: Any) -> AsyncIterator[World]:
    """Provides a server that has started, with these options."""
    world = World(**options)
    await world.server.start()
    try:
        yield world
    finally:
        world.server.close()


def policy(kind: str, name: str = "p", /, **spec: Json) -> Object:
    defaults = {"matchConstraints": {"resourceRules": [_CONFIG_MAPS]}, **_POLICY_DEFAULTS.get(kind, {})}
    return {"apiVersion": REGISTRATION, "kind": kind, "metadata": {"name": name}, "spec": {**defaults, **spec}}


def binding(kind: str, name: str = "b", /, **spec: Json) -> Object:
    defaults = {"policyName": "p", **_BINDING_DEFAULTS.get(kind, {})}
    return {"apiVersion": REGISTRATION, "kind": kind, "metadata": {"name": name}, "spec": {**defaults, **spec}}


def config_map(name: str = "a", **data: str) -> Object:
    tree: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return {**tree, "data": data} if data else tree


def cases(table: str) -> list[Any]:
    """The cases of a table, as pytest takes them."""
    listed = yaml.safe_load((Path(__file__).parent / "cases" / f"{table}.yaml").read_text())
    return [pytest.param(case, id=case["case"].replace(" ", "-")) for case in listed]


async def play(world: World, kind: str, case: Object) -> None:
    """Plays a case with policies of a kind."""
    await world.post(*case.get("given", ()))
    await world.post(*(policy(kind, name, **spec) for name, spec in case["policies"].items()))
    await world.post(*(binding(f"{kind}Binding", name, **spec) for name, spec in case["bindings"].items()))
    for request in case["requests"]:
        wanted = request["answer"]
        body = request.get("body")
        path = request.get("path") or world.path(body)
        more = {name: request[name] for name in ("user", "type", "query") if name in request}
        answer = await world.send(request.get("method", "POST"), path, body, **more)
        assert answer.status == wanted["status"], answer.body
        assert answer.warnings == wanted.get("warnings", [])
        assert dict(world.annotations) == wanted.get("annotations", {})
        _check(answer.body, wanted.get("body", {}))


def _check(found: Json, wanted: Json) -> None:
    """Whether a tree has what is wanted of it; null stands for what must not be there."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            if value is None:
                assert name not in found, f"{name} is there: {found[name]}"
            else:
                assert name in found, f"there is no {name} in {found}"
                _check(found[name], value)
    else:
        assert found == wanted
