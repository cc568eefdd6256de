"""Helm installs, upgrades, rolls back, tests and uninstalls a chart of two tiers on simulated nodes."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.serving import Serving, serving

CHARTS = Path(__file__).parent / "charts"
SECONDS = 120
pytestmark = pytest.mark.peers


class Helm:
    """A Helm with the administrator's kubeconfig and directories of its own."""

    def __init__(self, program: str, kubeconfig: Path, directory: Path) -> None:
        self._program = program
        homes = {f"HELM_{each}_HOME": str(directory / each.lower()) for each in ("CACHE", "CONFIG", "DATA")}
        self._environment = {**os.environ, **homes, "KUBECONFIG": str(kubeconfig)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self._program, *arguments]
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def __call__(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    more = ["--nodes", "simulated:3", "--stages", str(CHARTS / "stages.yaml")]
    with serving(tmp_path_factory.mktemp("helm"), controllers="*", more=more) as found:
        yield found


@pytest.fixture
def helm(server: Serving, tmp_path: Path) -> Helm:
    program = os.environ.get("HELM")
    if not program:
        pytest.skip("the variable HELM names no Helm; `make test-peers` builds one")
    return Helm(program, server.kubeconfig, tmp_path)


def images(server: Serving) -> set[str]:
    pods = server.get("/api/v1/namespaces/default/pods?labelSelector=app.kubernetes.io/component=frontend")["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in pods}


def available(server: Serving) -> tuple[int, int]:
    deployment = server.get("/apis/apps/v1/namespaces/default/deployments/shop-frontend")
    backend = server.get("/apis/apps/v1/namespaces/default/statefulsets/shop-backend")
    return deployment["status"]["availableReplicas"], backend["status"]["readyReplicas"]


def revisions(helm: Helm) -> list[tuple[int, str]]:
    found: list[dict[str, Any]] = json.loads(helm("history", "shop", "--output", "json"))
    return [(each["revision"], each["status"]) for each in found]


def test_the_life_of_a_release(helm: Helm, server: Serving) -> None:
    chart = str(CHARTS / "two-tier")
    wait = ("--wait", "--timeout", "60s")
    helm("install", "shop", chart, *wait)
    assert available(server) == (3, 2)
    service = server.get("/api/v1/namespaces/default/services/shop-frontend")
    assert len(service["status"]["loadBalancer"]["ingress"]) == 1
    job = server.get("/apis/batch/v1/namespaces/default/jobs/shop-schema")
    assert job["status"]["succeeded"] == 1
    budget = server.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop-frontend")
    assert (budget["status"]["currentHealthy"], budget["status"]["disruptionsAllowed"]) == (3, 1)

    # A rolling upgrade, with another number of replicas of the backend.
    second = ("--set", "frontend.image=example.com/frontend:2", "--set", "backend.replicas=3")
    helm("upgrade", "shop", chart, *second, *wait)
    assert available(server) == (3, 3)
    assert images(server) == {"example.com/frontend:2"}

    # An upgrade that never becomes ready is rolled back.
    broken = helm.run(
        "upgrade",
        "shop",
        chart,
        "--reuse-values",
        "--set",
        "frontend.image=example.com/frontend:broken",
        "--rollback-on-failure",
        "--timeout",
        "8s",
    )
    assert broken.returncode != 0
    assert available(server) == (3, 3)
    assert images(server) == {"example.com/frontend:2"}
    assert revisions(helm) == [(1, "superseded"), (2, "superseded"), (3, "failed"), (4, "deployed")]

    helm("rollback", "shop", "1", *wait)
    assert available(server) == (3, 2)
    assert images(server) == {"example.com/frontend:1"}

    assert "Succeeded" in helm("test", "shop", "--timeout", "30s")

    helm("uninstall", "shop", *wait)
    # Helm leaves the objects of hooks.
    assert server.names("/api/v1/namespaces/default/pods?labelSelector=app.kubernetes.io/instance=shop") == []
    assert server.names("/apis/apps/v1/namespaces/default/statefulsets") == []
    assert server.names("/api/v1/namespaces/default/services") == ["kubernetes"]
