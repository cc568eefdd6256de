"""Requests that are forwarded to an extension API server: the user, the headers, bodies, streams and failures."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest
from tests.server.aggregation.extended_plane import extended
from tests.server.aggregation.extension import (
    API_SERVICE,
    NOTES,
    ROOT,
    ask,
    has_reason,
    note,
    respond,
    until,
)

from setpoint.client.transport import Call, Refused
from setpoint.objects.errors import BadRequest
from setpoint.server.access.audit.auditor import Auditor
from setpoint.server.access.audit.memory_log import Collected
from setpoint.server.access.audit.policy import everything
from setpoint.server.aggregation.user_headers import user_lines
from setpoint.server.edge.in_process import LocalTransport
from setpoint.server.ports import User


async def test_objects_are_written_and_read_with_the_user_in_headers() -> None:
    async with extended() as (plane, extension):
        assert await ask(plane, "POST", NOTES, note("first")) == (200, note("first"))
        status, found = await ask(plane, "GET", f"{NOTES}?limit=5&labelSelector=a%3Db")
        assert (status, found["items"]) == (200, [note("first")])
        asked = extension.received[-1]
        assert (asked.path, asked.query) == (NOTES, "limit=5&labelSelector=a%3Db")
        assert (asked.client, asked.user) == ("front-proxy-client", "system:admin")
        assert "system:masters" in asked.headers["x-remote-group"]
        response = await respond(plane, "GET", f"{NOTES}/first")
        assert ("X-Own", "yes") in response.headers


async def test_a_client_cannot_state_the_user_and_sends_no_credentials() -> None:
    async with extended() as (plane, extension):
        await ask(plane, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
        rules = [{"apiGroups": ["notes.example.dev"], "resources": ["notes"], "verbs": ["list"]}]
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        await ask(plane, "POST", f"{roles}/roles", {"metadata": {"name": "reader"}, "rules": rules})
        subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
        binding = {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": [subject]}
        assert (await ask(plane, "POST", f"{roles}/rolebindings", binding))[0] == 201
        spoofed = {"x_remote_user": "root", "x_remote_group": "system:masters", "X_Remote_Extra_a": "b"}
        headers = {name.lower(): value for name, value in spoofed.items()}
        status, _ = await ask(
            plane, "GET", NOTES, None, impersonate_user="jane", impersonate_group="authors", cookie="a=b",
            connection="close, x-secret", x_secret="hidden", te="trailers", **headers,
        )  # fmt: skip
        assert status == 200
        asked = extension.received[-1]
        assert (asked.path, asked.user) == (NOTES, "jane")
        assert asked.headers["x-remote-group"] == ["authors", "system:authenticated"]
        unwanted = ("x-remote-extra-a", "impersonate-user", "x-secret", "te", "connection", "authorization")
        assert [name for name in unwanted if name in asked.headers] == []
        assert asked.headers["cookie"] == ["a=b"]


async def test_a_user_without_the_right_is_refused_before_the_request_is_forwarded() -> None:
    async with extended() as (plane, extension):
        before = len(extension.received)
        for method, path in (("GET", NOTES), ("POST", NOTES), ("DELETE", f"{NOTES}/first"), ("GET", f"{ROOT}/notes")):
            status, found = await ask(plane, method, path, note("first"), impersonate_user="jane")
            assert (status, found["reason"]) == (403, "Forbidden")
            assert 'in API group "notes.example.dev"' in found["message"]
        assert len(extension.received) == before


def test_the_extra_fields_of_a_user_are_escaped() -> None:
    lines = user_lines(User("jané", ("a", "b"), "7", {"example.com/key%": ("x", "y")}))
    assert lines.split("\r\n") == [
        "X-Remote-User: jané",
        "X-Remote-Uid: 7",
        "X-Remote-Group: a",
        "X-Remote-Group: b",
        "X-Remote-Extra-example.com%2Fkey%25: x",
        "X-Remote-Extra-example.com%2Fkey%25: y",
        "",
    ]


@pytest.mark.parametrize("user", [User("a\r\nX-Remote-Group: system:masters"), User("a", ("b\x00",))])
def test_a_user_that_would_change_the_headers_is_refused(user: User) -> None:
    with pytest.raises(BadRequest, match="control character"):
        user_lines(user)


async def test_a_watch_is_passed_on_event_by_event() -> None:
    async with extended() as (plane, extension):
        client = plane.client()
        event = json.dumps({"type": "ADDED", "object": note("first")}).encode() + b"\n"
        async with client.stream(Call("GET", NOTES, [("watch", "true")])) as stream:
            pieces = aiter(stream)
            for _ in range(2):
                extension.events.put_nowait(event)
                assert await anext(pieces) == event
            extension.events.put_nowait(None)
            with pytest.raises(StopAsyncIteration):
                await anext(pieces)
        assert extension.watches == 1


async def test_a_long_answer_is_passed_on_and_errors_are_those_of_the_extension_server() -> None:
    async with extended() as (plane, extension):
        text = b"x" * (3 << 20)
        extension.pages[f"{NOTES}/long"] = (200, "text/plain", text)
        status, found = await ask(plane, "GET", f"{NOTES}/long")
        assert (status, len(found)) == (200, len(text))
        body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 409})
        extension.pages[f"{NOTES}/taken"] = (409, "application/json", body.encode())
        assert await ask(plane, "GET", f"{NOTES}/taken") == (409, json.loads(body))
        assert (await respond(plane, "HEAD", f"{NOTES}/taken")).status == 409


async def test_a_path_is_forwarded_only_as_authorized() -> None:
    async with extended() as (plane, extension):
        before = len(extension.received)
        for path in (f"{NOTES}/..", f"{NOTES}/%2e%2e/secrets", f"{NOTES}//first", f"{ROOT}/./notes"):
            status, found = await ask(plane, "GET", path)
            assert (status, found["reason"]) == (400, "BadRequest")
        assert len(extension.received) == before
        await ask(plane, "GET", f"{NOTES}/a%2Fstatus%3Fx")
        assert extension.received[-1].path == f"{NOTES}/a/status%3Fx"


async def test_an_unavailable_server_is_answered_with_the_text_of_kube_aggregator() -> None:
    async with extended() as (plane, extension):
        await extension.stop()
        status, found = await ask(plane, "GET", NOTES)
        assert status == 503
        assert found.startswith("error trying to reach service: ")
        _, tree = await ask(plane, "GET", API_SERVICE)
        tree["spec"]["groupPriorityMinimum"] = 200
        tree["spec"]["service"]["port"] = 8443  # another server, which is checked at once
        assert (await ask(plane, "PUT", API_SERVICE, tree))[0] == 200
        await until(has_reason("FailedDiscoveryCheck"), plane)
        for path in (NOTES, ROOT, "/openapi/v3/apis/notes.example.dev/v1"):
            assert await ask(plane, "GET", path) == (503, "service unavailable\n")


async def test_requests_without_an_answer_are_limited() -> None:
    async with extended() as (plane, extension):
        extension.holds = asyncio.Event()
        asking = [asyncio.ensure_future(ask(plane, "GET", NOTES)) for _ in range(96)]
        while len([each for each in extension.received if each.path == NOTES]) < 96:
            await asyncio.sleep(0.01)
        status, found = await ask(plane, "GET", NOTES)
        assert (status, found["reason"]) == (429, "TooManyRequests")
        # Other requests are answered meanwhile.
        assert (await ask(plane, "GET", "/api/v1/namespaces/default"))[0] == 200
        extension.holds.set()
        assert {status for status, _ in await asyncio.gather(*asking)} == {200}
        assert (await ask(plane, "GET", NOTES))[0] == 200


async def test_the_audit_log_has_the_request_without_its_bodies() -> None:
    seen = Collected()
    async with extended(auditor=Auditor(everything("RequestResponse"), seen)) as (plane, _):
        await ask(plane, "POST", NOTES, note("first"))
        event = next(
            each for each in seen.events if each["requestURI"] == NOTES and each["stage"] == "ResponseComplete"
        )
        assert (event["verb"], event["objectRef"]["apiGroup"], event["objectRef"]["name"]) == (
            "create",
            "notes.example.dev",
            "first",
        )
        assert event["responseStatus"]["code"] == 200
        assert not {"requestObject", "responseObject"} & set(event)


async def test_a_web_socket_is_forwarded_with_its_protocol() -> None:
    async with extended() as (plane, extension):
        transport = LocalTransport(plane.handler, {"authorization": "Bearer " + plane.token})
        call = Call("GET", f"{NOTES}/first/console")
        bearer = "base64url.bearer.authorization.k8s.io.c2VjcmV0"
        async with transport.socket(call, [bearer, "v4.example.dev", "v5.example.dev"]) as socket:
            assert socket.protocol == "v5.example.dev"
            for text in (b"hello", b"again"):
                await socket.send(text)
                assert await socket.receive() == text.upper()
        asked = extension.received[-1]
        assert (asked.path, asked.user) == (f"{NOTES}/first/console", "system:admin")
        assert asked.headers["sec-websocket-protocol"] == ["v4.example.dev, v5.example.dev"]
        assert "authorization" not in asked.headers
        with pytest.raises(Refused) as refused:
            async with transport.socket(call, []):
                pass
        assert (refused.value.answer.status, refused.value.answer.body) == (400, b"name a protocol")


async def test_a_web_socket_needs_the_right_and_counts_until_its_end() -> None:
    async with extended() as (plane, extension):
        call = Call("GET", f"{NOTES}/first/console")
        stranger = LocalTransport(plane.handler, {"impersonate-user": "jane"})
        with pytest.raises(Refused) as refused:
            async with stranger.socket(call, ["v1"]):
                pass
        assert refused.value.answer.status == 403
        transport = LocalTransport(plane.handler)
        async with AsyncExitStack() as stack:
            for _ in range(96):
                await stack.enter_async_context(transport.socket(call, ["v1"]))
            with pytest.raises(Refused) as refused:
                await stack.enter_async_context(transport.socket(call, ["v1"]))
            assert refused.value.answer.status == 429
        async with transport.socket(call, ["v1"]) as socket:
            await socket.send(b"free")
            assert await socket.receive() == b"FREE"
        assert extension.watches == 0
