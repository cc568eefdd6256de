"""KEDA: a Deployment is activated from zero replicas by its trigger, and deactivated again.

More than one replica needs an external metric of KEDA's metrics server, an extension API server, which this scenario
does not run.
"""

import json
from datetime import UTC, datetime

import pytest
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source
from tests.oracle.programs import free_port

from setpoint.server.edge.certificates import Authority

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: "main:1"}]}
"""
SCALED = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker, namespace: default}
spec:
  scaleTargetRef: {name: worker}
  pollingInterval: 1
  cooldownPeriod: 1
  minReplicaCount: 0
  maxReplicaCount: 5
  triggers: [{type: kubernetes-workload, metadata: {podSelector: "app=orders", value: "1"}}]
"""


def test_a_deployment_is_activated_and_deactivated(cluster: Cluster) -> None:
    operator = program("keda", "operator")
    cluster.kubectl("create", "namespace", "keda")
    cluster.kubectl("apply", "--server-side", "-f", str(source("keda") / "config" / "crd" / "bases"))
    cluster.apply(*(DEPLOYMENT.replace("NAME", name) for name in ("worker", "orders")), SCALED)
    certificates = cluster.directory / "certificates"
    certificates.mkdir()
    authority = Authority.create(datetime.now(UTC))
    pair = authority.issue_server(["keda-operator"], datetime.now(UTC))
    for name, data in (("ca", authority.pair), ("tls", pair)):
        (certificates / f"{name}.crt").write_bytes(data.certificate)
        (certificates / f"{name}.key").write_bytes(data.key)
    flags = (
        f"--cert-dir={certificates}",
        f"--ca-dir={certificates}",
        *(f"--{name}-bind-address=127.0.0.1:{free_port()}" for name in ("metrics", "health-probe", "metrics-service")),
        "--enable-webhook-patching=false",
        "--enable-apiservice-patching=false",
    )
    namespaces = {"WATCH_NAMESPACE": "", "POD_NAMESPACE": "keda", "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda"}
    with cluster.running(operator, *flags, environment=namespaces):
        cluster.wait("scaledobject/worker", "condition=Ready")
        autoscaler = json.loads(cluster.kubectl("get", "hpa", "keda-hpa-worker", "-o", "json"))
        assert autoscaler["spec"]["scaleTargetRef"]["name"] == "worker"
        cluster.kubectl("scale", "deployment/orders", "--replicas=3")
        cluster.wait("deployment/worker", "jsonpath={.status.availableReplicas}=1")
        cluster.wait("scaledobject/worker", "condition=Active")
        cluster.kubectl("scale", "deployment/orders", "--replicas=0")
        cluster.wait("deployment/worker", "jsonpath={.spec.replicas}=0")
