"""prometheus-operator: a Prometheus becomes a StatefulSet with ready pods, its configuration follows ServiceMonitors,
and its number of shards follows its scale."""

import base64
import gzip
import json
from typing import Any

import pytest
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

PROMETHEUS = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: shop, namespace: default}
spec:
  replicas: 2
  serviceAccountName: prometheus
  serviceMonitorSelector: {matchLabels: {team: shop}}
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: {name: shop, namespace: default}
spec: {replicas: 3}
"""
MONITOR = """
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: cart, namespace: default, labels: {team: shop}}
spec:
  selector: {matchLabels: {app: cart}}
  endpoints: [{port: metrics}]
"""


def test_a_prometheus_becomes_available_and_is_scaled(cluster: Cluster) -> None:
    operator = program("prometheus-operator", "operator")
    # The bundle has the definitions, the rights and the Deployment of the operator.
    cluster.kubectl("create", "-f", str(source("prometheus-operator") / "bundle.yaml"))
    cluster.wait("deployment/prometheus-operator", "condition=Available")
    cluster.apply(PROMETHEUS, MONITOR)
    with cluster.running(operator, "--web.listen-address=127.0.0.1:0"):
        cluster.wait("prometheus/shop", "condition=Available")
        cluster.wait("alertmanager/shop", "condition=Available")
        assert replicas(cluster, "prometheus-shop") == 2
        assert replicas(cluster, "alertmanager-shop") == 3
        assert "serviceMonitor/default/cart/0" in configuration(cluster)
        replicated = json.dumps({"spec": {"replicas": 3}})
        cluster.kubectl("patch", "prometheus/shop", "--type=merge", "-p", replicated)
        cluster.wait("statefulset/prometheus-shop", "jsonpath={.status.availableReplicas}=3")
        # The scale of a Prometheus is the number of its shards.
        cluster.kubectl("scale", "prometheus/shop", "--replicas=2")
        cluster.wait("statefulset/prometheus-shop-shard-1", "create")
        cluster.wait("prometheus/shop", "jsonpath={.status.availableReplicas}=6")
        cluster.kubectl("delete", "prometheus/shop", "--wait")
        cluster.wait("statefulset/prometheus-shop", "delete")


def replicas(cluster: Cluster, name: str) -> int:
    found: dict[str, Any] = json.loads(cluster.kubectl("get", "statefulset", name, "-o", "json"))
    return int(found["status"]["availableReplicas"])


def configuration(cluster: Cluster) -> str:
    """The configuration that the operator has written for Prometheus."""
    data = cluster.kubectl("get", "secret", "prometheus-shop", "-o", r"jsonpath={.data.prometheus\.yaml\.gz}")
    return gzip.decompress(base64.b64decode(data)).decode()
