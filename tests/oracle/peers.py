"""A real control plane on the loopback interface: etcd, kube-apiserver, and the programs that work with them.

Every control plane has a directory of its own, free ports, and an authority and keys that end with the directory.
"""

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.oracle.programs import PEERS, Program, free_port
from tests.oracle.users import ADMIN, TOKENS, write_token_file

from setpoint.server.edge.certificates import Authority

SERVICE_RANGE = "10.0.0.0/16"
ISSUER = "https://kubernetes.default.svc.cluster.local"


class Files(NamedTuple):
    """The files that servers share: users, authority, certificate and the keys of service accounts."""

    users: Path
    authority: Path
    certificate: Path
    key: Path
    signing_key: Path
    authority_key: Path


class Etcd(NamedTuple):
    """An etcd that serves."""

    url: str
    pid: int


class Oracle(NamedTuple):
    """A kube-apiserver that serves."""

    port: int
    directory: Path
    files: Files
    kubeconfig: Path
    pid: int
    etcd_pid: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def write_files(directory: Path) -> Files:
    """Creates the shared files in the directory."""
    now = datetime.now(UTC)
    authority = Authority.create(now, "oracle-ca")
    serving = authority.issue_server(("127.0.0.1", "localhost"), now)
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    names = ("users.csv", "ca.pem", "server.pem", "server.key", "accounts.key", "ca.key")
    files = Files(*(directory / name for name in names))
    write_token_file(files.users)
    for path, content in (
        (files.authority, authority.pair.certificate),
        (files.certificate, serving.certificate),
        (files.key, serving.key),
        (files.signing_key, pem),
        (files.authority_key, authority.pair.key),
    ):
        path.touch(mode=0o600)
        path.write_bytes(content)
    return files


def write_kubeconfig(path: Path, url: str, authority: Path, token: str) -> None:
    """Writes a kubeconfig for the user of the token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "oracle",
        "clusters": [{"name": "oracle", "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": "oracle", "user": {"token": token}}],
        "contexts": [{"name": "oracle", "context": {"cluster": "oracle", "user": "oracle"}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))


@contextmanager
def etcd(directory: Path) -> Iterator[Etcd]:
    """Runs etcd without fsync, because its data ends with the run."""
    client, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    program = Program(
        "etcd",
        [
            *(f"--data-dir={directory / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn"),
            *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
            *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
            f"--initial-cluster=default={peer}",
        ],
        directory,
    )
    try:
        program.wait_until(lambda: _answers(f"{client}/health"))
        yield Etcd(client, program.pid)
    finally:
        program.stop()


@contextmanager
def oracle(directory: Path, files: Files, flags: Sequence[str] = ()) -> Iterator[Oracle]:
    """Runs etcd and kube-apiserver, with RBAC and no controllers, until the block ends."""
    with etcd(directory) as store:
        port = free_port()
        program = Program(
            "kube-apiserver",
            [
                *(f"--etcd-servers={store.url}", "--bind-address=127.0.0.1", f"--secure-port={port}"),
                *(f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}"),
                *(f"--client-ca-file={files.authority}", f"--token-auth-file={files.users}"),
                *("--authorization-mode=RBAC", f"--service-cluster-ip-range={SERVICE_RANGE}"),
                *(f"--service-account-issuer={ISSUER}", f"--service-account-key-file={files.signing_key}"),
                f"--service-account-signing-key-file={files.signing_key}",
                *("--endpoint-reconciler-type=none", "--allow-privileged=true", "--profiling=false"),
                *flags,
            ],
            directory,
        )
        try:
            url = f"https://127.0.0.1:{port}"
            program.wait_until(lambda: _answers(f"{url}/readyz", files.authority))
            kubeconfig = directory / "oracle.kubeconfig"
            write_kubeconfig(kubeconfig, url, files.authority, TOKENS[ADMIN])
            yield Oracle(port, directory, files, kubeconfig, program.pid, store.pid)
        finally:
            program.stop()


@contextmanager
def companion(
    name: str, kubeconfig: Path, directory: Path, flags: Sequence[str] = (), stages: Path = PEERS / "stages.yaml"
) -> Iterator[Program]:
    """Runs kube-controller-manager, kube-scheduler or kwok on the server of a kubeconfig, until the block ends.
    `stages` is a file for kwok."""
    port = free_port()
    own = {
        "kube-controller-manager": [f"--secure-port={port}", "--bind-address=127.0.0.1", "--leader-elect=false"],
        "kube-scheduler": [f"--secure-port={port}", "--bind-address=127.0.0.1", "--leader-elect=false"],
        "kwok": [f"--config={stages}", "--manage-all-nodes=true", f"--server-address=127.0.0.1:{port}"],
    }[name]
    program = Program(name, [f"--kubeconfig={kubeconfig}", *own, *flags], directory)
    scheme = "http" if name == "kwok" else "https"
    try:
        program.wait_until(lambda: _answers(f"{scheme}://127.0.0.1:{port}/healthz", verify=False))
        yield program
    finally:
        program.stop()


def _answers(url: str, authority: Path | None = None, *, verify: bool = True) -> bool:
    """Tells if a URL answers 200 to the administrator."""
    context = ssl.create_default_context(cafile=authority)
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {TOKENS[ADMIN]}"} if authority else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5, context=context):
            return True
    except (urllib.error.URLError, OSError):
        return False
