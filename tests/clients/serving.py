"""One `setpoint serve` as a process of its own, and a plain way to ask it what a client has left there."""

import base64
import json
import os
import select
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SECONDS = 30
TOKEN = "a-token-of-tests"


class Serving(NamedTuple):
    """A server that serves, and how to reach it."""

    url: str
    token: str
    kubeconfig: Path
    authority: str

    def ask(self, method: str, path: str, body: Any = None, media_type: str = "application/json") -> Any:
        """The decoded answer to a request. Raises urllib.error.HTTPError for a refusal."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": media_type},
        )
        context = ssl.create_default_context(cadata=self.authority)
        with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:
            return json.load(answer)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def merge(self, path: str, change: Any) -> Any:
        """Sends a JSON merge patch. A PUT of an object that was read fails if an operator writes it in between."""
        return self.ask("PATCH", path, change, "application/merge-patch+json")

    def names(self, path: str) -> list[str]:
        """The names of the objects in a collection."""
        return [item["metadata"]["name"] for item in self.get(path)["items"]]


@contextmanager
def serving(
    directory: Path,
    store: str = "memory",
    listen: str = "127.0.0.1:0",
    *,
    controllers: str = "-*,clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller",
    more: Sequence[str] = (),
) -> Iterator[Serving]:
    """Runs a server over a store; by default at a free port of the loopback address, and without the controllers that
    write objects of their own: all objects are those of its clients. `more` are further options."""
    kubeconfig = directory / "kubeconfig"
    options = ["--listen", listen, "--kubeconfig", str(kubeconfig), "--store", store, f"--controllers={controllers}"]
    options += more
    with (directory / "log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "SETPOINT_TOKEN": TOKEN},
        )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        word, _, url = process.stdout.readline().strip().partition(" ") if ready else ("", "", "")
        assert word == "ready", (directory / "log").read_text()
        yield Serving(url, TOKEN, kubeconfig, _authority(kubeconfig))
        ended = process.poll()
        assert ended is None, f"the server ended by itself, with {ended}: {(directory / 'log').read_text()}"
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def _authority(kubeconfig: Path) -> str:
    [cluster] = yaml.safe_load(kubeconfig.read_text())["clusters"]
    return base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
