"""Services, with real sockets and processes behind them."""

import asyncio
import socket
from pathlib import Path

from tests.workload.app import App, app, condition_of

from setpoint.objects.tree import Object

SERVER = """
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(sys.argv[2].encode() + b"\\n")
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
# A server runs before it listens.
LISTENS = {
    "name": "listens",
    "type": "TCP",
    "tcpProbe": {"port": '{{ portForServing "web" }}'},
    "schedule": {"interval": "50ms"},
}
SERVES = {
    "args": ['{{ portForServing "web" }}', "{{ .Name }}"],
    "serves": [{"service": "web"}],
    "healthProbes": [LISTENS],
}


async def ask(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(10):
        line = await reader.readline()
    writer.close()
    return line.decode().strip()


async def port_of(world: App, name: str) -> int:
    found = await world.until("Service", name, lambda tree: bool((tree.get("status") or {}).get("effectivePort")))
    port: int = found["status"]["effectivePort"]
    return port


async def test_who_comes_before_the_server_waits_for_it(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "web", {})
        found = await world.ready("Service", "web", "False", "NoEndpoints")
        assert found["status"]["effectiveAddress"] == "localhost"
        port = await port_of(world, "web")
        asking = asyncio.ensure_future(ask(port))
        await world.python("one", SERVER, **SERVES)
        assert await asking == "one"
        found = await world.ready("Service", "web")
        assert found["status"]["state"] == "Ready"
        await world.delete("Executable", "one")
        await world.ready("Service", "web", "False", "NoEndpoints")


async def test_connections_go_to_all_that_serve_it_and_are_well(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "web", {})
        for name in ("one", "two"):
            await world.python(name, SERVER, **SERVES)
        for name in ("one", "two"):
            await world.ready("Executable", name)
        port = await port_of(world, "web")
        await until_serving(world, 2)
        assert {await ask(port) for _ in range(4)} == {"one", "two"}
        probe = {"name": "up", "type": "TCP", "tcpProbe": {"port": "1"}, "schedule": {"interval": "100ms"}}
        await world.python("three", SERVER, **{**SERVES, "healthProbes": [probe]})
        await world.ready("Executable", "three", "False", "ProbeFailed")
        await world.until("Service", "web", lambda tree: "2 of 3" in condition_of(tree, "Ready")["message"])
        assert {await ask(port) for _ in range(6)} == {"one", "two"}


async def until_serving(world: App, count: int) -> None:
    await world.until(
        "Service", "web", lambda tree: f"{count} of {count}" in condition_of(tree, "Ready").get("message", "")
    )


async def test_a_port_that_is_taken_is_named_with_who_has_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        async with app(tmp_path) as world:
            await world.make("Service", "web", {"port": port, "address": "127.0.0.1"})
            found = await world.ready("Service", "web", "False", "CannotListen")
            assert f"port {port} is in use by " in condition_of(found, "Ready")["message"]
            other.close()
            found = await world.ready("Service", "web", "False", "NoEndpoints")
            assert found["status"]["effectivePort"] == port


async def test_a_service_has_its_port_again_after_a_restart(tmp_path: Path) -> None:
    ports = []
    for _ in range(2):
        async with app(tmp_path) as world:
            await world.make("Service", "web", {})
            ports.append(await port_of(world, "web"))
    assert ports[0] == ports[1]


async def test_apps_of_which_each_has_a_web_do_not_share_its_port(tmp_path: Path) -> None:
    ports = []
    for workload in ("shop-1", "blog-2", "shop-1"):
        async with app(tmp_path, workload_id=workload) as world:
            await world.make("Service", "web", {})
            ports.append(await port_of(world, "web"))
    assert ports[0] == ports[2] != ports[1]


async def test_a_process_whose_port_was_taken_while_it_was_down_gets_another(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "web", {})
        await world.python("one", SERVER, **SERVES)
        await world.ready("Executable", "one")
        before = int((await world.get("Executable", "one"))["status"]["effectiveArgs"][-2])
        await world.patch("Executable", "one", spec={"suspend": True})
        await world.ready("Executable", "one", "False", "Suspended")
        with socket.create_server(("127.0.0.1", before)):
            await world.patch("Executable", "one", spec={"suspend": False})
            found = await world.ready("Executable", "one")
            assert int(found["status"]["effectiveArgs"][-2]) != before
            await until_serving(world, 1)
            assert await ask(await port_of(world, "web")) == "one"


async def test_one_without_a_proxy_is_where_its_endpoint_is(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "web", {"addressAllocationMode": "Proxyless"})
        await world.ready("Service", "web", "False", "NoEndpoints")
        await world.python("one", SERVER, **SERVES)
        await world.ready("Executable", "one")
        found = await world.ready("Service", "web")
        assert await ask(found["status"]["effectivePort"]) == "one"
        assert found["status"]["proxylessEndpointName"]


async def test_a_client_is_told_where_a_service_is_before_it_starts(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        url: Object = {"name": "URL", "value": '{{ urlFor "web" }}'}
        await world.python(
            "client", "import os, time; print(os.environ['URL'], flush=True); time.sleep(600)", env=[url]
        )
        found = await world.ready("Executable", "client", "False", "WaitingForDependencies")
        await world.make("Service", "web", {})
        found = await world.state("Executable", "client", "Running")
        port = await port_of(world, "web")
        assert {"name": "URL", "value": f"http://localhost:{port}"} in found["status"]["effectiveEnv"]


async def say_mine(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"mine\n")
    writer.close()


async def test_endpoints_of_others_count_as_well(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        server = await asyncio.start_server(say_mine, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await world.make("Service", "web", {"balancing": "LeastConnections"})
        await world.make("Endpoint", "mine", {"serviceName": "web", "address": "localhost", "port": port})
        assert await ask(await port_of(world, "web")) == "mine"
        server.close()
