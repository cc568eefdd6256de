"""kubectl's commands about workloads on simulated nodes: top, autoscale, rollout, scale, cordon and drain."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.conftest import kubectl_program
from tests.clients.kubectl import Kubectl
from tests.system.workload_objects import deployment

from setpoint.testing import Behaviour, ContainerRun, LocalServer, simulated

pytestmark = pytest.mark.slow


def script(run: ContainerRun) -> Behaviour:
    return Behaviour(cpu=0.25, memory=64 << 20)


@pytest.fixture
def nodes() -> Iterator[LocalServer]:
    with LocalServer(nodes=simulated(2, scripts={"": script})) as served:
        served.apply(deployment(replicas=2))
        served.settle()
        yield served


@pytest.fixture
def kubectl(nodes: LocalServer, tmp_path: Path) -> Kubectl:
    return Kubectl(kubectl_program(), nodes.kubeconfig, tmp_path, "default")


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_top_shows_the_usage_of_nodes_pods_and_containers(kubectl: Kubectl) -> None:
    [title, *rows] = words(kubectl("top", "nodes"))
    assert title[:2] == ["NAME", "CPU(cores)"]
    assert sum(int(row[1].removesuffix("m")) for row in rows) == 500
    [title, *rows] = words(kubectl("top", "pods"))
    assert title == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert [row[1:] for row in rows] == [["250m", "64Mi"]] * 2
    [title, *rows] = words(kubectl("top", "pods", "--containers", "--sort-by=cpu"))
    assert title == ["POD", "NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert [row[1:] for row in rows] == [["web", "250m", "64Mi"]] * 2
    assert "No resources found" in kubectl.run("top", "pods", "-l", "app=other").stderr


def test_autoscale_creates_an_autoscaler(kubectl: Kubectl, nodes: LocalServer) -> None:
    assert "autoscaled" in kubectl("autoscale", "deployment", "web", "--min=1", "--max=5", "--cpu-percent=80")
    [title, row] = words(kubectl("get", "hpa"))
    assert title[:3] == ["NAME", "REFERENCE", "TARGETS"]
    assert row[:2] == ["web", "Deployment/web"]


def test_rollouts_are_followed_paused_and_undone(kubectl: Kubectl, nodes: LocalServer) -> None:
    kubectl("set", "image", "deployment/web", "web=example.com/web:2")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web")
    assert [row[0] for row in words(kubectl("rollout", "history", "deployment/web"))[2:] if row] == ["1", "2"]
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web")
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deployment", "web", "-o", image) == "example.com/web:1"
    kubectl("rollout", "restart", "deployment/web")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web")
    kubectl("rollout", "pause", "deployment/web")
    assert "paused" in kubectl.refused("rollout", "restart", "deployment/web")
    kubectl("rollout", "resume", "deployment/web")


def test_scale_cordon_and_drain(kubectl: Kubectl, nodes: LocalServer) -> None:
    kubectl("scale", "deployment", "web", "--replicas=4")
    kubectl("rollout", "status", "deployment/web")
    kubectl("cordon", "node-0")
    assert "SchedulingDisabled" in kubectl("get", "node", "node-0")
    assert "evicted" in kubectl("drain", "node-0", "--force", "--timeout=60s")
    nodes.settle()
    placed = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert placed == ["node-1"] * 4
    kubectl("uncordon", "node-0")
    assert "SchedulingDisabled" not in kubectl("get", "node", "node-0")
