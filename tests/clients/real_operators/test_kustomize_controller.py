"""Flux's kustomize-controller: a Kustomization applies an artifact, waits for its Deployment, removes objects that a
new revision lacks, and reports a Deployment that does not become ready."""

import functools
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

SOURCE = """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: default}
spec: {interval: 1m, url: "https://example.com/shop"}
"""
KUSTOMIZATION = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: default}
spec:
  interval: 1m
  timeout: 10s
  prune: true
  wait: true
  path: ./
  targetNamespace: shop
  sourceRef: {kind: GitRepository, name: shop}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""
# No node has this label, so that the new pods stay pending.
UNSCHEDULABLE = DEPLOYMENT.replace("spec: {containers", "spec: {nodeSelector: {disk: absent}, containers")


@pytest.fixture
def artifacts(tmp_path: Path) -> Iterator["Artifacts"]:
    place = tmp_path / "artifacts"
    place.mkdir()
    handler = functools.partial(_Quiet, directory=str(place))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Artifacts(place, f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Writes no line for a request."""


class Artifacts:
    """A server of artifacts, in place of source-controller."""

    def __init__(self, place: Path, url: str) -> None:
        self._place, self._url = place, url
        self._number = 0

    def publish(self, cluster: Cluster, **files: str) -> str:
        """Makes an artifact of files the present one of the source. Returns its revision."""
        self._number += 1
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, text in files.items():
                entry = tarfile.TarInfo(f"{name}.yaml")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        data = packed.getvalue()
        name, revision = f"{self._number}.tar.gz", f"main@sha1:{self._number:040x}"
        (self._place / name).write_bytes(data)
        artifact = {
            "path": name,
            "url": f"{self._url}/{name}",
            "revision": revision,
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "lastUpdateTime": "2026-01-01T00:00:00Z",
            "size": len(data),
        }
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Succeeded",
            "message": "stored",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {"status": {"artifact": artifact, "conditions": [ready], "observedGeneration": 1}}
        what = ("gitrepository/shop", "--subresource=status", "--type=merge", "-p", json.dumps(status))
        cluster.kubectl("patch", *what)
        return revision


def test_an_artifact_is_applied_pruned_and_checked(cluster: Cluster, artifacts: Artifacts) -> None:
    controller = program("kustomize-controller", "controller")
    for name in ("kustomize-controller", "source-controller"):
        cluster.kubectl("create", "-f", str(source(name) / "config" / "crd" / "bases"))
    cluster.apply(SOURCE, KUSTOMIZATION)
    flags = ("--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--log-level=info")
    with cluster.running(controller, *flags, environment={"RUNTIME_NAMESPACE": "default"}):
        first = artifacts.publish(cluster, namespace=NAMESPACE, settings=SETTINGS, web=DEPLOYMENT)
        cluster.wait("kustomization/shop", f"jsonpath={{.status.lastAppliedRevision}}={first}")
        cluster.wait("kustomization/shop", "condition=Ready")
        cluster.wait("deployment/web", "jsonpath={.status.availableReplicas}=2", "shop")
        second = artifacts.publish(cluster, namespace=NAMESPACE, web=DEPLOYMENT)
        cluster.wait("kustomization/shop", f"jsonpath={{.status.lastAppliedRevision}}={second}")
        cluster.wait("configmap/settings", "delete", "shop")
        artifacts.publish(cluster, namespace=NAMESPACE, web=UNSCHEDULABLE)
        cluster.wait("kustomization/shop", "condition=Healthy=false")
        ready = "jsonpath={.status.conditions[?(@.type=='Ready')].message}"
        assert "Deployment/shop/web" in cluster.kubectl("get", "kustomization", "shop", "-o", ready)
        cluster.kubectl("delete", "kustomization", "shop", "--wait")
        cluster.wait("deployment/web", "delete", "shop")
