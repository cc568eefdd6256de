"""The IPAddress objects of Services: one for each allocated cluster IP.

A write of a Service and the writes of its IPAddresses are one transaction, so that the two never disagree.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, Protocol

from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.server_fields import managed, map_fields
from setpoint.store.contract import ANY, Store, Write

_GROUP, _VERSION, _PLURAL = "networking.k8s.io", "v1", "ipaddresses"
_FAMILY, _MANAGED_BY = "ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR: Final = "ipallocator.k8s.io"
# The number of objects per transaction: etcd allows 128 operations, and a write may need two.
_TOGETHER = 50


class ServiceServer(Protocol):
    """The server whose Services have addresses."""

    store: Store
    clock: Clock
    ids: Ids
    registry: Registry

    async def transact(self, writes: Sequence[Write], actor: Actor) -> int: ...


def cluster_ips(service: Object | None) -> list[str]:
    """Returns the allocated addresses of a Service."""
    addresses = ((service or {}).get("spec") or {}).get("clusterIPs") or ()
    return [str(ip_address(text)) for text in addresses if text not in ("", "None")]


def is_allocated(address: Object) -> bool:
    """Returns True if an IPAddress belongs to an allocated address of a Service, and False if a user reserved it."""
    return ((address.get("metadata") or {}).get("labels") or {}).get(_MANAGED_BY) == _ALLOCATOR


def address_writes(server: ServiceServer, old: Object | None, new: Object | None) -> list[Write]:
    """Returns the writes of IPAddresses that belong to a write of a Service; `old` is None for a new Service, `new` for
    a deleted one."""
    before, after = cluster_ips(old), cluster_ips(new)
    if before == after or (service := new or old) is None:
        return []
    resource = _resource(server.registry)
    writes = [Write(resource.storage.key("", text), None, ANY) for text in before if text not in after]
    return writes + [_create(server, resource, text, service) for text in after if text not in before]


async def adopt_addresses(server: ServiceServer, actor: Actor) -> None:
    """Creates the missing IPAddresses of all Services."""
    resource, services = _resource(server.registry), server.registry.resource("", "v1", "services")
    assert services is not None, "services are not served"
    there = {item.key for item in (await server.store.range(resource.storage.prefix)).items}
    writes = []
    for item in (await server.store.range(services.storage.prefix)).items:
        service = services.item(item)
        missing = [text for text in cluster_ips(service) if resource.storage.key("", text) not in there]
        writes += [_create(server, resource, text, service) for text in missing]
    for start in range(0, len(writes), _TOGETHER):
        await server.transact(writes[start : start + _TOGETHER], actor)


def _create(server: ServiceServer, resource: Resource, text: str, service: Object) -> Write:
    version = f"{_GROUP}/{_VERSION}"
    parent = {"resource": "services", "namespace": meta.namespace(service), "name": meta.name(service)}
    owned: Object = {
        "f:metadata": {"f:labels": map_fields(_FAMILY, _MANAGED_BY)},
        "f:spec": {"f:parentRef": map_fields("name", "namespace", "resource")},
    }
    metadata: Object = {
        "name": text,
        "labels": {_FAMILY: f"IPv{ip_address(text).version}", _MANAGED_BY: _ALLOCATOR},
        "managedFields": [managed(version, owned, server.clock.now())],
    }
    meta.fill_system_fields(metadata, server.clock, server.ids)
    tree = {"apiVersion": version, "kind": "IPAddress", "metadata": metadata, "spec": {"parentRef": parent}}
    return Write(resource.storage.key("", text), resource.encode(tree), ANY)


def _resource(registry: Registry) -> Resource:
    found = registry.resource(_GROUP, _VERSION, _PLURAL)
    assert found is not None, f"{_PLURAL} are not served"
    return found
