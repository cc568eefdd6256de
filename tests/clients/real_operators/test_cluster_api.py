"""Cluster API: a cluster of a class becomes available on the in-memory backend of the provider for tests, is scaled,
and is deleted without remains.

The provider also listens at port 19000, and serves the first cluster's API at port 20000.
"""

import json
import re
import time
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest
from tests.clients.real_operators.cluster_api import CORE, GROUP, MANIFESTS, Manager, install, options, running
from tests.clients.real_operators.conftest import Cluster
from tests.clients.real_operators.programs import source
from tests.oracle.programs import free_port

from setpoint.server.edge.certificates import Authority

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]

SECONDS = 110
OF_THE_CLUSTER = f"{GROUP}/cluster-name=shop"
DOCKER = source("cluster-api") / "infrastructure" / "docker"
MANAGERS = [
    CORE,
    Manager("bootstrap", MANIFESTS / "bootstrap" / "kubeadm", "capi-kubeadm-bootstrap", free_port()),
    Manager("control-plane", MANIFESTS / "controlplane" / "kubeadm", "capi-kubeadm-control-plane", free_port()),
    Manager("infrastructure", DOCKER, "capd", free_port()),
]
# The provider's pod is privileged, which servers with the defaults of kube-apiserver refuse.
OPTIONS = ["--disable-admission-plugins", "DenyPrivilegedContainers", *options(MANAGERS)]
SHOP = f"""
apiVersion: {GROUP}/v1beta2
kind: Cluster
metadata: {{name: shop, namespace: default}}
spec:
  clusterNetwork:
    services: {{cidrBlocks: [10.128.0.0/12]}}
    pods: {{cidrBlocks: [192.168.0.0/16]}}
    serviceDomain: cluster.local
  topology:
    classRef: {{name: in-memory}}
    version: v1.36.0
    controlPlane: {{replicas: 1}}
    workers:
      machineDeployments: [{{class: default-worker, name: md-0, replicas: 2}}]
"""


def remains(cluster: Cluster) -> list[str]:
    """The names of the objects that belong to the cluster."""
    kinds = [
        f"clusters.{GROUP}",
        f"machines.{GROUP}",
        f"machinesets.{GROUP}",
        f"machinedeployments.{GROUP}",
        f"machinehealthchecks.{GROUP}",
        f"kubeadmcontrolplanes.controlplane.{GROUP}",
        f"kubeadmconfigs.bootstrap.{GROUP}",
        f"kubeadmconfigtemplates.bootstrap.{GROUP}",
        f"devclusters.infrastructure.{GROUP}",
        f"devmachines.infrastructure.{GROUP}",
        f"devmachinetemplates.infrastructure.{GROUP}",
        "secrets",
    ]
    return cluster.kubectl("get", ",".join(kinds), "-l", OF_THE_CLUSTER, "-o", "name").split()


def scale(cluster: Cluster, what: str, replicas: int) -> None:
    change = [{"op": "replace", "path": f"/spec/topology/{what}/replicas", "value": replicas}]
    cluster.kubectl("patch", "cluster", "shop", "--type=json", "-p", json.dumps(change))


def wait_until_available(cluster: Cluster, machines: int, workers: int) -> None:
    for what, count in (("controlPlane", machines), ("workers", workers)):
        cluster.wait("cluster/shop", f"jsonpath={{.status.{what}.availableReplicas}}={count}", seconds=SECONDS)
    cluster.wait("cluster/shop", "condition=Available", seconds=SECONDS)


@pytest.mark.parametrize("cluster", [OPTIONS], indirect=True, ids=["webhooks"])
def test_a_cluster_becomes_available_is_scaled_and_is_deleted(cluster: Cluster) -> None:
    authority = Authority.create(datetime.now(UTC))
    for each in MANAGERS:
        install(cluster, each, authority)
    template = (DOCKER / "templates" / "clusterclass-in-memory.yaml").read_text()
    quick = re.sub(r'startupDuration: ".*"', 'startupDuration: "100ms"', template)
    with ExitStack() as programs:
        for each in MANAGERS:
            gates = () if each.command == "bootstrap" else ("--feature-gates=ClusterTopology=true",)
            programs.enter_context(running(cluster, each, authority, *gates))
        cluster.eventually_apply(quick)
        assert remains(cluster) == []
        with pytest.raises(AssertionError, match='"vlatest": version must be a valid semantic version'):
            cluster.apply(SHOP.replace("v1.36.0", "latest"))
        cluster.eventually_apply(SHOP)
        cluster.wait("cluster/shop", "jsonpath={.status.phase}=Provisioned", seconds=SECONDS)
        wait_until_available(cluster, 1, 2)
        # The former version of a Cluster names the class elsewhere.
        older = cluster.kubectl("get", f"clusters.v1beta1.{GROUP}", "shop", "-o", "jsonpath={.spec.topology.class}")
        assert older == "in-memory"
        scale(cluster, "controlPlane", 3)
        scale(cluster, "workers/machineDeployments/0", 3)
        wait_until_available(cluster, 3, 3)
        names = cluster.kubectl("get", f"machines.{GROUP}", "-l", OF_THE_CLUSTER, "-o", "name").split()
        assert len(names) == 6
        scale(cluster, "workers/machineDeployments/0", 1)
        wait_until_available(cluster, 3, 1)
        cluster.kubectl("delete", "cluster", "shop", "--wait=false")
        cluster.wait("cluster/shop", "delete", seconds=SECONDS)
        end = time.monotonic() + SECONDS
        while left := remains(cluster):
            assert time.monotonic() < end, left
            time.sleep(0.5)
