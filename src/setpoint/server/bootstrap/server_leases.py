"""The Leases of the servers that share a store: each server renews its own, and sees in them which others are alive.

They have the names and labels of kube-apiserver's identity Leases, and an annotation with the address. Clocks of
different machines are never compared: a server is dead when this one has seen no renewal for the duration of a Lease.
"""

import base64
import hashlib
from ipaddress import ip_address
from typing import NamedTuple

from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object, copy
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed, Item

DURATION_SECONDS, RENEWAL_SECONDS = 15, 5.0
# Other Leases of such names, which users with the right to create them have made, must not cost more than this.
_MOST_SERVERS = 100
NAMESPACE, LABELS = "kube-system", {"apiserver.kubernetes.io/identity": "kube-apiserver"}
ADDRESS = "setpoint.dev/address"


class _Seen(NamedTuple):
    """The last observed renewal of another server's Lease, and the time of that observation."""

    renewal: str
    at: float


class ServerLeases:
    """The Lease of one server at an address, and its view of the others'."""

    def __init__(self, services: Services, address: str, port: int) -> None:
        self._services = services
        self._place = f"{address} {port}"
        digest = hashlib.sha256(self._place.encode()).digest()
        self.name = f"apiserver-{base64.b32encode(digest).decode('ascii').lower()[:26]}"
        self._holder = f"{self.name}_{services.ids.uid()}"
        resource = services.registry.resource("coordination.k8s.io", "v1", "leases")
        assert resource is not None, "leases are not served"
        self._resource = resource
        self._key = resource.storage.key(NAMESPACE, self.name)
        self._seen: dict[str, _Seen] = {}
        self._renewed_at: float | None = None

    async def renew(self) -> None:
        """Renews the Lease of this server. Raises StoreError."""
        began = self._services.clock.monotonic()
        while True:
            item = await self._services.store.get(self._key)
            tree = self._lease() if item is None else self._renewed(item)
            try:
                expected = ABSENT if item is None else item.revision
                await self._services.commit(self._key, self._resource.encode(tree), expected, APISERVER)
            except ExpectationFailed:
                continue  # changed by a user, or removed by a server that saw no renewal
            break
        if self._renewed_at is not None and began - self._renewed_at > 2 * RENEWAL_SECONDS:
            # The store could not be reached, or this server was paused: the others have a whole duration again.
            self._seen.clear()
        self._renewed_at = began

    async def live(self) -> frozenset[tuple[str, int]]:
        """Returns the addresses and ports of the other live servers. Removes the Leases of dead ones. Raises
        StoreError."""
        found, seen = set(), {}
        now = self._services.clock.monotonic()
        prefix = self._resource.storage.key(NAMESPACE, "apiserver-")
        page = await self._services.store.range(prefix, limit=_MOST_SERVERS)
        for item in page.items:
            lease = self._resource.item(item)
            place = _place((lease["metadata"].get("annotations") or {}).get(ADDRESS, ""))
            if item.key == self._key or place is None:
                continue
            renewal = (lease.get("spec") or {}).get("renewTime") or ""
            before = self._seen.get(item.key)
            if before is None or before.renewal != renewal:
                before = _Seen(renewal, now)
            if now - before.at > DURATION_SECONDS:
                await self._remove(item)
                continue
            seen[item.key] = before
            found.add(place)
        self._seen = seen
        return frozenset(found)

    async def release(self) -> None:
        """Removes the Lease of this server. Raises StoreError."""
        item = await self._services.store.get(self._key)
        if item is not None and (self._resource.item(item).get("spec") or {}).get("holderIdentity") == self._holder:
            await self._remove(item)

    async def _remove(self, item: Item) -> None:
        try:
            await self._services.commit(item.key, None, item.revision, APISERVER)
        except ExpectationFailed:
            return  # renewed, or removed by another server

    def _lease(self) -> Object:
        metadata = {
            "name": self.name,
            "namespace": NAMESPACE,
            "labels": dict(LABELS),
            "annotations": {ADDRESS: self._place},
        }
        tree: Object = {"apiVersion": self._resource.api_version, "kind": "Lease", "metadata": metadata}
        tree["spec"] = self._spec()
        complete(self._services, self._resource, tree)
        return tree

    def _renewed(self, item: Item) -> Object:
        tree: Object = copy(self._resource.item(item))
        metadata = tree["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), **LABELS}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ADDRESS: self._place}
        tree["spec"] = self._spec()
        return tree

    def _spec(self) -> Object:
        return {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": format_micro_time(self._services.clock.now()),
        }


def _place(text: str) -> tuple[str, int] | None:
    """Returns the address and the port of an annotation; None for a Lease of another program."""
    address, _, port = text.partition(" ")
    try:
        return str(ip_address(address)), int(port)
    except ValueError:
        return None
