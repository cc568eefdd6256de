"""The objects of a simulated node: the Node with its capacity and conditions, and its lease."""

from datetime import datetime
from ipaddress import IPv4Address, IPv4Network

from setpoint.objects.times import format_micro_time, format_time
from setpoint.objects.tree import Object
from setpoint.version import VERSION

NODE, LEASE, LEASE_NAMESPACE = "v1/Node", "coordination.k8s.io/v1/Lease", "kube-node-lease"
LEASE_SECONDS = 40
# The resources of a node, as of a node of KWOK.
CAPACITY = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
# Addresses of nodes are of the range for benchmarks, which no network routes; pods have the usual range of clusters.
_NODE_ADDRESSES = IPv4Network("198.18.0.0/15")
_POD_ADDRESSES = IPv4Network("10.224.0.0/11")
_POD_PREFIX = 24
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_name(number: int) -> str:
    """Returns the name of the node with a number, counted from 0."""
    return f"node-{number}"


def node_address(number: int) -> str:
    """Returns the address of a node."""
    return str(_NODE_ADDRESSES[number + 1])


def pod_network(number: int) -> IPv4Network:
    """Returns the range of the addresses of a node's pods."""
    first = int(_POD_ADDRESSES.network_address) + (number << (32 - _POD_PREFIX))
    return IPv4Network((IPv4Address(first), _POD_PREFIX))


def node(number: int) -> Object:
    """Returns a node without its status."""
    name, network = node_name(number), str(pod_network(number))
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
    }
    metadata = {"name": name, "labels": labels, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}}
    spec = {"podCIDR": network, "podCIDRs": [network], "providerID": f"setpoint://{name}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def node_status(number: int, now: datetime) -> Object:
    """Returns the status of a ready node."""
    moment, name = format_time(now), node_name(number)
    conditions = [
        _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", moment),
        *(_condition(kind, "False", reason, text, moment) for kind, reason, text in _PRESSURES),
    ]
    version = f"v1.37.0-setpoint-{VERSION}"
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": node_address(number)},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": f"setpoint://{VERSION}",
            "kernelVersion": "",
            "kubeProxyVersion": version,
            "kubeletVersion": version,
            "machineID": name,
            "operatingSystem": "linux",
            "osImage": "simulated",
            "systemUUID": "",
        },
    }


def _condition(kind: str, value: str, reason: str, message: str, moment: str) -> Object:
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }


def lease(name: str, now: datetime, owner: Object) -> Object:
    """Returns the lease of a node, which the node renews as a sign of life."""
    reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": owner["metadata"]["uid"]}
    metadata = {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [reference]}
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": format_micro_time(now)}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
