"""Argo Rollouts: a canary that pauses, is promoted, and is undone, with ReplicaSets and pods on simulated nodes."""

import json
from typing import Any

import pytest
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

ROLLOUT = """
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: shop, namespace: default}
spec:
  replicas: 5
  selector: {matchLabels: {app: shop}}
  strategy:
    canary:
      maxSurge: 1
      maxUnavailable: 0
      steps: [{setWeight: 20}, {pause: {}}, {setWeight: 60}, {pause: {duration: 1}}]
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "shop:1"}]}
"""


def test_a_canary_is_promoted(cluster: Cluster) -> None:
    rollouts = program("argo-rollouts", "rollouts")
    install = source("argo-rollouts") / "manifests" / "install.yaml"
    cluster.kubectl("create", "namespace", "argo-rollouts")
    cluster.kubectl("apply", "--server-side", "-n", "argo-rollouts", "-f", str(install))
    cluster.wait("deployment/argo-rollouts", "condition=Available", "argo-rollouts")
    with cluster.running(rollouts, f"--kubeconfig={cluster.server.kubeconfig}", "--leader-elect=false"):
        cluster.apply(ROLLOUT)
        cluster.wait("rollout/shop", "jsonpath={.status.phase}=Healthy")
        image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "shop:2"}]
        cluster.kubectl("patch", "rollout", "shop", "--type=json", "-p", json.dumps(image))
        cluster.wait("rollout/shop", "jsonpath={.status.phase}=Paused")
        assert ready_by_image(cluster) == {"shop:1": 4, "shop:2": 1}
        promoted = {"status": {"pauseConditions": None}}
        cluster.kubectl("patch", "rollout", "shop", "--subresource=status", "--type=merge", "-p", json.dumps(promoted))
        cluster.wait("rollout/shop", "jsonpath={.status.phase}=Healthy")
        assert ready_by_image(cluster) == {"shop:1": 0, "shop:2": 5}


def ready_by_image(cluster: Cluster) -> dict[str, int]:
    """The number of ready replicas of each ReplicaSet, by the image of its pods."""
    found: dict[str, Any] = json.loads(cluster.kubectl("get", "replicasets", "-o", "json"))
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["status"].get("readyReplicas", 0)
        for each in found["items"]
    }
