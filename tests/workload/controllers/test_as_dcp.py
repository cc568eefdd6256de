"""Workloads for clients of DCP, which rely on DCP's behaviour where Setpoint's differs."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from tests.workload.app import App, app, condition_of

SHOWS = "import os, sys; print(sorted(os.environ.items()), sys.argv[1:], flush=True)"


def _serving(*entries: object) -> dict[str, str]:
    return {"service-producer": json.dumps(entries)}


async def test_null_in_a_service_producer_means_absent(tmp_path: Path) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        await world.make("Service", "api", {"protocol": "TCP"})
        entry = {"serviceName": "api", "port": None, "address": None}
        await world.python("web", args=['{{- portForServing "api" -}}'], annotations=_serving(entry))
        await world.state("Executable", "web", "Running")
        await world.state("Service", "api", "Ready")


async def test_lines_of_the_system_log_have_four_fields(tmp_path: Path) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        await world.python("web", "import sys; sys.exit('one\\ntwo')")
        await world.state("Executable", "web", "Finished")
        await world.make("Executable", "none", {"executablePath": "/no/such/program"})
        await world.state("Executable", "none", "FailedToStart")
        plain = await world.log("web", source="system")
        stamped = await world.log("web", source="system", timestamps=True)
        stamped += await world.log("none", source="system", timestamps=True)
    assert plain.splitlines()[0].startswith("info\tExecutableReconciler\tRunning (Running)")
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    pattern = re.compile(stamp + r"\t(info|error)\tExecutableReconciler\t([^\t]+)(\t.*)?")
    found = [pattern.fullmatch(line) for line in stamped.splitlines()]
    assert all(found), stamped
    assert [(each[1], each[2].partition(" ")[0]) for each in found if each] == [
        ("info", "Running"),
        ("error", "Finished"),
        ("error", "FailedToStart"),
    ]
    assert [json.loads(each[3]) for each in found if each and each[3]] == [{"error": "two"}]


@pytest.mark.parametrize(("as_dcp", "code"), [(True, -1), (False, 128 + signal.SIGKILL)])
async def test_the_exit_code_of_a_signal(tmp_path: Path, as_dcp: bool, code: int) -> None:
    async with app(tmp_path, as_dcp=as_dcp) as world:
        await world.python("web")
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert (await world.state("Executable", "web", "Finished"))["status"]["exitCode"] == code


async def test_without_inheritance_the_environment_is_that_of_the_spec(tmp_path: Path) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        ambient = {"behavior": "DoNotInherit"}
        env = [{"name": "A", "value": "1"}, {"name": "LC_CTYPE", "value": "C.UTF-8"}]
        await world.python("web", SHOWS, env=env, ambientEnvironment=ambient)
        found = await world.state("Executable", "web", "Finished")
        assert found["status"]["effectiveEnv"] == env
        assert await world.log("web") == "[('A', '1'), ('LC_CTYPE', 'C.UTF-8')] []\n"


async def test_values_that_are_no_templates_are_passed_on(tmp_path: Path) -> None:
    values = ["{{ not closed", "{{ unknownFunction 1 }}", '{{ portForServing "other" }}', "a {{.NoSuchField}} b", "}}"]
    async with app(tmp_path, as_dcp=True) as world:
        env = [{"name": f"V{index}", "value": text} for index, text in enumerate(values)]
        await world.python("web", SHOWS, args=values, env=env, envFiles=["missing.env"])
        found = (await world.state("Executable", "web", "Finished"))["status"]
        assert found["effectiveArgs"][2:] == values
        assert [each for each in found["effectiveEnv"] if each["name"].startswith("V")] == env
        notes = await world.log("web", source="system")
    assert "spec.args[2] is used as is" in notes
    assert "variable V1 of spec.env is used as is" in notes
    assert "the variables of spec.envFiles are not used: environment file missing.env does not exist" in notes


async def test_values_that_are_no_templates_are_refused_without_dcp(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SHOWS, args=["{{ not closed"])
        found = await world.state("Executable", "web", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "InvalidTemplate"
        await world.python("file", SHOWS, envFiles=["missing.env"])
        found = await world.state("Executable", "file", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "EnvFileNotFound"


async def test_a_consumer_that_waits_is_starting(tmp_path: Path) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        await world.python("web", args=['{{- portFor "api" -}}'])
        found = await world.state("Executable", "web", "Starting")
        assert "Service api" in condition_of(found, "Started")["message"]
        await world.make("Service", "api", {"protocol": "TCP"})
        await world.state("Executable", "web", "Running")


@pytest.mark.parametrize("protocol", ["tcp", "Tcp", "TCP"])
async def test_the_case_of_a_protocol_does_not_matter(tmp_path: Path, protocol: str) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        made = await world.make("Service", "api", {"protocol": protocol})
        assert made["spec"]["protocol"] == protocol
        await world.python("web", args=['{{- portForServing "api" -}}'], annotations=_serving({"serviceName": "api"}))
        await world.state("Service", "api", "Ready")
        container = {"image": "app", "ports": [{"containerPort": 80, "protocol": protocol}], "start": False}
        assert (await world.make("Container", "db", container))["spec"]["ports"][0]["protocol"] == protocol


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"addressAllocationMode": "IPv6ZeroOne"}, "[::1]"),
        ({"address": "::1"}, "[::1]"),
        ({"address": "[::1]"}, "[::1]"),
        ({"addressAllocationMode": "IPv4ZeroOne"}, "127.0.0.1"),
        ({"addressAllocationMode": "Localhost"}, "localhost"),
    ],
)
async def test_addresses_have_the_form_of_urls(tmp_path: Path, spec: dict[str, str], shown: str) -> None:
    async with app(tmp_path, as_dcp=True) as world:
        await world.make("Service", "api", {"protocol": "TCP", **spec})
        url = 'http://{{- addressFor "api" -}}:{{- portFor "api" }}'
        await world.python("web", SHOWS, args=[url])
        found = await world.state("Executable", "web", "Finished")
        status = (await world.get("Service", "api"))["status"]
        assert status["effectiveAddress"] == shown
        assert found["status"]["effectiveArgs"][2] == f"http://{shown}:{status['effectivePort']}"


@pytest.mark.parametrize("address", ["::1", "[::1]", "[::]"])
async def test_a_proxy_reaches_a_backend_with_an_ipv6_address(tmp_path: Path, address: str) -> None:
    server = (
        "import socket, sys; s = socket.create_server(('::1', int(sys.argv[1])), family=socket.AF_INET6)\n"
        "while True: c, _ = s.accept(); c.sendall(b'six'); c.close()"
    )
    async with app(tmp_path, as_dcp=True) as world:
        await world.make("Service", "api", {"protocol": "TCP", "addressAllocationMode": "IPv4ZeroOne"})
        producer = _serving({"serviceName": "api", "address": address})
        await world.python("web", server, args=['{{- portForServing "api" -}}'], annotations=producer)
        port = (await world.state("Service", "api", "Ready"))["status"]["effectivePort"]
        [endpoint] = (await world.client.list("usvc-dev.developer.microsoft.com/v1/Endpoint")).items
        assert endpoint["spec"]["address"] == "[::1]"
        assert await _answer(world, port) == b"six"


async def _answer(world: App, port: int) -> bytes:
    import asyncio

    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        text = await reader.read()
        writer.close()
        return text
