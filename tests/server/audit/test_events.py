"""What is recorded of requests, at every level and stage."""

import asyncio
import json
from typing import Any

import pytest
from tests.server.audit.audited import MAPS, audited
from tests.server.read.reader import MemorySink

from setpoint.server.access.audit.policy import Level, load_policy
from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

A: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
MERGE = "application/merge-patch+json"


async def test_an_event_says_who_asked_what_when_from_where_and_what_became_of_it() -> None:
    async with audited("Metadata") as server:
        await server.ask(MAPS, "POST", A, user_agent="kubectl/v1", x_forwarded_for="192.0.2.1, junk", audit_id="my-id")
        received, complete = server.events
        assert received == {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": "my-id",
            "stage": "RequestReceived",
            "requestURI": MAPS,
            "verb": "create",
            "user": {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]},
            "sourceIPs": ["192.0.2.1", "10.0.0.9"],
            "userAgent": "kubectl/v1",
            "objectRef": {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"},
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
            "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        }
        assert complete["stage"] == "ResponseComplete"
        assert complete["objectRef"]["name"] == "a"
        assert complete["responseStatus"] == {"metadata": {}, "code": 201}
        assert complete["annotations"]["authorization.k8s.io/decision"] == "allow"
        assert "requestObject" not in complete


VERBS: list[tuple[str, str, str, Any, dict[str, str], int]] = [
    ("create", MAPS, "POST", A, {}, 201),
    ("get", f"{MAPS}/there", "GET", None, {}, 200),
    ("list", MAPS, "GET", None, {}, 200),
    ("update", f"{MAPS}/there", "PUT", {**A, "metadata": {"name": "there"}}, {}, 200),
    ("patch", f"{MAPS}/there", "PATCH", {"data": {"x": "y"}}, {"content_type": MERGE}, 200),
    ("delete", f"{MAPS}/there", "DELETE", {"gracePeriodSeconds": 0}, {}, 200),
    ("deletecollection", MAPS, "DELETE", None, {}, 200),
]


@pytest.mark.parametrize("level", ["None", "Metadata", "Request", "RequestResponse"])
@pytest.mark.parametrize("case", VERBS, ids=lambda case: str(case[0]))
async def test_every_verb_is_recorded_at_every_level(case: tuple[Any, ...], level: Level) -> None:
    verb, path, method, body, headers, code = case
    async with audited(level) as server:
        await server.ask(MAPS, "POST", {"metadata": {"name": "there"}, "data": {"k": "there"}})
        server.collected.clear()
        response = await server.ask(path, method, body, **headers)
        assert response.status == code
        if level == "None":
            assert server.events == []
            return
        event = server.last()
        assert (event["verb"], event["level"], event["responseStatus"]["code"]) == (verb, level, code)
        assert ("requestObject" in event) == (body is not None and level != "Metadata")
        assert ("responseObject" in event) == (level == "RequestResponse")
        if body is not None and level != "Metadata":
            assert event["requestObject"] == body
        if level == "RequestResponse":
            assert isinstance(response.body, bytes)
            assert event["responseObject"] == json.loads(response.body)


async def test_a_watch_is_recorded_when_it_starts_and_when_it_ends() -> None:
    async with audited("RequestResponse") as server:
        response = await server.ask(f"{MAPS}?watch=true")
        assert not isinstance(response.body, bytes | list)
        assert [event["stage"] for event in server.events] == ["RequestReceived", "ResponseStarted"]
        sink = MemorySink()
        running = asyncio.create_task(response.body.run(sink))
        await asyncio.sleep(0)
        server.clock.advance(5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        last = server.last()
        assert (last["stage"], last["verb"]) == ("ResponseComplete", "watch")
        assert last["stageTimestamp"] == "2026-01-01T00:00:05.000000Z"
        assert "responseObject" not in last


async def test_refusals_are_recorded_with_their_status() -> None:
    async with audited("Metadata") as server:
        await server.ask(f"{MAPS}/none")
        status = server.last()["responseStatus"]
        assert (status["status"], status["reason"], status["code"]) == ("Failure", "NotFound", 404)
        assert status["message"] == 'configmaps "none" not found'
        await server.ask(MAPS, token="janes-token")
        event = server.last()
        assert event["responseStatus"]["code"] == 403
        assert event["user"]["username"] == "jane"
        assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_who_could_not_be_authenticated_is_recorded_without_the_token() -> None:
    async with audited("RequestResponse") as server:
        assert (await server.ask(MAPS, token="guessed-token")).status == 401
        [event] = server.events
        assert event["stage"] == "ResponseStarted"
        assert event["user"] == {}
        assert event["responseStatus"]["message"] == "Authentication failed, attempted: bearer"
        assert "guessed" not in server.text


async def test_impersonation_shows_both_users() -> None:
    async with audited("Metadata") as server:
        await server.ask(MAPS, impersonate_user="joe", impersonate_group="dev")
        received, complete = server.events
        assert received["user"]["username"] == complete["user"]["username"] == "system:admin"
        assert complete["impersonatedUser"]["username"] == "joe"
        assert "dev" in complete["impersonatedUser"]["groups"]


class Noting(Plugin):
    name = "Noting"

    async def validate(self, context: Context, operation: Operation) -> None:
        context.annotations["noting.example/seen"] = operation.name


class Crashing(Plugin):
    name = "Crashing"

    async def validate(self, context: Context, operation: Operation) -> None:
        raise RuntimeError("with something private in it")


async def test_what_admission_notes_is_recorded() -> None:
    async with audited("Metadata", Noting()) as server:
        await server.ask(MAPS, "POST", A)
        assert server.last()["annotations"]["noting.example/seen"] == "a"


async def test_a_failure_of_the_server_itself_is_a_stage_of_its_own() -> None:
    async with audited("Metadata", Crashing()) as server:
        assert (await server.ask(MAPS, "POST", A)).status == 500
        assert [event["stage"] for event in server.events] == ["RequestReceived", "Panic"]
        assert server.last()["responseStatus"]["code"] == 500
        assert "private" not in server.text


async def test_stages_and_managed_fields_are_left_out_where_the_policy_says_so() -> None:
    text = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [list]
  omitManagedFields: false
- level: RequestResponse
"""
    async with audited(load_policy(text, "policy.yaml")) as server:
        await server.ask(MAPS, "POST", A)
        [event] = server.events
        assert event["stage"] == "ResponseComplete"
        assert "managedFields" not in event["responseObject"]["metadata"]
        await server.ask(MAPS)
        [*_, event] = server.events
        assert "managedFields" in event["responseObject"]["items"][0]["metadata"]


async def test_bodies_in_yaml_are_recorded_as_json() -> None:
    async with audited("RequestResponse") as server:
        body = b"metadata: {name: a}\ndata: {k: v}\n"
        kind = "application/yaml"
        assert (await server.ask(MAPS, "POST", body, content_type=kind, accept=kind)).status == 201
        event = server.last()
        assert event["requestObject"] == {"metadata": {"name": "a"}, "data": {"k": "v"}}
        assert event["responseObject"]["data"] == {"k": "v"}
        assert event["objectRef"]["name"] == "a"


async def test_a_test_can_ask_which_requests_were_made() -> None:
    async with audited("Metadata") as server:
        await server.ask(MAPS, "POST", A)
        await server.ask(f"{MAPS}/a", "PATCH", {"data": {}}, content_type=MERGE)
        await server.ask("/version")
        await server.ask("/api/v1/namespaces/x", "DELETE")
        assert server.collected.requests() == [
            "create configmaps default/a 201",
            "patch configmaps default/a 200",
            "get /version 200",
            "delete namespaces x/x 404",
        ]


async def test_what_is_recorded_is_counted() -> None:
    async with audited("Metadata") as server:
        await server.ask(MAPS)
        assert (await server.metrics("apiserver_audit_event_total"))[""] == 3
        assert (await server.metrics("apiserver_audit_level_total"))['{level="Metadata"}'] == 3
