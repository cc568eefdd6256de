"""Connections to Services without a running workload, with real sockets and processes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import App, app, gone
from tests.workload.controllers.test_services import LISTENS, SERVER, ask, port_of

from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.proxy.refusal import Unserved, response

SERVES = {
    "args": ['{{ portForServing "front" }}', "{{ .Name }}"],
    "serves": [{"service": "front"}],
    "healthProbes": [{**LISTENS, "tcpProbe": {"port": '{{ portForServing "front" }}'}}],
}
REQUEST = b"GET / HTTP/1.1\r\nHost: web\r\n\r\n"
NEVER = {"kind": "Executable", "name": "missing", "condition": "Ready"}
SLOW = {"initial": "600s", "max": "600s"}


async def exchange(port: int, request: bytes = REQUEST) -> bytes:
    """Everything that a server answers until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"dependsOn": [NEVER]}, "WaitingForDependencies", "front is not available: shop is waiting: waits for"),
        ({"args": ["x"]}, "Failed", "shop is not running: the process ended with exit code 1\n"),
        ({"args": ["x"], "restartPolicy": "Always", "restartBackoff": SLOW}, "BackOff", "exit code 1"),
        ({"suspend": True}, "Suspended", "shop is stopped: `setpoint start shop` starts it again"),
        ({"workingDirectory": "no/where"}, "BadDirectory", "shop is not running: the working directory"),
    ],
)
async def test_a_connection_to_a_service_that_cannot_run_is_answered_with_the_reason(
    tmp_path: Path, spec: dict[str, Any], reason: str, words: str
) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "front", {})
        await world.python("shop", SERVER, **{**SERVES, **spec})
        await world.ready("Executable", "shop", "False", reason)
        port = await port_of(world, "front")
        head, _, body = (await exchange(port)).decode().partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 503 Service Unavailable\r\n")
        assert words in body
        assert body.endswith("Run `setpoint why shop` for details.\n")
        with pytest.raises(ConnectionResetError):
            await exchange(port, b"\x16\x03\x01")


async def test_a_refusal_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "front", {})
        await world.python("shop", SERVER, **{**SERVES, "suspend": True})
        await world.ready("Executable", "shop", "False", "Suspended")
        port = await port_of(world, "front")
        for _ in range(3):
            await exchange(port)
    assert len([each for each in caplog.records if "was refused" in each.message]) == 1


async def test_a_connection_waits_while_a_workload_restarts(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "front", {})
        await world.python("shop", SERVER, **SERVES)
        pid = (await world.ready("Executable", "shop"))["status"]["pid"]
        port = await port_of(world, "front")
        for number in range(3):
            await world.patch("Executable", "shop", metadata={"annotations": {RESTART_REQUESTED: str(number)}})
            # A connection that the old process accepts before its end is lost with the process.
            await gone(pid)
            assert await ask(port) == "shop"
            pid = await _next_pid(world, pid)


async def test_a_server_for_dcp_lets_connections_wait(tmp_path: Path) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        await world.make("Service", "front", {})
        await world.python("shop", SERVER, **{**SERVES, "suspend": True})
        await world.ready("Executable", "shop", "False", "Suspended")
        asking = asyncio.ensure_future(ask(await port_of(world, "front")))
        await _parked(world)
        assert not asking.done()
        await world.patch("Executable", "shop", spec={"suspend": False})
        assert await asking == "shop"


async def _next_pid(world: App, old: int) -> int:
    """Returns the process id of the attempt after the one with the process id `old`."""
    found = await world.until("Executable", "shop", lambda tree: tree["status"].get("pid", old) != old)
    pid: int = found["status"]["pid"]
    return pid


async def _parked(world: App) -> None:
    """Returns when a connection waits at the proxy of the Service."""
    async with asyncio.timeout(60):
        while not world.workloads.services._serving["front"].proxy.counters.parked:
            await asyncio.sleep(0.01)


def test_clients_of_other_machines_do_not_get_the_reason() -> None:
    found = Unserved("web", False, "not running", "the password is wrong", "one")
    assert found.text("192.0.2.1") == "web is not available.\n"
    for client in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert "password" in found.text(client)


@pytest.mark.parametrize(
    ("request_", "is_http"),
    [
        (b"GET / HTTP/1.1\r\n", True),
        (b"HEAD /a HTTP/1.0\r\n", True),
        (b"POST", False),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", False),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", False),
        (b"", False),
    ],
)
def test_http_clients_are_recognized_by_their_first_bytes(request_: bytes, is_http: bool) -> None:
    answer = response(request_, "why")
    assert (answer is not None) == is_http
    if answer is not None:
        assert answer.endswith(b"\r\n\r\n" if request_.startswith(b"HEAD") else b"\r\n\r\nwhy")
