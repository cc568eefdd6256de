"""Properties of a Service that follow from its spec."""

from setpoint.objects.tree import Object


def is_exposed(spec: Object) -> bool:
    """Returns True if external traffic can reach the Service."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def is_internal(spec: Object) -> bool:
    """Returns True if clients in the cluster reach the Service at an address or at its pods, not by another name."""
    return spec.get("type") != "ExternalName"


def needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def needs_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def is_headless(spec: Object) -> bool:
    return spec.get("clusterIPs") == ["None"]


def ingresses(tree: Object) -> list[Object]:
    return ((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def is_balanced(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer"
