"""The Endpoints and the EndpointSlice of the Service `kubernetes`, which publish the address of the API server, and the
target port of the Service.

They are written when the server listens, corrected if an earlier server left stale ones, and withdrawn at shutdown.
Servers with the same store and port are listed together, as long as their Leases are renewed (`server_leases`); with
different ports the last server replaces the others, as in kube-apiserver. The objects are stored without validation,
because a local server publishes a loopback address, which validation would refuse.
"""

import socket
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_address
from typing import ClassVar

from setpoint.objects.tree import Object, copy
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

_NAME, _NAMESPACE = "kubernetes", "default"
# Documentation addresses. No packet is sent: the system only reports the source address for this destination.
_ELSEWHERE = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}
_ATTEMPTS = 10
_SERVICE_PORT = 443


def address_of(host: str) -> str:
    """Returns the address at which clients reach a server that listens on a host. For a wildcard host this is the
    machine's address in its network, or the loopback address if unknown."""
    if host not in _ELSEWHERE:
        return host
    family, elsewhere = _ELSEWHERE[host]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1" if family == socket.AF_INET else "::1"


async def advertise(services: Services, address: str, port: int, others: Collection[str] | None = None) -> None:
    """Publishes the server's address, and those of other servers at the same port. Without `others`, the published
    ones are kept if the store is shared."""
    family = ip_address(address).version

    def among(told: set[str]) -> set[str]:
        if others is not None:
            return {address, *(each for each in others if ip_address(each).version == family)}
        return {*told, address} if services.views.shared else {address}

    for form in (_Endpoints(port), _Slice(port, f"IPv{family}")):
        await _write(services, form, among)
    await _set_target_port(services, port)


async def withdraw(services: Services, address: str, port: int) -> None:
    """Removes the server's address."""
    for form in (_Endpoints(port), _Slice(port, f"IPv{ip_address(address).version}")):
        await _write(services, form, lambda told: told - {address})


async def _set_target_port(services: Services, port: int) -> None:
    """Sets the target port of the Service to the port of the server."""
    resource = services.registry.resource("", "v1", "services")
    assert resource is not None, "services are not served"
    key = resource.storage.key(_NAMESPACE, _NAME)
    for _ in range(_ATTEMPTS):
        item = await services.store.get(key)
        if item is None:
            return  # a user deleted the Service
        tree = copy(resource.item(item))
        own = [each for each in tree["spec"].get("ports") or () if each.get("port") == _SERVICE_PORT]
        if all(each.get("targetPort") == port for each in own):
            return
        for each in own:
            each["targetPort"] = port
        try:
            await services.commit(key, resource.encode(tree), item.revision, APISERVER)
        except ExpectationFailed:
            continue  # concurrent write by another server with the same store
        return


class _Endpoints:
    """The Endpoints object for servers at a port."""

    group, plural, kind = "", "endpoints", "Endpoints"
    labels: ClassVar[Object] = {"endpointslice.kubernetes.io/skip-mirror": "true"}

    def __init__(self, port: int) -> None:
        self.ports: list[Object] = [{"name": "https", "port": port, "protocol": "TCP"}]

    def addresses(self, tree: Object) -> set[str]:
        """Returns the addresses of the servers at this port in an object."""
        found = [subset for subset in tree.get("subsets") or () if subset.get("ports") == self.ports]
        return {each["ip"] for subset in found for each in subset.get("addresses") or ()}

    def body(self, addresses: Sequence[str]) -> Object:
        """Returns the object's fields for these addresses, without metadata."""
        return {"subsets": [{"addresses": [{"ip": each} for each in addresses], "ports": self.ports}]}


class _Slice(_Endpoints):
    """The EndpointSlice for one address family."""

    group, plural, kind = "discovery.k8s.io", "endpointslices", "EndpointSlice"
    labels: ClassVar[Object] = {"kubernetes.io/service-name": _NAME}

    def __init__(self, port: int, family: str) -> None:
        super().__init__(port)
        self.family = family

    def addresses(self, tree: Object) -> set[str]:
        if tree.get("ports") != self.ports or tree.get("addressType") != self.family:
            return set()
        return {address for each in tree.get("endpoints") or () for address in each["addresses"]}

    def body(self, addresses: Sequence[str]) -> Object:
        endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
        return {"addressType": self.family, "endpoints": endpoints, "ports": self.ports}


async def _write(services: Services, form: _Endpoints, among: Callable[[set[str]], set[str]]) -> None:
    """Writes the object with the resulting addresses, or deletes the object if none remain."""
    resource = services.registry.resource(form.group, "v1", form.plural)
    assert resource is not None, f"{form.plural} are not served"
    key = resource.storage.key(_NAMESPACE, _NAME)
    for _ in range(_ATTEMPTS):
        item = await services.store.get(key)
        old = resource.item(item) if item is not None else None
        told = form.addresses(old) if old is not None else set()
        addresses = sorted(among(told))
        body = form.body(addresses)
        if old is not None and {name: old.get(name) for name in body} == body:
            return
        if not addresses and not told:
            return  # no object, or an object for another port
        value = None
        if addresses:
            metadata = {"name": _NAME, "namespace": _NAMESPACE, "labels": dict(form.labels)}
            tree = {"apiVersion": resource.api_version, "kind": form.kind, "metadata": metadata, **body}
            complete(services, resource, tree)
            if old is not None:
                _keep_identity(metadata, old["metadata"])
            value = resource.encode(tree)
        try:
            await services.commit(key, value, ABSENT if item is None else item.revision, APISERVER)
        except ExpectationFailed:
            continue  # concurrent write by another server with the same store
        return


def _keep_identity(metadata: Object, before: Object) -> None:
    """Keeps the UID and creation time of the existing object, and increments its generation."""
    metadata["uid"], metadata["creationTimestamp"] = before["uid"], before["creationTimestamp"]
    if "generation" in metadata:
        metadata["generation"] = before.get("generation", 0) + 1
