"""A session as a client of DCP has it: it starts an instance, creates objects, watches, reads logs, and ends it all."""

import json
import socket
import subprocess
import sys
import threading
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from tests.workload.session.instances import GROUP, SECONDS, Instance, dcp, environment, instance, is_alive, run, until

from setpoint.cli.dcp.certificate import given_certificate
from setpoint.cli.dcp.group import dcp as dcp_group
from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.server.edge.certificates import Authority

pytestmark = pytest.mark.slow

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"hello from api")
    def log_message(self, *_): pass
print("listens", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
CLIENT = """
import os, time, urllib.request
print(urllib.request.urlopen(os.environ["API"]).read().decode(), flush=True)
time.sleep(1000)
"""
WAITS = {"executablePath": sys.executable, "args": ["-c", "import time; print('up', flush=True); time.sleep(1000)"]}


class Watching(threading.Thread):
    """Somebody who watches a kind from a revision on, and remembers the states of every object."""

    def __init__(self, serving: Instance, plural: str) -> None:
        super().__init__(daemon=True)
        version = serving.ask("GET", f"{GROUP}/{plural}")["metadata"]["resourceVersion"]
        self._answer = serving.open("GET", f"{GROUP}/{plural}?watch=true&resourceVersion={version}")
        self.states: dict[str, list[str]] = {}
        self.start()

    def run(self) -> None:
        with self._answer as lines:
            for line in lines:
                event = json.loads(line)
                found = self.states.setdefault(event["object"]["metadata"]["name"], [])
                state = event["type"]
                if state == "MODIFIED":
                    state = (event["object"].get("status") or {}).get("state") or ""
                if not found or found[-1] != state:
                    found.append(state)


def test_a_whole_session_from_the_kubeconfig_to_the_last_process(tmp_path: Path) -> None:
    with instance(tmp_path) as serving:
        config = yaml.safe_load(serving.kubeconfig.read_text())
        assert config["current-context"] == "apiserver"
        assert config["contexts"] == [
            {"name": "apiserver", "context": {"cluster": "apiserver_cluster", "user": "apiserver_user"}}
        ]
        assert serving.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert serving.url.startswith("https://127.0.0.1:")
        watching = Watching(serving, "executables")
        serving.make("Service", "api", {"addressAllocationMode": "Localhost", "protocol": "TCP"})
        serving.make(
            "Executable",
            "web",
            {
                "executablePath": sys.executable,
                "args": ["-c", CLIENT],
                "env": [{"name": "API", "value": 'http://{{- addressFor "api" -}}:{{- portFor "api" -}}'}],
            },
        )
        serving.make(
            "Executable",
            "api",
            {"executablePath": sys.executable, "args": ["-c", SERVER, '{{- portForServing "api" -}}']},
            annotations={"service-producer": json.dumps([{"serviceName": "api"}])},
        )
        pids = [serving.state("Executable", name, "Running")["pid"] for name in ("api", "web")]
        assert serving.state("Service", "api", "Ready")["effectivePort"] > 0
        with serving.open("GET", f"{GROUP}/executables/web/log?follow=true&line_numbers=true") as log:
            assert log.readline() == b"1 hello from api\n"
            patch = [{"op": "add", "path": "/spec/stop", "value": True}]
            serving.ask("PATCH", f"{GROUP}/executables/web", patch, "application/json-patch+json")
            assert log.readline() == b""  # the log ends with the process
        serving.state("Executable", "web", "Finished")
        until(lambda: watching.states["web"][-3:] == ["Running", "Stopping", "Finished"])
        assert serving.end("CleaningResources")["status"] == "CleaningResources"
        until(lambda: serving.ask("GET", "/admin/execution")["status"] == "CleanupComplete")
        until(lambda: watching.states["api"][-1:] == ["DELETED"])
        assert not any(map(is_alive, pids))
        with pytest.raises(urllib.error.HTTPError) as refused:
            serving.make("Executable", "late", WAITS)
        assert json.load(refused.value)["details"]["causes"][0]["reason"] == "FieldValueForbidden"
        assert serving.end("Stopping")["status"] == "Stopping"
        assert serving.process.wait(30) == 0
        assert not serving.kubeconfig.exists()


def test_the_official_client_works_with_an_instance_unchanged(tmp_path: Path) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    with instance(tmp_path) as serving, kubernetes.config.new_client_from_config(str(serving.kubeconfig)) as api:
        objects = kubernetes.client.CustomObjectsApi(api)
        where = ("usvc-dev.developer.microsoft.com", "v1", "executables")
        body = {
            "apiVersion": "usvc-dev.developer.microsoft.com/v1",
            "kind": "Executable",
            "metadata": {"name": "web"},
            "spec": WAITS,
        }
        objects.create_cluster_custom_object(*where, body)
        for event in kubernetes.watch.Watch().stream(objects.list_cluster_custom_object, *where, timeout_seconds=30):
            if (event["object"].get("status") or {}).get("state") == "Running":
                break
        url = f"{serving.url}{GROUP}/executables/web/log"
        headers = {"Authorization": f"Bearer {serving.token}"}
        until(lambda: api.call_api("GET", url, headers).read() == b"up\n")
        objects.delete_cluster_custom_object(*where, "web")


def test_the_death_of_the_parent_is_the_end_of_everything(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as parent, instance(tmp_path, "--monitor", str(parent.pid)) as serving:
        serving.make("Executable", "web", WAITS)
        pid = serving.state("Executable", "web", "Running")["pid"]
        parent.kill()
        assert serving.process.wait(30) == 0
        assert not is_alive(pid)
        assert not serving.kubeconfig.exists()


def test_a_token_that_both_sides_know_is_written_nowhere(tmp_path: Path) -> None:
    shows = {"executablePath": sys.executable, "args": ["-c", "import os; print(sorted(os.environ), flush=True)"]}
    with instance(tmp_path, DCP_SECURE_TOKEN="known-to-both") as serving:
        [user] = yaml.safe_load(serving.kubeconfig.read_text())["users"]
        assert user["user"]["token"] == "<placeholder>"
        serving.make("Executable", "web", shows)
        serving.state("Executable", "web", "Finished")
        with serving.open("GET", f"{GROUP}/executables/web/log") as log:
            said = log.read().decode()
        assert "PATH" in said
        assert "DCP_SECURE_TOKEN" not in said
        serving.token = "<placeholder>"
        with pytest.raises(urllib.error.HTTPError, match="401") as unknown:
            serving.ask("GET", "/admin/execution")
        unknown.value.close()


def test_detached_it_returns_at_once_and_serves_later(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "folder" / "kubeconfig"
    with subprocess.Popen(["sleep", "1000"]) as parent:
        try:
            done = run(
                tmp_path,
                "start-apiserver",
                "--detach",
                "--monitor",
                str(parent.pid),
                DCP_SESSION_FOLDER=str(kubeconfig.parent),
            )
            assert (done.returncode, done.stderr) == (0, "")
            until(kubeconfig.exists)
            assert Instance(parent, kubeconfig).ask("GET", "/admin/execution")["status"] == "Running"  # type: ignore[arg-type]
        finally:
            parent.kill()
    until(lambda: not kubeconfig.exists())


def test_what_keeps_it_from_serving_is_said_and_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: str) -> str:
        done = CliRunner().invoke(dcp_group, ["start-apiserver", *arguments])
        assert done.exit_code == 1
        return done.output

    taken = tmp_path / "taken"
    taken.write_text("somebody else's")
    assert "already exists" in refused("--kubeconfig", str(taken))
    assert "already exists" in refused("--kubeconfig", str(taken), "--detach")
    assert "is a directory" in refused("--kubeconfig", str(tmp_path))
    assert "Not a directory" in refused("--kubeconfig", str(taken / "kubeconfig"))
    assert taken.read_text() == "somebody else's"
    free = ["--kubeconfig", str(tmp_path / "free")]
    assert "has already exited" in refused(*free, "--monitor", "4194304")
    time = "--monitor-identity-time"
    assert "has already exited" in refused(*free, "--monitor", "1", time, "2001-01-01T00:00:00.000Z")
    assert "invalid time" in refused(*free, "--monitor", "1", time, "then")
    assert "use --tls-cert-file" in refused(*free, "--tls-cert-thumbprint", "ab")
    monkeypatch.setenv("DCP_WORKLOAD_ID", "x" * 1025)
    assert "longer than 1024 bytes" in refused(*free)
    assert not (tmp_path / "free").exists()


def test_an_address_that_is_taken_is_said_by_who_was_detached_as_well(tmp_path: Path) -> None:
    path, logs = tmp_path / "kubeconfig", str(tmp_path / "logs")
    with socket.create_server(("127.0.0.1", 0)) as busy, socket.socket(socket.AF_UNIX) as listening:
        port = str(busy.getsockname()[1])
        command = ("start-apiserver", "--kubeconfig", str(path), "--port", port)
        said = f"cannot listen on 127.0.0.1:{port}: Address already in use"
        done = run(tmp_path, *command)
        assert (done.returncode, done.stderr) == (1, f"Error: {said}\n")
        listening.bind(logs)
        listening.listen()
        listening.settimeout(SECONDS)
        done = run(tmp_path, *command, "--detach", DCP_LOG_SOCKET=logs)
        assert (done.returncode, done.stderr) == (0, "")
        connection, _ = listening.accept()
        with connection, connection.makefile() as lines:
            fields = [line.rstrip("\n").split("\t") for line in lines]
        assert [(level, text) for _, level, _, text in fields if level == "error"] == [("error", said)]
        assert not path.exists()


def test_it_serves_with_the_certificate_of_its_client(tmp_path: Path) -> None:
    authority = Authority.create(SystemClock().now())

    def write(*names: str) -> list[str]:
        pair = authority.issue_server(names, SystemClock().now())
        for name, text in (("crt", pair.certificate), ("key", pair.key), ("ca", authority.pair.certificate)):
            (tmp_path / name).write_bytes(text)
        flags = {"--tls-cert-file": "crt", "--tls-key-file": "key", "--tls-ca-file": "ca"}
        return [text for flag, name in flags.items() for text in (flag, str(tmp_path / name))]

    with instance(tmp_path, *write("localhost")) as serving:
        assert serving.url.startswith("https://localhost:")
        assert serving.ask("GET", "/admin/execution")["status"] == "Running"
    clock = SystemClock()
    names = {"certificate": str(tmp_path / "crt"), "key": str(tmp_path / "key"), "authority": str(tmp_path / "ca")}
    write("example.com")
    with pytest.raises(click.ClickException, match=r"expected 127.0.0.1 or ::1 or localhost"):
        given_certificate(**names, preferred="127.0.0.1", clock=clock)
    with pytest.raises(click.ClickException, match="must be given together"):
        given_certificate(**{**names, "key": ""}, preferred="127.0.0.1", clock=clock)
    (tmp_path / "crt").write_text("none")
    with pytest.raises(click.ClickException, match="contains no certificate"):
        given_certificate(**names, preferred="127.0.0.1", clock=clock)
    write("localhost")
    with pytest.raises(click.ClickException, match="is not valid now"):
        given_certificate(**names, preferred="127.0.0.1", clock=ManualClock(clock.now() + timedelta(days=4000)))


def test_the_controllers_may_be_a_process_of_their_own(tmp_path: Path) -> None:
    folder = {"DCP_SESSION_FOLDER": str(tmp_path / "session")}
    with instance(tmp_path, "--server-only", **folder) as serving:
        command = dcp("run-controllers", "--kubeconfig", str(serving.kubeconfig), "--monitor", str(serving.process.pid))
        environ = environment(tmp_path, **folder)
        with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as controllers:
            try:
                serving.make("Executable", "web", WAITS)
                pid = serving.state("Executable", "web", "Running")["pid"]
                said = "import time; print('one', flush=True); time.sleep(0.5); print('two')"
                serving.make("Executable", "talks", {"executablePath": sys.executable, "args": ["-c", said]})
                assert serving.text("executables/talks/log?follow=true") == "one\ntwo\n"
                assert serving.text("executables/talks/log?tail=1&line_numbers=true") == "2 two\n"
                assert serving.text("executables/web/log") == "up\n"
                serving.process.terminate()
                assert controllers.wait(30) == 0, controllers.communicate()[1]
                assert not is_alive(pid)
            finally:
                controllers.kill()
    done = run(tmp_path, "run-controllers", "--kubeconfig", str(tmp_path / "none"))
    assert "not found: start the server first" in done.stderr


def test_a_server_without_controllers_says_where_their_logs_should_be(tmp_path: Path) -> None:
    with instance(tmp_path, "--server-only") as serving:
        serving.make("Executable", "web", WAITS)
        with pytest.raises(urllib.error.HTTPError) as refused:
            serving.text("executables/web/log")
        with refused.value as answer:
            assert "in DCP_SESSION_FOLDER" in answer.read().decode()


def test_what_it_logs_goes_to_the_socket_of_its_client(tmp_path: Path) -> None:
    path = str(tmp_path / "log.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        with instance(tmp_path, DCP_LOG_SOCKET=path) as serving:
            connection, _ = listening.accept()
            with connection, connection.makefile() as lines:
                line = next(line for line in lines if "serving at" in line)
                time, level, who, text = line.rstrip("\n").split("\t")
                assert (level, who, serving.url in text) == ("info", "setpoint.cli.dcp.start", True)
                assert len(time) == len("2026-01-02T15:04:05.000+0000")


def _log_of(directory: Path) -> list[Any]:
    return [json.loads(line) for path in directory.iterdir() for line in path.read_text().splitlines()]


def test_a_signal_ends_everything_and_the_logs_of_the_session_are_merged_by_time(tmp_path: Path) -> None:
    logs = tmp_path / "diagnostics"
    variables = {
        "DCP_DIAGNOSTICS_LOG_LEVEL": "debug",
        "DCP_DIAGNOSTICS_LOG_FOLDER": str(logs),
        "DCP_LOG_SESSION_ID": "s1",
    }
    with instance(tmp_path, **variables) as serving:
        serving.make("Executable", "web", WAITS)
        pid = serving.state("Executable", "web", "Running")["pid"]
        serving.process.terminate()
        assert serving.process.wait(30) == 0
        assert not is_alive(pid)
        assert not serving.kubeconfig.exists()
    assert any("serving at" in each["msg"] for each in _log_of(logs))
    (logs / "s1-other.log").write_text('{"ts": "2001-01-01T00:00:00.000+0000", "msg": "first"}\nand more of it\n')
    (logs / "s2-other.log").write_text('{"ts": "2001-01-01T00:00:00.000+0000", "msg": "of another"}\n')
    lines = run(tmp_path, "session-log", "s1", "--source", str(logs)).stdout.splitlines()
    assert json.loads(lines[0])["msg"] == "first"
    assert lines[1] == "and more of it"
    assert any("serving at" in line for line in lines[2:])
    assert not any("of another" in line for line in lines)
    done = run(tmp_path, "session-log", "s3", "--source", str(logs), "--output", str(tmp_path / "out"))
    assert "has no logs of session s3" in done.stderr


def test_a_second_signal_does_not_wait_for_what_cannot_go(tmp_path: Path) -> None:
    with instance(tmp_path) as serving:
        serving.make("Executable", "held", WAITS, finalizers=["example.com/held"])
        pid = serving.state("Executable", "held", "Running")["pid"]
        serving.process.terminate()
        until(lambda: serving.ask("GET", "/admin/execution")["status"] == "Stopping")
        until(lambda: not is_alive(pid))
        assert serving.process.poll() is None
        serving.process.terminate()
        serving.process.wait(30)
        assert not serving.kubeconfig.exists()


def test_it_serves_the_kinds_of_dcp_and_custom_resources(tmp_path: Path) -> None:
    kinds = {
        "containerexecs",
        "containernetworkconnections",
        "containernetworks",
        "containernetworktunnelproxies",
        "containers",
        "containervolumes",
        "endpoints",
        "executablereplicasets",
        "executables",
        "services",
    }
    with instance(tmp_path) as serving:
        groups = {each["name"] for each in serving.ask("GET", "/apis")["groups"]}
        assert groups == {"usvc-dev.developer.microsoft.com", "apiextensions.k8s.io"}
        found = {each["name"] for each in serving.ask("GET", GROUP)["resources"]}
        assert {name for name in found if "/" not in name} == kinds
        hidden = ("/api/v1/pods", "/api/v1/secrets", "/apis/apps/v1/deployments", "/apis/setpoint.dev/v1/tasks")
        for path in hidden:
            with pytest.raises(urllib.error.HTTPError, match="404") as missing:
                serving.ask("GET", path)
            missing.value.close()
        serving.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
        until(lambda: "example.com" in {each["name"] for each in serving.ask("GET", "/apis")["groups"]})
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "size": 1}
        until(lambda: _created(serving, "/apis/example.com/v1/widgets", widget))
        # The rules of DCP's kinds are not those of other custom resources.
        patch = {"size": 2}
        with pytest.raises(urllib.error.HTTPError, match="415") as unknown:
            serving.ask("PATCH", "/apis/example.com/v1/widgets/a", patch, "application/strategic-merge-patch+json")
        unknown.value.close()
        assert serving.ask("DELETE", "/apis/example.com/v1/widgets/a")["kind"] == "Status"


def _created(serving: Instance, path: str, tree: Any) -> bool:
    try:
        serving.ask("POST", path, tree)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code == 409
    return True


WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def test_the_kinds_of_dcp_are_patched_and_deleted_as_if_compiled_in(tmp_path: Path) -> None:
    strategic = "application/strategic-merge-patch+json"
    with instance(tmp_path) as serving:
        spec = {**WAITS, "start": False, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
        serving.make("Executable", "web", spec, labels={"a": "1"})
        patch = {"metadata": {"labels": {"b": "2"}}, "spec": {"env": [{"name": "C", "value": "3"}]}}
        changed = serving.ask("PATCH", f"{GROUP}/executables/web", patch, strategic)
        assert changed["metadata"]["labels"] == {"a": "1", "b": "2"}
        assert changed["spec"]["env"] == [{"name": "C", "value": "3"}]  # DCP's lists have no merge keys
        with pytest.raises(urllib.error.HTTPError, match=r"400|422") as unknown:
            serving.ask("PATCH", f"{GROUP}/executables/web", {"spec": {"$patch": "sideways"}}, strategic)
        unknown.value.close()
        serving.make("Endpoint", "end", {"serviceName": "api", "address": "localhost", "port": 80})
        deleted = serving.ask("DELETE", f"{GROUP}/endpoints/end?propagationPolicy=Orphan")
        assert (deleted["kind"], deleted["metadata"]["name"]) == ("Endpoint", "end")
        deleted = serving.ask("DELETE", f"{GROUP}/executables/web?propagationPolicy=Foreground")
        assert (deleted["kind"], deleted["metadata"]["name"]) == ("Executable", "web")
        assert "foregroundDeletion" not in deleted["metadata"].get("finalizers", [])


def test_objects_have_no_defaults_but_are_validated_with_them(tmp_path: Path) -> None:
    with instance(tmp_path) as serving:
        made = serving.make("Service", "api", {"protocol": "TCP"})
        assert made["spec"] == {"protocol": "TCP"}
        assert serving.state("Service", "api", "NotReady")["effectiveAddress"] == "localhost"
        made = serving.make("Executable", "web", WAITS)
        assert made["spec"] == WAITS
        serving.state("Executable", "web", "Running")
        for patch in ({"start": False}, {"fallbackExecutionTypes": ["Process"]}):
            with pytest.raises(urllib.error.HTTPError, match="422") as refused:
                serving.ask("PATCH", f"{GROUP}/executables/web", {"spec": patch}, "application/merge-patch+json")
            refused.value.close()
        for name, spec in (("none", {}), ("zero", {"replicas": 0})):
            made = serving.make("ExecutableReplicaSet", name, {**spec, "template": {"spec": WAITS}})
            assert made["spec"] == {"replicas": 0, "template": {"spec": WAITS}}
            path = f"{GROUP}/executablereplicasets/{name}"
            status = until(lambda path=path: serving.ask("GET", path).get("status"))
            counts = {each: status[each] for each in status if each.endswith("Replicas")}
            assert set(counts.values()) == {0}
            assert {"observedReplicas", "runningReplicas", "failedReplicas", "finishedReplicas"} <= counts.keys()
            assert status["healthStatus"] == "Healthy"


def test_a_server_without_controllers_serves_those_of_dcp(tmp_path: Path) -> None:
    folder = {"DCP_SESSION_FOLDER": str(tmp_path / "session")}
    with instance(tmp_path, "--server-only", **folder) as serving:
        made = serving.make("Executable", "web", WAITS)
        assert "finalizers" not in made["metadata"]
        log, other = tmp_path / "session" / "web_out", Path.home() / ".bashrc"
        log.write_text("1 2026-01-02T03:04:05.678Z hello\n2 2026-01-02T03:04:05.679Z world\n")
        files = {"state": "Running", "stdOutFile": str(log), "stdErrFile": str(other)}
        path = f"{GROUP}/executables/web"
        with ThreadPoolExecutor() as pool:
            # Clients may follow a log before the controllers have begun the log.
            following = pool.submit(serving.text, "executables/web/log?follow=true")
            serving.ask("PATCH", f"{path}/status", {"status": files}, "application/merge-patch+json")
            assert serving.text("executables/web/log") == "hello\nworld\n"
            ended = {"status": {"state": "Finished"}}
            serving.ask("PATCH", f"{path}/status", ended, "application/merge-patch+json")
            assert following.result() == "hello\nworld\n"
        assert serving.text("executables/web/log?tail=1&timestamps=true") == "2026-01-02T03:04:05.679Z world\n"
        # A status is written by clients: files of other directories are not read.
        assert serving.text("executables/web/log?source=stderr") == ""
        system = tmp_path / "session" / f"resource-executable-{made['metadata']['uid']}.log"
        system.write_text("2026-01-02T03:04:05.678Z\terror\tExecutableReconciler\tcannot start\n")
        assert serving.text("executables/web/log?source=system") == "error\tExecutableReconciler\tcannot start\n"
        shown = serving.text("executables/web/log?source=system&timestamps=true")
        assert shown == "2026-01-02T03:04:05.678Z\terror\tExecutableReconciler\tcannot start\n"
        assert serving.make("ContainerVolume", "data", {"name": "data"})["spec"]["persistent"] is True
        assert serving.ask("GET", "/admin/execution")["status"] == "Running"
        assert serving.end("CleaningResources")["status"] in ("CleaningResources", "CleanupComplete")
        until(lambda: serving.ask("GET", "/admin/execution")["status"] == "CleanupComplete")
        with pytest.raises(urllib.error.HTTPError, match="404") as gone:
            serving.ask("GET", path)
        gone.value.close()
        with pytest.raises(urllib.error.HTTPError, match="422") as refused:
            serving.make("Executable", "late", WAITS)
        refused.value.close()
        serving.end("Stopping")
        assert serving.process.wait(30) == 0
