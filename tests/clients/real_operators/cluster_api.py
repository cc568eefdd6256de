"""The programs of Cluster API, with certificates for their webhooks.

The manifests expect certificates of cert-manager, which these scenarios do not run: the webhooks have certificates of
an authority of the test.
"""

import base64
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source
from tests.oracle.programs import free_port

from setpoint.server.edge.certificates import Authority

GROUP = "cluster.x-k8s.io"
MANIFESTS = source("cluster-api-manifests")


class Manager(NamedTuple):
    """A program of Cluster API, its manifests, the prefix of the names in these, and the port of its webhooks."""

    command: str
    manifests: Path
    prefix: str
    port: int

    @property
    def namespace(self) -> str:
        return f"{self.prefix}-system"

    @property
    def service(self) -> str:
        """The name of the Service of the webhooks."""
        return f"{self.prefix}-webhook-service"


CORE = Manager("core", MANIFESTS / "core", "capi", free_port())


def options(managers: Sequence[Manager]) -> list[str]:
    """The options of a server that reaches the webhooks of these programs."""
    addresses = [f"{each.namespace}/{each.service}=127.0.0.1:{each.port}" for each in managers]
    return [word for address in addresses for word in ("--webhook-service", address)]


def install(cluster: Cluster, manager: Manager, authority: Authority) -> None:
    """Applies the manifests of a program with the authority of its webhooks, without the objects for cert-manager.
    Skips the test if the program is not built."""
    program("cluster-api", manager.command)
    bundle = base64.b64encode(authority.pair.certificate).decode()
    text = cluster.kubectl("kustomize", str(manager.manifests / "config" / "default"))
    kept = []
    for item in yaml.load_all(text, yaml.CSafeLoader):
        if item["apiVersion"].startswith("cert-manager.io/"):
            continue
        called: list[Any] = item.get("webhooks") or []
        if item["kind"] == "CustomResourceDefinition" and "conversion" in item["spec"]:
            called = [item["spec"]["conversion"]["webhook"]]
        for webhook in called:
            webhook["clientConfig"]["caBundle"] = bundle
        kept.append(item)
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": kept})
    cluster.kubectl("apply", "--server-side", "-f", "-", text=objects)


def running(cluster: Cluster, manager: Manager, authority: Authority, *flags: str) -> AbstractContextManager[Path]:
    """Runs a program, whose certificate is issued for the name of its Service."""
    place = cluster.directory / manager.command
    place.mkdir()
    pair = authority.issue_server([f"{manager.service}.{manager.namespace}.svc"], datetime.now(UTC))
    (place / "tls.crt").write_bytes(pair.certificate)
    (place / "tls.key").write_bytes(pair.key)
    serving = (f"--webhook-port={manager.port}", f"--webhook-cert-dir={place}", "--health-addr=0")
    return cluster.running(
        program("cluster-api", manager.command),
        *serving,
        "--diagnostics-address=0",
        "--insecure-diagnostics",
        *flags,
        environment={"POD_NAMESPACE": manager.namespace, "POD_IP": "127.0.0.1"},
    )
