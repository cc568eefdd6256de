"""Where the API server is, as the cluster tells it: the Endpoints and the EndpointSlice of the Service `kubernetes`.

They are written when the server listens, put right where an earlier one left them wrong, and taken back when it ends.
Servers over one store stand in them side by side, as long as their port is the same; otherwise the last one counts, as
on the real server. They are stored without being judged: a server that only this machine can reach is told as what it
is, though nobody else may write a loopback address.
"""

import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import ClassVar

from setpoint.objects.tree import Object
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

_NAME, _NAMESPACE = "kubernetes", "default"
# Nothing is sent there: an address of the documentation's, for which the system says whence it would send.
_ELSEWHERE = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}
_ATTEMPTS = 10


def address_of(host: str) -> str:
    """The address that others find a server at that listens at a host: for one that listens at every address, the one
    that this machine has in its network; the host itself where that cannot be known."""
    if host not in _ELSEWHERE:
        return host
    family, elsewhere = _ELSEWHERE[host]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1" if family == socket.AF_INET else "::1"


async def advertise(services: Services, address: str, port: int) -> None:
    """Says that a server is here. Those of others stay only where others may be: over a store that is shared."""
    for form in (_Endpoints(port), _Slice(port, f"IPv{ip_address(address).version}")):
        await _write(services, form, lambda told: {*told, address} if services.views.shared else {address})


async def withdraw(services: Services, address: str, port: int) -> None:
    """Says that this server is no longer here."""
    for form in (_Endpoints(port), _Slice(port, f"IPv{ip_address(address).version}")):
        await _write(services, form, lambda told: told - {address})


class _Endpoints:
    """Endpoints that tell of servers at a port."""

    group, plural, kind = "", "endpoints", "Endpoints"
    labels: ClassVar[Object] = {"endpointslice.kubernetes.io/skip-mirror": "true"}

    def __init__(self, port: int) -> None:
        self.ports: list[Object] = [{"name": "https", "port": port, "protocol": "TCP"}]

    def addresses(self, tree: Object) -> set[str]:
        """The servers at the port that an object tells of."""
        found = [subset for subset in tree.get("subsets") or () if subset.get("ports") == self.ports]
        return {each["ip"] for subset in found for each in subset.get("addresses") or ()}

    def body(self, addresses: Sequence[str]) -> Object:
        """What an object says that tells of them, beside its metadata."""
        return {"subsets": [{"addresses": [{"ip": each} for each in addresses], "ports": self.ports}]}


class _Slice(_Endpoints):
    """An EndpointSlice of one family of addresses that does."""

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
    """Has an object tell of the servers that are there by now; without any it goes."""
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
            return  # there is none, or it tells of others at another port
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
            continue  # another server over the same store writes as well
        return


def _keep_identity(metadata: Object, before: Object) -> None:
    """An object stays the one it was, whatever it says now."""
    metadata["uid"], metadata["creationTimestamp"] = before["uid"], before["creationTimestamp"]
    if "generation" in metadata:
        metadata["generation"] = before.get("generation", 0) + 1
