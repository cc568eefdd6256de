"""A Service as a row of a table."""

from datetime import datetime

from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import NONE, UNKNOWN, field, label_text
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.strategy import Column

_PENDING = "<pending>"


def _cluster_ip(tree: Object, _now: datetime) -> Json:
    addresses = (tree.get("spec") or {}).get("clusterIPs") or [NONE]
    return addresses[0]


def _external_ip(tree: Object, _now: datetime) -> Json:
    spec = tree.get("spec") or {}
    kind, addresses = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(addresses) or NONE
    if kind == "ExternalName":
        return spec.get("externalName") or ""
    if kind == "LoadBalancer":
        ingresses = ((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        found = sorted({ingress.get("ip") or ingress.get("hostname") or "" for ingress in ingresses} - {""})
        return ",".join([*found, *addresses]) or _PENDING
    return UNKNOWN


def _ports(tree: Object, _now: datetime) -> Json:
    shown = []
    for port in (tree.get("spec") or {}).get("ports") or ():
        number, node_port = port.get("port", 0), port.get("nodePort", 0)
        shown.append(
            f"{number}:{node_port}/{port.get('protocol')}" if node_port else f"{number}/{port.get('protocol')}"
        )
    return ",".join(shown) or NONE


def _selector(tree: Object, _now: datetime) -> Json:
    return label_text((tree.get("spec") or {}).get("selector"))


COLUMNS = (
    NAME,
    Column("Type", field("spec", "type")),
    Column("Cluster-IP", _cluster_ip),
    Column("External-IP", _external_ip),
    Column("Port(s)", _ports),
    AGE,
    Column("Selector", _selector, priority=1),
)
