"""Control planes as processes of their own, as clients of DCP and users of `setpoint serve` have them."""

import json
import os
import select
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

SECONDS = 30
GROUP = "/apis/usvc-dev.developer.microsoft.com/v1"


class Instance:
    """A control plane that serves, and a plain way to ask it."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path, token: str = "") -> None:
        self.process, self.kubeconfig = process, kubeconfig
        found = yaml.safe_load(kubeconfig.read_text())
        [cluster], [user] = found["clusters"], found["users"]
        self.url: str = cluster["cluster"]["server"]
        self.token: str = token or user["user"]["token"]
        authority = b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)

    def open(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """An answer while it comes. Raises HTTPError."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
        )
        return urllib.request.urlopen(request, timeout=SECONDS, context=self._context)

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        with self.open(method, path, body, content_type) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def text(self, path: str) -> str:
        """What is said below the group, to its end."""
        with self.open("GET", f"{GROUP}/{path}") as answer:
            said: str = answer.read().decode()
        return said

    def make(self, kind: str, name: str, spec: Any, **metadata: Any) -> Any:
        tree = {
            "apiVersion": "usvc-dev.developer.microsoft.com/v1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        return self.ask("POST", f"{GROUP}/{kind.lower()}s", tree)

    def state(self, kind: str, name: str, *states: str) -> Any:
        """The status of an object, as soon as it is in one of these states."""

        def look() -> Any:
            status = self.ask("GET", f"{GROUP}/{kind.lower()}s/{name}").get("status") or {}
            return status if status.get("state") in states else None

        return until(look)

    def end(self, status: str) -> Any:
        """Asks for another status of the control plane."""
        return self.ask("PATCH", "/admin/execution", {"status": status}, "application/merge-patch+json")


def until(look: Any, seconds: float = SECONDS) -> Any:
    """What is found, as soon as there is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError("it has not come to that in time")


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def environment(directory: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing is shared with the user who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DCP_")}
    return {
        **kept,
        "XDG_STATE_HOME": str(directory / "state"),
        "DCP_STATE_STORE_PATH": str(directory / "state.sqlite3"),
        **more,
    }


def dcp(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "setpoint.cli.dcp", *arguments]


def run(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """One of DCP's commands, to its end."""
    return subprocess.run(
        dcp(*arguments), capture_output=True, text=True, timeout=SECONDS, env=environment(directory, **more)
    )


@contextmanager
def instance(directory: Path, *arguments: str, **more: str) -> Iterator[Instance]:
    """What `start-apiserver` starts; its kubeconfig says that it serves."""
    kubeconfig = directory / "kubeconfig"
    with _started(
        dcp("start-apiserver", "--kubeconfig", str(kubeconfig), *arguments), environment(directory, **more)
    ) as process:
        until(lambda: kubeconfig.exists() or process.poll() is not None)
        assert kubeconfig.exists(), process.communicate()[1]
        yield Instance(process, kubeconfig, more.get("DCP_SECURE_TOKEN", ""))


@contextmanager
def serving(directory: Path, *arguments: str) -> Iterator[Instance]:
    """What `setpoint serve --workloads` starts; its line says that it serves."""
    kubeconfig = directory / "kubeconfig"
    command = [sys.executable, "-m", "setpoint", "serve", "--workloads", "--listen", "127.0.0.1:0"]
    with _started([*command, "--kubeconfig", str(kubeconfig), *arguments], environment(directory)) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        assert ready
        assert process.stdout.readline().startswith("ready https://")
        yield Instance(process, kubeconfig)


@contextmanager
def _started(command: list[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Why a command did not do it."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def code_of(error: urllib.error.HTTPError) -> int:
    error.close()
    return error.code
