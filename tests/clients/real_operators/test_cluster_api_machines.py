"""Cluster API: machines of a cluster, whose API server is a second Setpoint, join as its nodes, are scaled, drained and
deleted without remains.

The core manager runs with its webhooks. The test takes the part of the providers: a kind of its own stands for the
infrastructure, and the test reports machines as provisioned that are simulated nodes of the second Setpoint.
"""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.clients.real_operators.cluster_api import CORE, GROUP, install, options, running
from tests.clients.real_operators.conftest import LONGEST_SECONDS, Cluster
from tests.clients.serving import serving

from setpoint.server.edge.certificates import Authority

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

EXAMPLE = "infrastructure.example.com"
OF_THE_CLUSTER = f"{GROUP}/cluster-name=shop"
DEFINITION = f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.{EXAMPLE}
  labels: {{{GROUP}/v1beta2: v1}}
spec:
  group: {EXAMPLE}
  scope: Namespaced
  names: {{kind: KIND, plural: PLURAL}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"""
KINDS = ("ExampleCluster", "ExampleControlPlane", "ExampleMachine", "ExampleMachineTemplate")
PROVIDED = f"""
apiVersion: {EXAMPLE}/v1
kind: ExampleCluster
metadata: {{name: shop, namespace: default}}
spec: {{controlPlaneEndpoint: {{host: 127.0.0.1, port: 6443}}}}
---
apiVersion: {EXAMPLE}/v1
kind: ExampleControlPlane
metadata: {{name: shop, namespace: default}}
spec: {{}}
---
apiVersion: {EXAMPLE}/v1
kind: ExampleMachineTemplate
metadata: {{name: workers, namespace: default}}
spec: {{template: {{spec: {{}}}}}}
"""
SHOP = f"""
apiVersion: {GROUP}/v1beta2
kind: Cluster
metadata: {{name: shop, namespace: default}}
spec:
  controlPlaneRef: {{apiGroup: {EXAMPLE}, kind: ExampleControlPlane, name: shop}}
  infrastructureRef: {{apiGroup: {EXAMPLE}, kind: ExampleCluster, name: shop}}
"""
WORKERS = f"""
apiVersion: {GROUP}/v1beta2
kind: MachineDeployment
metadata: {{name: workers, namespace: default}}
spec:
  clusterName: shop
  replicas: 2
  selector: {{matchLabels: {{pool: workers}}}}
  template:
    metadata: {{labels: {{pool: workers}}}}
    spec:
      clusterName: shop
      version: v1.36.0
      bootstrap: {{dataSecretName: bootstrap}}
      infrastructureRef: {{apiGroup: {EXAMPLE}, kind: ExampleMachineTemplate, name: workers}}
"""
DRAINED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "main:1"}]}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Iterator[Cluster]:
    """The API server of the cluster whose machines Cluster API manages."""
    place = tmp_path / "workload"
    place.mkdir()
    with serving(place, controllers="*", more=["--nodes", "simulated:3"]) as server:
        yield Cluster(server, place)


def report(cluster: Cluster, what: str, **status: Any) -> None:
    change = json.dumps({"status": status})
    cluster.kubectl("patch", what, "--subresource=status", "--type=merge", "-p", change)


class Machines:
    """The part of an infrastructure provider: each machine is a node of the workload cluster."""

    def __init__(self, cluster: Cluster, workload: Cluster) -> None:
        self._cluster = cluster
        self._free = workload.kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.providerID}").split()

    def provision(self, count: int) -> bool:
        """Provisions the new machines. Returns whether there are so many machines."""
        found = json.loads(self._cluster.kubectl("get", f"examplemachines.{EXAMPLE}", "-o", "json"))["items"]
        for item in found:
            if "providerID" not in item["spec"]:
                machine = f"examplemachine/{item['metadata']['name']}"
                change = json.dumps({"spec": {"providerID": self._free.pop()}})
                self._cluster.kubectl("patch", machine, "--type=merge", "-p", change)
                report(self._cluster, machine, initialization={"provisioned": True})
        return len(found) == count


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.5)


def remains(cluster: Cluster) -> list[str]:
    """The names of the objects that belong to the cluster."""
    kinds = [f"{name}.{GROUP}" for name in ("clusters", "machines", "machinesets", "machinedeployments")]
    kinds += [f"{kind.lower()}s.{EXAMPLE}" for kind in KINDS]
    return cluster.kubectl("get", ",".join(kinds), "-o", "name").split()


@pytest.mark.parametrize("cluster", [options([CORE])], indirect=True, ids=["webhooks"])
def test_machines_join_are_scaled_and_are_deleted(cluster: Cluster, workload: Cluster) -> None:
    authority = Authority.create(datetime.now(UTC))
    install(cluster, CORE, authority)
    cluster.apply(*(DEFINITION.replace("KIND", each).replace("PLURAL", f"{each.lower()}s") for each in KINDS))
    for each in KINDS:
        cluster.wait(f"crd/{each.lower()}s.{EXAMPLE}", "condition=Established")
    with running(cluster, CORE, authority):
        cluster.apply(PROVIDED)
        cluster.eventually_apply(SHOP)
        with pytest.raises(AssertionError, match='"vlatest": must be a valid semantic version'):
            cluster.apply(WORKERS.replace("v1.36.0", "latest"))
        kubeconfig = f"--from-file=value={workload.server.kubeconfig}"
        cluster.kubectl("create", "secret", "generic", "shop-kubeconfig", "--type", f"{GROUP}/secret", kubeconfig)
        cluster.kubectl("label", "secret", "shop-kubeconfig", OF_THE_CLUSTER)
        report(cluster, "examplecluster/shop", initialization={"provisioned": True})
        managed = {"initialization": {"controlPlaneInitialized": True}, "externalManagedControlPlane": True}
        report(cluster, "examplecontrolplane/shop", **managed)
        cluster.wait("cluster/shop", "jsonpath={.status.phase}=Provisioned")
        cluster.apply(WORKERS)
        workload.apply(DRAINED)
        machines = Machines(cluster, workload)
        until(lambda: machines.provision(2))
        cluster.wait("machinedeployment/workers", "jsonpath={.status.availableReplicas}=2")
        cluster.wait("cluster/shop", "condition=Available")
        # The former version of a Machine refers to its objects with their versions.
        reference = "jsonpath={.items[*].spec.infrastructureRef.apiVersion}"
        older = cluster.kubectl("get", f"machines.v1beta1.{GROUP}", "-o", reference)
        assert older.split() == [f"{EXAMPLE}/v1"] * 2
        cluster.kubectl("scale", "machinedeployment/workers", "--replicas=3")
        until(lambda: machines.provision(3))
        cluster.wait("machinedeployment/workers", "jsonpath={.status.availableReplicas}=3")
        workload.wait("deployment/web", "jsonpath={.status.availableReplicas}=6")
        # Machines are deleted after their nodes are drained.
        cluster.kubectl("scale", "machinedeployment/workers", "--replicas=1")
        until(lambda: len(workload.kubectl("get", "nodes", "-o", "name").split()) == 1)
        cluster.wait("machinedeployment/workers", "jsonpath={.status.replicas}=1")
        workload.wait("deployment/web", "jsonpath={.status.availableReplicas}=6")
        cluster.kubectl("delete", "cluster", "shop", "--wait=false")
        cluster.wait("cluster/shop", "delete")
        until(lambda: remains(cluster) == [])
