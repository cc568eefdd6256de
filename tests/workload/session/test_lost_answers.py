"""Clients that resend a request after a lost connection, and clients that are paused, with real connections."""

import json
import os
import signal
import socket
import ssl
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.workload.session.instances import GROUP, Instance, instance, is_alive, until

from setpoint.cli.dcp.start import configuration
from setpoint.config.settings import Limits

pytestmark = pytest.mark.slow

MERGE = "application/merge-patch+json"
WAITS = {"executablePath": "/bin/sleep", "args": ["1000"]}


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Instance]:
    with instance(tmp_path) as found:
        yield found


def executable(name: str) -> Any:
    return {
        "apiVersion": "usvc-dev.developer.microsoft.com/v1",
        "kind": "Executable",
        "metadata": {"name": name},
        "spec": WAITS,
    }


def send(serving: Instance, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
    """Sends a whole request on a new connection."""
    url = urlsplit(serving.url)
    [cluster] = yaml.safe_load(serving.kubeconfig.read_text())["clusters"]
    context = ssl.create_default_context(cadata=b64decode(cluster["cluster"]["certificate-authority-data"]).decode())
    assert url.hostname is not None
    connection = context.wrap_socket(socket.create_connection((url.hostname, url.port)), server_hostname=url.hostname)
    text = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {serving.token}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + text)
    return connection


def lose(serving: Instance, method: str, path: str, body: Any = None, content_type: str = "application/json") -> None:
    """Sends a request, and cuts the connection before the answer."""
    connection = send(serving, method, path, body, content_type)
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def code(serving: Instance, method: str, path: str, body: Any = None, content_type: str = "application/json") -> int:
    with send(serving, method, path, body, content_type) as connection:
        return int(connection.makefile("rb").readline().split()[1])


def test_a_request_that_is_sent_again_has_no_second_effect(serving: Instance) -> None:
    web = f"{GROUP}/executables/web"
    lose(serving, "POST", f"{GROUP}/executables", executable("web"))
    until(lambda: serving.ask("GET", f"{GROUP}/executables")["items"])
    [made] = serving.ask("GET", f"{GROUP}/executables")["items"]
    assert code(serving, "POST", f"{GROUP}/executables", executable("web")) == 409
    pid = serving.state("Executable", "web", "Running")["pid"]
    change = {"metadata": {"labels": {"is": "changed"}}}
    lose(serving, "PATCH", web, change, MERGE)
    assert code(serving, "PATCH", web, change, MERGE) == 200
    [found] = serving.ask("GET", f"{GROUP}/executables")["items"]
    assert (found["metadata"]["uid"], found["metadata"]["labels"]) == (made["metadata"]["uid"], {"is": "changed"})
    assert found["status"]["pid"] == pid
    lose(serving, "DELETE", web)
    # The object is being deleted, or is gone.
    assert code(serving, "DELETE", web) in (200, 404)
    until(lambda: not serving.ask("GET", f"{GROUP}/executables")["items"])
    assert not is_alive(pid)


def test_of_requests_that_arrive_together_one_creates(serving: Instance) -> None:
    with ThreadPoolExecutor(8) as pool:
        create = [pool.submit(code, serving, "POST", f"{GROUP}/executables", executable("web")) for _ in range(8)]
        assert sorted(each.result() for each in create) == [201, *[409] * 7]
    assert len(serving.ask("GET", f"{GROUP}/executables")["items"]) == 1


def test_a_request_for_the_end_that_is_sent_again_is_accepted(serving: Instance) -> None:
    serving.make("Executable", "web", WAITS)
    pid = serving.state("Executable", "web", "Running")["pid"]
    end = {"status": "CleaningResources"}
    lose(serving, "PATCH", "/admin/execution", end, MERGE)
    # 204: the status is already the requested one.
    assert code(serving, "PATCH", "/admin/execution", end, MERGE) in (200, 204)
    until(lambda: serving.ask("GET", "/admin/execution")["status"] == "CleanupComplete")
    assert not is_alive(pid)


def test_a_paused_client_keeps_its_instance_and_its_watch(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "1000"]) as client:
        try:
            os.kill(client.pid, signal.SIGSTOP)
            with instance(tmp_path, "--monitor", str(client.pid), "--monitor-interval", "1") as serving:
                with serving.open("GET", f"{GROUP}/executables?watch=true") as watch:
                    serving.make("Executable", "web", {"executablePath": "/bin/sleep", "args": ["1.5"]})
                    serving.state("Executable", "web", "Finished")
                    assert serving.process.poll() is None
                    # Events that were not read yet are there.
                    assert json.loads(watch.readline())["type"] == "ADDED"
                client.kill()
                client.wait()
                assert serving.process.wait(30) == 0
        finally:
            client.kill()


def test_a_client_that_reads_no_logs_for_a_day_is_not_cut_off() -> None:
    assert Limits().stalled_seconds < 60
    assert configuration().limits.stalled_seconds >= 24 * 3600
