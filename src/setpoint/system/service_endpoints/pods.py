"""The pods of a Service: their selection, their addresses and ports. Pure functions of the objects, apart from the
lookup in the shared cache."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.objects.tree import Object
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.selection import pods_with_label
from setpoint.system.pods.state import ENDED, phase_of
from setpoint.system.turns import in_turns

SERVICE = "v1/Service"
HEADLESS_LABEL = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
IPV4, IPV6 = "IPv4", "IPv6"
_NO_ADDRESS = "None"


def is_managed(service: Object) -> bool:
    """Returns True for a Service with a selector: endpoints of other Services are given by users."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def has_address(service: Object) -> bool:
    """Returns True for a Service with a cluster IP: the Service is not headless."""
    return service["spec"].get("clusterIP") not in (None, "", _NO_ADDRESS)


def selects(selector: Object, labels: Object | None) -> bool:
    """Returns True if all labels of a selector are set."""
    found = labels or {}
    return all(found.get(name) == value for name, value in selector.items())


async def pods_of(ctx: Context[Any], service: Object) -> list[Object]:
    """Returns the pods that a Service selects, in order of their names. The index has the first label of the
    selector."""
    selector, namespace = service["spec"]["selector"], service["metadata"]["namespace"]
    name, value = next(iter(selector.items()))
    entries = await pods_with_label(ctx, namespace, name, value)
    chosen = [each async for each in in_turns(ctx, entries) if selects(selector, each.meta.labels)]
    chosen.sort(key=lambda each: each.meta.name)
    return [each.object async for each in in_turns(ctx, chosen)]


def is_endpoint(pod: Object, *, include_terminating: bool) -> bool:
    """Returns True for a pod with an address that has not ended."""
    status = pod.get("status") or {}
    if phase_of(pod) in ENDED or not (status.get("podIP") or status.get("podIPs")):
        return False
    return include_terminating or not pod["metadata"].get("deletionTimestamp")


def parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Returns an address, also one with leading zeros as old clients write; None for an invalid text."""
    try:
        return ip_address(text)
    except ValueError:
        pass
    parts = text.split(".")
    if len(parts) == 4 and all(part.isascii() and part.isdecimal() for part in parts):
        try:
            return ip_address(".".join(str(int(part)) for part in parts))
        except ValueError:
            return None
    return None


def family_of(text: str) -> str:
    """Returns the family of an address; IPv4 for an invalid one."""
    found = parsed(text)
    return IPV6 if found is not None and found.version == 6 else IPV4


def addresses_of(pod: Object, family: str) -> list[str]:
    """Returns the addresses of a pod of one family."""
    given = [each.get("ip") or "" for each in (pod.get("status") or {}).get("podIPs") or ()]
    found = [address for text in given if (address := parsed(text)) is not None]
    return [str(each) for each in found if (IPV6 if each.version == 6 else IPV4) == family]


def families_of(service: Object) -> Sequence[str]:
    """Returns the address families of a Service."""
    spec = service["spec"]
    if spec.get("ipFamilies"):
        return list(spec["ipFamilies"])
    return [family_of(spec["clusterIP"])] if has_address(service) else [IPV4, IPV6]


def port_of(pod: Object, service_port: Object) -> int | None:
    """Returns the port of a pod for a port of a Service: a number as given, a name as in the containers of the pod and
    in its sidecars; None if no container has that name."""
    target, protocol = service_port.get("targetPort"), service_port.get("protocol", "TCP")
    if not isinstance(target, str):
        return int(target or service_port["port"])
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == target and port.get("protocol", "TCP") == protocol:
                return int(port["containerPort"])
    return None


def ports_of(service: Object, pod: Object) -> list[Object]:
    """Returns the ports of a pod as an endpoint. Ports without a container are left out."""
    ports = []
    for each in service["spec"].get("ports") or ():
        number = port_of(pod, each)
        if number is None:
            continue
        port: Object = {"name": each.get("name", ""), "port": number, "protocol": each.get("protocol", "TCP")}
        if each.get("appProtocol") is not None:
            port["appProtocol"] = each["appProtocol"]
        ports.append(port)
    return ports


def hostname_of(pod: Object, service: Object) -> str | None:
    """Returns the host name of a pod below the Service that its subdomain names; None without one."""
    spec = pod["spec"]
    name: str | None = spec.get("hostname") or None
    return name if spec.get("subdomain") == service["metadata"]["name"] else None


def reference_to(pod: Object) -> Object:
    """Returns the reference of an endpoint to its pod."""
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}


def _endpoint_facts(pod: CachedObject[Any]) -> tuple[Any, ...]:
    """Returns the fields of a pod that endpoints depend on."""
    meta, facts = pod.meta, facts_of(pod)
    return (
        meta.labels,
        meta.deletion_timestamp,
        facts.hostname,
        facts.subdomain,
        facts.node,
        facts.addresses,
        facts.has_ended,
        facts.is_ready,
    )


def _changes_endpoints(change: Change[Any]) -> bool:
    if change.old is None or change.new is None:
        return True
    return _endpoint_facts(change.old) != _endpoint_facts(change.new)


changes_endpoints = Predicate(_changes_endpoints, "changes endpoints")


class ByPod:
    """Maps a pod to the Services that select the pod."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._service = kind_of(SERVICE)

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        namespace, labels = entry.meta.namespace, entry.meta.labels
        services = self._cache.informer(self._service).store.in_namespace(namespace)
        return [
            Request(each.meta.name, namespace)
            for each in services
            if is_managed(each.object) and selects(each.object["spec"]["selector"], labels)
        ]
