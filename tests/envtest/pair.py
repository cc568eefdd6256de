"""An etcd and a kube-apiserver of ours, started as envtest starts them: files, flags, health."""

import json
import os
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from tests.ports import free_ports

from setpoint.objects.clock import SystemClock
from setpoint.server.edge.certificates import Authority

SECONDS = 30


def certificates(directory: Path) -> Authority:
    """Writes what envtest writes before it starts a kube-apiserver. Returns who signs the certificates of users."""
    now = SystemClock().now()
    serving = Authority.create(now)
    pair = serving.issue_server(["localhost", "127.0.0.1"], now)
    users = Authority.create(now, "users")
    directory.mkdir(exist_ok=True)
    for name, data in (
        ("serving-ca.crt", serving.pair.certificate),
        ("apiserver.crt", pair.certificate),
        ("apiserver.key", pair.key),
        ("client-cert-auth-ca.crt", users.pair.certificate),
        ("sa-signer.crt", serving.pair.certificate),
        ("sa-signer.key", serving.pair.key),
    ):
        (directory / name).write_bytes(data)
    return users


class Client:
    """Asks a kube-apiserver as a user, by certificate or token, or as nobody."""

    def __init__(self, url: str, directory: Path, *, token: str = "") -> None:
        self._url = url
        self._token = token
        self.context = ssl.create_default_context(cafile=str(directory / "serving-ca.crt"))

    @classmethod
    def certified(cls, url: str, directory: Path, authority: Authority, user: str, *groups: str) -> "Client":
        pair = authority.issue_client(user, groups, SystemClock().now())
        client, path = cls(url, directory), directory / f"{user}.pem"
        path.write_bytes(pair.certificate + pair.key)
        client.context.load_cert_chain(path)
        return client

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, method=method, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS, context=self.context) as answer:
                status, text = answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                status, text = error.code, error.read().decode()
        return status, json.loads(text) if text.startswith("{") else text


@contextmanager
def running(program: Path, arguments: Sequence[str], health: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is healthy; it is told to stop at the end, and must stop well."""
    with log.open("ab") as file:
        process = subprocess.Popen([program, *arguments], stdout=file, stderr=file)
    try:
        _wait_for(health, process, log)
        yield process
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0, log.read_text()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    deadline = time.monotonic() + SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=SECONDS, context=unverified) as answer:
                assert answer.status == 200
                return
        except (URLError, ConnectionError):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)


@contextmanager
def etcd(assets: Path, data: Path, log: Path) -> Iterator[str]:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    arguments = [f"--listen-client-urls={url}", f"--advertise-client-urls={url}", f"--data-dir={data}"]
    with running(assets / "etcd", arguments, f"{url}/health", log):
        yield url


@contextmanager
def apiserver(assets: Path, directory: Path, etcd_url: str, *more: str) -> Iterator[str]:
    """With the flags that envtest passes, and those that a suite adds."""
    port = free_ports(1)[0]
    url = f"https://127.0.0.1:{port}"
    arguments = [
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory}",
        f"--client-ca-file={directory / 'client-cert-auth-ca.crt'}",
        "--disable-admission-plugins=ServiceAccount",
        f"--etcd-servers={etcd_url}",
        f"--secure-port={port}",
        f"--service-account-issuer={url}/",
        f"--service-account-key-file={directory / 'sa-signer.crt'}",
        f"--service-account-signing-key-file={directory / 'sa-signer.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        *more,
    ]
    with running(assets / "kube-apiserver", arguments, f"{url}/healthz", directory / "log"):
        yield url


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}
