"""The ports of simulated pods: the proxy of pods and services, and forwarded connections, answered by scripts."""

import asyncio
from typing import Any

import pytest
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.transport import Answer, Call, TransportError
from setpoint.objects.errors import APIError, BadRequest, Forbidden, NotFound, ServiceUnavailable, TooManyRequests
from setpoint.objects.tree import Object
from setpoint.system.nodes import http_connection, scripted_ports
from setpoint.testing import Behaviour, PortCall, PortReply, simulated

PODS, SERVICES = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services"
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "front", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
}


def application(call: PortCall) -> PortReply:
    """Shows the request; some paths answer wrongly."""
    request = call.request
    if request.path == "/fail":
        raise ValueError("no such table")
    if request.path == "/none":
        return None  # type: ignore[return-value]
    if request.path == "/header":
        return PortReply(headers={"X-Bad": "a\r\nSet-Cookie: b"})
    if request.path == "/status":
        return PortReply(status=99)
    if request.path == "/large":
        return PortReply(b"x" * 101)
    names = {"X-Pod": call.run.pod["metadata"]["name"], "Content-Type": "text/x-test", "Content-Length": "7"}
    secrets = [name for name in request.headers if name.startswith(("authorization", "impersonate"))]
    text = f"{call.port} {request.method} {request.path}?{request.query} {request.body.decode()} {secrets}"
    return PortReply(text, 404 if request.path == "/missing" else 200, names)


def nodes(**ports: Any) -> Any:
    behaviour = Behaviour(ports={int(name[1:]): script for name, script in ports.items()} or {8080: application})
    return simulated(scripts={"app=web": lambda run: behaviour})


def web(name: str = "web") -> Object:
    found = pod(name)
    found["spec"] = {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 8080}]}]}
    return found


async def send(world: Any, method: str, path: str, body: bytes = b"", query: Any = ()) -> Answer:
    # The headers of impersonation must not reach the application.
    client = world.client.as_("ann", "system:masters")
    answer: Answer = await client.send(Call(method, path, query, {}, body))
    return answer


async def test_the_proxy_of_a_pod_sends_requests_to_its_port() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        answer = await send(world, "POST", f"{PODS}/web:8080/proxy/a%20b/c", b"body", [("x", "1")])
        assert (answer.status, answer.body) == (200, b"8080 POST /a%20b/c?x=1 body []")
        assert (answer.headers["content-type"], answer.headers["x-pod"]) == ("text/x-test", "web")
        # Without a port, the first port of the containers.
        assert (await send(world, "GET", f"{PODS}/web/proxy/")).body == b"8080 GET /?  []"
        assert (await send(world, "DELETE", f"{PODS}/http:web:8080/proxy/x")).body == b"8080 DELETE /x?  []"


async def test_a_path_without_a_slash_is_redirected() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        answer = await send(world, "GET", f"{PODS}/web/proxy", query=[("x", "1")])
        assert (answer.status, answer.headers["location"]) == (301, f"{PODS}/web/proxy/?x=1")


async def test_an_error_of_the_application_is_its_own_answer() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        transport = world.client.transport
        answer = await transport.send(Call("GET", f"{PODS}/web/proxy/missing", (), {}, b""))
        assert (answer.status, answer.body) == (404, b"8080 GET /missing?  []")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("fail", "the script of container web failed: ValueError: no such table"),
        ("none", "the script of container web returned no PortReply, but None"),
        ("header", "returned the invalid header 'X-Bad'"),
        ("status", "returned the status 99: return one from 200 to 599"),
        ("large", "returned a body of 101 bytes: return at most 100"),
    ],
)
async def test_a_wrong_script_is_an_internal_error(path: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_ports, "MOST_REPLY_BYTES", 100)
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        with pytest.raises(APIError, match=text) as caught:
            await send(world, "GET", f"{PODS}/web/proxy/{path}")
        assert caught.value.code == 500


async def test_a_port_without_a_script_is_unavailable() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        text = r"no script of a running container answers at port 81: use Behaviour\(ports=\{81: FUNCTION\}\)"
        with pytest.raises(ServiceUnavailable, match=text):
            await send(world, "GET", f"{PODS}/web:81/proxy/")
        with pytest.raises(ServiceUnavailable, match=text):
            async with world.client.port_forward("web", "default", port=81):
                pass


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("gone:8080", NotFound, 'pods "gone" not found'),
        ("web:http", BadRequest, 'invalid port "http" of pod web: use a number from 1 to 65535'),
        ("web:70000", BadRequest, 'invalid port "70000"'),
        ("ftp:web:1", BadRequest, 'invalid pod request "ftp:web:1": use NAME, NAME:PORT or SCHEME:NAME:PORT'),
        ("a:b:c:d", BadRequest, "invalid pod request"),
    ],
)
async def test_an_invalid_destination_is_refused(name: str, error: type[APIError], text: str) -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        with pytest.raises(error, match=text):
            await send(world, "GET", f"{PODS}/{name}/proxy/")


async def test_the_proxy_of_a_service_chooses_a_ready_pod() -> None:
    async with testing.world(nodes=nodes(), objects=[web("a"), web("b"), SERVICE]) as world:
        await world.settle()
        found = {
            (await send(world, "GET", f"{SERVICES}/front:{port}/proxy/x")).headers["x-pod"]
            for port in ("http", "80") * 10
        }
        assert found == {"a", "b"}
        with pytest.raises(ServiceUnavailable, match='no service port 81 found for service "front"'):
            await send(world, "GET", f"{SERVICES}/front:81/proxy/x")
        with pytest.raises(ServiceUnavailable, match='no endpoints available for service "front:other"'):
            await send(world, "GET", f"{SERVICES}/front:other/proxy/x")
        with pytest.raises(NotFound, match='services "back" not found'):
            await send(world, "GET", f"{SERVICES}/back/proxy/x")


