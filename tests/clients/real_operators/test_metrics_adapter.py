"""The test adapter of custom-metrics-apiserver: an extension API server with external metrics scales a Deployment.

The adapter authenticates the forwarded requests with Kubernetes' own library, and asks Setpoint for the rights of
users. The adapter also listens at port 8080.
"""

import json

import pytest
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import program, source
from tests.oracle.programs import free_port

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

PORT = free_port()
NAME = "custom-metrics-apiserver"
METRICS = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"
OBJECTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: main, image: "main:1"}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: worker, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
  minReplicas: 1
  maxReplicas: 10
  metrics:
  - type: External
    external:
      metric: {name: other-external-metric}
      target: {type: AverageValue, averageValue: "11"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: external-metrics-reader}
rules: [{apiGroups: [external.metrics.k8s.io], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: external-metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: external-metrics-reader}
subjects: [{kind: ServiceAccount, name: horizontal-pod-autoscaler, namespace: kube-system}]
"""


@pytest.mark.parametrize("cluster", [("--webhook-service", f"custom-metrics/{NAME}=127.0.0.1:{PORT}")], indirect=True)
def test_a_deployment_is_scaled_by_an_external_metric(cluster: Cluster) -> None:
    adapter = program(NAME, "adapter")
    manifest = source(NAME) / "test-adapter-deploy" / "testing-adapter.yaml"
    cluster.kubectl("apply", "-f", str(manifest))
    kubeconfig = cluster.server.kubeconfig
    flags = (
        f"--secure-port={PORT}",
        f"--cert-dir={cluster.directory / 'certificates'}",
        *(f"--{name}-kubeconfig={kubeconfig}" for name in ("lister", "authentication", "authorization")),
    )
    with cluster.running(adapter, *flags):
        cluster.wait("apiservice/v1beta1.external.metrics.k8s.io", "condition=Available")
        found = json.loads(cluster.kubectl("get", "--raw", f"{METRICS}/my-external-metric"))
        assert [item["value"] for item in found["items"]] == ["42", "43"]
        assert "external.metrics.k8s.io/v1beta1" in cluster.kubectl("api-versions").splitlines()
        with pytest.raises(AssertionError, match="Forbidden"):
            cluster.kubectl("get", "--raw", f"{METRICS}/my-external-metric", "--as", "jane")
        cluster.apply(OBJECTS)
        cluster.wait("deployment/worker", "jsonpath={.status.availableReplicas}=4")
    cluster.wait("apiservice/v1beta1.external.metrics.k8s.io", "condition=Available=false")
