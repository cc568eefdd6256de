"""A replay of the requests and process interactions of an Aspire AppHost, written from facts of its public sources.

No .NET was available: an AppHost itself was not run. Each step names the part of Aspire whose behaviour it repeats.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.workload.ide.editor import TOKEN, Editor, editor
from tests.workload.session.instances import GROUP, SECONDS, Instance, dcp, environment, is_alive, until

pytestmark = pytest.mark.slow

JSON_PATCH = "application/json-patch+json; charset=utf-8"
MERGE = "application/merge-patch+json"
SOURCES = ("startup_stderr", "startup_stdout", "stdout", "stderr", "system")
SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(os.environ["GREETING"].encode())
    def log_message(self, *_): pass
print("listening", flush=True)
print("careful", file=sys.stderr, flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


@contextmanager
def ide() -> Iterator[Editor]:
    """An IDE in a thread of its own."""
    made: list[Editor] = []
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with editor() as found:
            made.append(found)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(SECONDS)
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(SECONDS)
        loop.close()


class Watch(threading.Thread):
    """A watch without a revision, as KubernetesService opens one for each kind. Keeps the last state of each object."""

    def __init__(self, serving: Instance, plural: str) -> None:
        super().__init__(daemon=True)
        self._answer = serving.open("GET", f"{GROUP}/{plural}?watch=true")
        self.last: dict[str, Any] = {}
        self.events: list[tuple[str, str]] = []
        self.start()

    def run(self) -> None:
        try:
            for line in self._answer:
                event = json.loads(line)
                name = event["object"]["metadata"]["name"]
                self.events.append((event["type"], name))
                self.last[name] = None if event["type"] == "DELETED" else event["object"]
        except (OSError, ValueError):
            return  # the server has ended

    def status(self, name: str, **wanted: Any) -> Any:
        def look() -> Any:
            status = (self.last.get(name) or {}).get("status") or {}
            return status if all(status.get(key) == value for key, value in wanted.items()) else None

        return until(look)


class Log(threading.Thread):
    """One of the five log streams that ResourceLogSource opens for each resource."""

    def __init__(self, serving: Instance, plural: str, name: str, source: str) -> None:
        super().__init__(daemon=True)
        query = f"follow=true&timestamps=true&source={source}&line_numbers=false"
        self._answer = serving.open("GET", f"{GROUP}/{plural}/{name}/log?{query}")
        assert self._answer.status == 200
        self.lines: list[str] = []
        self.start()

    def run(self) -> None:
        for line in self._answer:
            self.lines.append(line.decode().rstrip("\n"))


@contextmanager
def started(directory: Path, **more: str) -> Iterator[tuple[Instance, "subprocess.Popen[bytes]", list[str]]]:
    """DcpHost: `info`, then `start-apiserver --detach` with a log socket; the instance ends with the AppHost."""
    session = directory / "session"
    session.mkdir(mode=0o700)
    kubeconfig, log_path = session / "kubeconfig", str(session / "output.sock")
    info = subprocess.run(dcp("info"), capture_output=True, text=True, timeout=SECONDS, env=environment(directory))
    told = json.loads(info.stdout)
    assert tuple(map(int, told["version"].split("."))) >= (0, 21, 1)
    assert {"runtime", "hostName", "installed", "running"} <= told["containers"].keys()
    lines: list[str] = []
    with (
        socket.socket(socket.AF_UNIX) as listening,
        subprocess.Popen(["sleep", "1000"]) as app_host,
    ):
        listening.bind(log_path)
        listening.listen(3)
        threading.Thread(target=_collect, args=(listening, lines), daemon=True).start()
        env = environment(directory, DCP_SESSION_FOLDER=str(session), DCP_LOG_SOCKET=log_path, **more)
        command = dcp("start-apiserver", "--monitor", str(app_host.pid), "--detach", "--kubeconfig", str(kubeconfig))
        assert subprocess.run(command, env=env, timeout=SECONDS).returncode == 0
        try:
            until(kubeconfig.exists)
            yield Instance(app_host, kubeconfig), app_host, lines  # type: ignore[arg-type]
        finally:
            app_host.kill()
            until(lambda: not kubeconfig.exists())


def _collect(listening: socket.socket, lines: list[str]) -> None:
    with listening.accept()[0] as connection, connection.makefile() as text:
        lines.extend(line.rstrip("\n") for line in text)


def _annotated(*services: dict[str, Any], **more: str) -> dict[str, str]:
    # System.Text.Json writes absent values of a service producer as null.
    entries = [{"serviceName": None, "address": None, "port": None, **each} for each in services]
    return {"service-producer": json.dumps(entries), **more}


def test_an_app_host_from_its_start_to_its_end(tmp_path: Path) -> None:
    with ide() as vscode:
        debugging = {"DEBUG_SESSION_PORT": f"localhost:{vscode.port}", "DEBUG_SESSION_TOKEN": TOKEN}
        with started(tmp_path, **debugging) as (serving, app_host, lines):
            watches = {each: Watch(serving, each) for each in ("executables", "services", "endpoints", "containers")}
            # DcpExecutor: the Services first, until all have an address; names are those of the resources, in any case.
            for name in ("Api-http", "Web-http"):
                spec = {"protocol": "TCP", "addressAllocationMode": "Localhost"}
                assert serving.make("Service", name, spec)["metadata"]["name"] == name
            port = watches["services"].status("Api-http", effectiveAddress="localhost")["effectivePort"]
            _create_resources(serving)
            watches["services"].status("Api-http", state="Ready")
            api = watches["executables"].status("Api-abc123", state="Running")
            assert {"name": "PORT", "value": str(_port_of(watches["endpoints"]))} in api["effectiveEnv"]
            # ResourceLogSource
            logs = {source: Log(serving, "executables", "Api-abc123", source) for source in SOURCES}
            until(lambda: [line.partition(" ")[2] for line in logs["stdout"].lines] == ["listening"])
            until(lambda: [line.partition(" ")[2] for line in logs["stderr"].lines] == ["careful"])
            until(lambda: logs["system"].lines)
            assert all(len(line.split("\t")) >= 4 for line in logs["system"].lines)
            assert logs["startup_stdout"].lines == logs["startup_stderr"].lines == []
            # The consumer gets the address of the Service, not that of the process.
            web = watches["executables"].status("Web-abc123", state="Running")
            assert {"name": "services__api__http__0", "value": f"http://localhost:{port}"} in web["effectiveEnv"]
            _debug(vscode, watches["executables"])
            _restart(serving, watches["executables"], api["pid"])
            _end(serving, app_host, watches)
        assert any("\tinfo\t" in line for line in lines)


def _port_of(endpoints: Watch) -> int:
    found = [each for each in endpoints.last.values() if each and each["spec"]["serviceName"] == "Api-http"]
    port: int = found[0]["spec"]["port"]
    return port


def _create_resources(serving: Instance) -> None:
    """DcpExecutor: Executables with the annotations and variables of an AppHost; one runs in the IDE."""
    launch = json.dumps([{"type": "project", "mode": "Debug", "project_path": "/app/Web.csproj"}])
    names = {"resource-name": "api", "otel-service-name": "api", "otel-service-instance-id": "abc123"}
    serving.make(
        "Executable",
        "Api-abc123",
        {
            "executablePath": sys.executable,
            "workingDirectory": "/",
            "args": ["-c", SERVER],
            "env": [
                {"name": "PORT", "value": '{{- portForServing "Api-http" -}}'},
                {"name": "GREETING", "value": "hello"},
                {"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": "x-otlp-api-key={{not a template"},
            ],
            "executionType": "Process",
            "ambientEnvironment": {"behavior": "Inherit"},
        },
        annotations=_annotated({"serviceName": "Api-http"}, **names),
    )
    serving.make(
        "Executable",
        "Web-abc123",
        {
            "executablePath": "/bin/sleep",
            "args": ["1000"],
            "env": [{"name": "services__api__http__0", "value": 'http://localhost:{{- portFor "Api-http" -}}'}],
            "executionType": "IDE",
            "fallbackExecutionTypes": ["Process"],
        },
        annotations=_annotated(
            {"serviceName": "Web-http", "port": 45991},
            **{"executable.usvc-dev.developer.microsoft.com/launch-configurations": launch},
        ),
    )


def _debug(vscode: Editor, executables: Watch) -> None:
    """The IDE protocol: one session, whose process the IDE reports; a debugger that is paused ends no session."""
    [request] = [each for each in vscode.requests if each[0] == "PUT"]
    assert request[3]["launch_configurations"][0]["type"] == "project"
    assert {each["name"] for each in request[3]["env"]} >= {"services__api__http__0"}
    assert executables.last["Web-abc123"]["status"]["executionID"]


def _restart(serving: Instance, executables: Watch, pid: int) -> None:
    """Stop by a JSON patch, then delete and create again, as ApplicationOrchestrator restarts a resource. A request
    that is sent twice, because its connection was lost, has one effect."""
    path = f"{GROUP}/executables/Api-abc123"
    stop = [{"op": "add", "path": "/spec/stop", "value": True}]
    for _ in range(2):
        assert serving.ask("PATCH", path, stop, JSON_PATCH)["spec"]["stop"] is True
    executables.status("Api-abc123", state="Finished")
    assert not is_alive(pid)
    assert serving.ask("DELETE", path)["kind"] == "Executable"
    until(lambda: executables.last["Api-abc123"] is None)
    assert _code(serving, "DELETE", path) == 404
    spec = {"executablePath": "/bin/sleep", "args": ["1000"]}
    serving.make("Executable", "Api-abc123", spec)
    tree = {**serving.ask("GET", path), "metadata": {"name": "Api-abc123"}}
    assert _code(serving, "POST", f"{GROUP}/executables", tree) == 409
    executables.status("Api-abc123", state="Running")
    assert [each for each in executables.events if each == ("ADDED", "Api-abc123")] == [("ADDED", "Api-abc123")] * 2


def _code(serving: Instance, method: str, path: str, body: Any = None) -> int:
    with pytest.raises(urllib.error.HTTPError) as refused:
        serving.ask(method, path, body)
    refused.value.close()
    return refused.value.code


def _end(serving: Instance, app_host: "subprocess.Popen[bytes]", watches: dict[str, Watch]) -> None:
    """KubernetesService: clean-up, polled until complete, and then the end of the server."""
    pid = watches["executables"].last["Api-abc123"]["status"]["pid"]
    document = {"status": "CleaningResources", "shutdownResourceCleanup": "Full"}
    answer = serving.ask("PATCH", "/admin/execution", document, MERGE)
    assert answer["status"] in ("CleaningResources", "CleanupComplete")
    until(lambda: serving.ask("GET", "/admin/execution")["status"] == "CleanupComplete")
    assert not is_alive(pid)
    assert not any(watches["executables"].last.values())
    serving.ask("PATCH", "/admin/execution", {**document, "status": "Stopping"}, MERGE)
    until(lambda: not serving.kubeconfig.exists())
    assert app_host.poll() is None


def test_the_end_of_an_app_host_ends_its_instance(tmp_path: Path) -> None:
    with started(tmp_path) as (serving, app_host, _):
        serving.make("Executable", "Worker", {"executablePath": "/bin/sleep", "args": ["1000"]})
        pid = serving.state("Executable", "Worker", "Running")["pid"]
        os.kill(app_host.pid, 9)
        until(lambda: not is_alive(pid))
        until(lambda: not serving.kubeconfig.exists())