async def read(port: Any, until: bytes) -> bytes:
    """The bytes from a port until a text."""
    found = b""
    async for piece in port:
        found += piece
        if until in found:
            break
    return found


async def test_a_forwarded_port_answers_several_requests() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        async with world.client.port_forward("web", "default", port=8080) as port:
            await port.write(b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await read(port, b"[]")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\nX-Pod: web\r\nContent-Type: text/x-test\r\nContent-Length: ")
            assert answer.endswith(b"\r\n\r\n8080 GET /a?b=1  []")
            # In pieces, and with a body.
            for piece in (b"POST /c HTTP/1.1\r\nContent-", b"Length: 4\r\nConnection: close\r\n\r\nbo", b"dy"):
                await port.write(piece)
            answer = await read(port, b"[]")
            assert b"Connection: close" in answer
            assert answer.endswith(b"8080 POST /c? body []")
            assert [each async for each in port] == []


async def test_a_failing_script_ends_a_forwarded_connection_with_the_error() -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        async with world.client.port_forward("web", "default", port=8080) as port:
            await port.write(b"GET /fail HTTP/1.1\r\n\r\n")
            with pytest.raises(TransportError, match=r"an error occurred forwarding 8080: .*no such table"):
                await read(port, b"never")


async def test_input_for_an_ended_connection_delays_no_other_port() -> None:
    query = [("ports", "8080"), ("ports", "8081")]
    async with testing.world(nodes=nodes(p8080=application, p8081=application), objects=[web()]) as world:
        await world.settle()
        call = Call("GET", f"{PODS}/web/portforward", query)
        async with world.client.socket(call, ("v4.channel.k8s.io",)) as socket:
            await socket.send(b"\0GET /a HTTP/1.1\r\nConnection: close\r\n\r\n")
            for _ in range(100):
                await socket.send(b"\0more")
            await socket.send(b"\2GET /b HTTP/1.1\r\n\r\n")
            found = b""
            while b"8081 GET /b" not in found:
                found += await socket.receive() or pytest.fail("the server has ended the connection")


@pytest.mark.parametrize(("sent", "status"), [(b"hello\r\n\r\n", b"400 Bad Request"), (b"GET /" + b"x" * 200, b"413 ")])
async def test_a_malformed_or_large_request_ends_a_forwarded_connection(
    sent: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "MOST_REQUEST_BYTES", 100)
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        async with world.client.port_forward("web", "default", port=8080) as port:
            await port.write(sent)
            assert (await read(port, b"never")).startswith(b"HTTP/1.1 " + status)


async def test_the_number_of_requests_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_ports, "MOST_AT_ONCE", 2)
    release = asyncio.Event()

    async def late(call: PortCall) -> PortReply:
        await release.wait()
        return PortReply("late")

    async with testing.world(nodes=nodes(p8080=late), objects=[web()]) as world:
        await world.settle()
        waiting = [asyncio.ensure_future(send(world, "GET", f"{PODS}/web/proxy/")) for _ in range(2)]
        await world.settle()
        transport = world.client.transport
        refused = await transport.send(Call("GET", f"{PODS}/web/proxy/", (), {}, b""))
        assert refused.status == TooManyRequests.code
        release.set()
        assert [each.body for each in await asyncio.gather(*waiting)] == [b"late", b"late"]
        assert (await send(world, "GET", f"{PODS}/web/proxy/")).body == b"late"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ([], "ports: required, from 1 to 16 numbers"),
        ([("ports", "1")] * 17, "ports: required, from 1 to 16 numbers"),
        ([("ports", "80,x")], 'ports: invalid port "x"'),
        ([("ports", "0")], 'ports: invalid port "0"'),
    ],
)
async def test_invalid_ports_are_refused(query: Any, text: str) -> None:
    async with testing.world(nodes=nodes(), objects=[web()]) as world:
        await world.settle()
        with pytest.raises(BadRequest, match=text):
            async with world.client.socket(Call("GET", f"{PODS}/web/portforward", query), ("v4.channel.k8s.io",)):
                pass
        with pytest.raises(BadRequest, match=r"portforward requires a WebSocket with the protocol v4\.channel"):
            await send(world, "GET", f"{PODS}/web/portforward", query=query)


async def test_users_without_the_right_reach_no_port() -> None:
    async with testing.world(nodes=nodes(), objects=[web(), SERVICE]) as world:
        await world.settle()
        group = "rbac.authorization.k8s.io"
        names = {"apiVersion": f"{group}/v1", "metadata": {"name": "eve"}}
        # Reading pods and services does not include their ports, and getting from a port does not include posting.
        rules = [
            {"apiGroups": [""], "resources": ["pods", "services", "endpoints", "pods/log"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["services/proxy", "pods/portforward"], "verbs": ["get"]},
        ]
        await world.client.create({**names, "kind": "ClusterRole", "rules": rules})
        reference = {"apiGroup": group, "kind": "ClusterRole", "name": "eve"}
        subjects = [{"apiGroup": group, "kind": "User", "name": "eve"}]
        await world.client.create({**names, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects})
        eve = world.plane.client(user="eve")
        for method, path in (("GET", f"{PODS}/web/proxy/"), ("POST", f"{SERVICES}/front:http/proxy/")):
            with pytest.raises(Forbidden, match="proxy"):
                await eve.send(Call(method, path, (), {}, b""))
        assert (await eve.send(Call("GET", f"{SERVICES}/front:http/proxy/", (), {}, b""))).status == 200
        with pytest.raises(Forbidden, match="portforward"):
            async with eve.port_forward("web", "default", port=8080):
                pass
