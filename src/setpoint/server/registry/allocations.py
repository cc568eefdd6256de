"""Allocates unique cluster IPs and node ports to Services, also under concurrent writes.

The allocations of all Services are kept in a live view, so a write need not read the other Services; values that a
write has reserved are unavailable to others until that write is done. If several servers write to the same store, each
announces its reservations in one shared key before the write: a server that finds the key changed reads the changes of
the others and allocates again.
"""

from ipaddress import ip_address
from typing import NamedTuple, Protocol

import msgspec

from setpoint.objects import conditions, meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Conflict
from setpoint.objects.field import FieldError
from setpoint.objects.ids import Ids
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.indexes import Views
from setpoint.server.registry.ip_addresses import is_allocated
from setpoint.server.registry.kinds.core.service.allocator import NOTHING, Claims, Holdings, Pool, claims_of
from setpoint.server.registry.resource import Resource
from setpoint.store.contract import ABSENT, Expect, ExpectationFailed, Item, Store

_SHARED_KEY = "/allocations/services"
_ATTEMPTS = 100
# The seconds after which the announcement of another server expires, because that server may have crashed.
_PATIENCE = 300.0


class _Promise(NamedTuple):
    """The announced allocations of a server for one Service."""

    server: str
    key: str
    until: float
    addresses: list[int]
    ports: list[int]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[_Promise]).decode


class AllocationServices(Protocol):
    """The server whose Services get addresses."""

    store: Store
    clock: Clock
    ids: Ids
    service_cidr: str
    views: Views

    async def commit(self, key: str, value: bytes | None, expect: Expect, actor: Actor, cause: Cause | None) -> int: ...


class Recipient(Protocol):
    """The request that writes a Service."""

    pool: Pool | None

    @property
    def cause(self) -> Cause: ...

    def actor(self) -> Actor: ...

    def release(self) -> None: ...


class Allocations:
    """The allocated and reserved addresses and ports of the Services of one server."""

    def __init__(self, services: AllocationServices) -> None:
        self._services = services
        self._holdings = Holdings(services.service_cidr)
        self._view = services.views.of("", "v1", "services", claims_of, self._holdings.changed)
        # A user may reserve an address with an IPAddress; those of Services are held by the Services themselves.
        self._reserved = services.views.of(
            "networking.k8s.io", "v1", "ipaddresses", _reservation, self._holdings.changed
        )
        self._ranges = services.views.of(
            "networking.k8s.io", "v1", "servicecidrs", ready_ranges, self._holdings.ranges_changed
        )
        # The name of this server for the others; its announcements; and the revision of the shared key at the last
        # read.
        self._name = ""
        self._promised: dict[Pool, _Promise] = {}
        self._announced: int | None = None

    async def allocate(
        self, context: Recipient, resource: Resource, tree: Object, old: Object | None, *, dry_run: bool
    ) -> list[FieldError]:
        """Allocates the values of an object, in place, and reserves them for the request until `release`. Returns the
        errors of values that are not available."""
        key = resource.storage.key(meta.namespace(tree), meta.name(tree))
        for view in (self._view, self._reserved, self._ranges):
            await view.current()
        if self._services.views.shared and not dry_run:
            return await self._allocate_shared(context, resource, tree, old, key)
        if dry_run:
            context.release()
            context.pool = self._holdings.dry_pool(key)
            return resource.strategy.allocate(tree, old, context.pool)
        return resource.strategy.allocate(tree, old, self._open(context, key))

    def _open(self, context: Recipient, key: str, promised: Claims = NOTHING) -> Pool:
        """Opens a new pool for a request and releases the previous one."""
        context.release()
        context.pool = self._holdings.pool(key, promised)
        return context.pool

    async def _allocate_shared(
        self, context: Recipient, resource: Resource, tree: Object, old: Object | None, key: str
    ) -> list[FieldError]:
        services = self._services
        self._name = self._name or services.ids.uid()
        item = await services.store.get(_SHARED_KEY)
        for _ in range(_ATTEMPTS):
            others = await self._read_announcements(item)
            trial = copy(tree)
            pool = self._open(context, key, _claims(others, key))
            if errors := resource.strategy.allocate(trial, old, pool):
                return errors
            if pool.has_reservations:
                until = services.clock.now().timestamp() + _PATIENCE
                self._promised = {pool: promise for pool, promise in self._promised.items() if pool.is_open}
                self._promised[pool] = _Promise(self._name, key, until, *map(list, pool.claims))
                value, expect = _encode([*others, *self._promised.values()]), item.revision if item else ABSENT
                try:
                    revision = await services.commit(_SHARED_KEY, value, expect, context.actor(), context.cause)
                except ExpectationFailed as failed:
                    item = failed.actual
                    continue
                self._announced = revision
            tree.update(trial)
            return []
        raise Conflict("too many concurrent allocations of addresses and ports by other servers; please try again")

    async def _read_announcements(self, item: Item | None) -> list[_Promise]:
        """Returns the announcements of other servers. Their committed allocations are in the view afterwards."""
        revision = item.revision if item else ABSENT
        if revision != self._announced:
            for view in (self._view, self._reserved, self._ranges):
                await view.read()
            self._announced = revision
        now = self._services.clock.now().timestamp()
        promises = _decode(item.value) if item else []
        return [promise for promise in promises if promise.server != self._name and promise.until > now]


def _reservation(address: Object) -> Claims:
    """Returns the claims of an IPAddress that a user created."""
    return NOTHING if is_allocated(address) else Claims([int(ip_address(meta.name(address)))], [])


def ready_ranges(service_cidr: Object) -> list[str]:
    """Returns the ranges of a ServiceCIDR from which Services may get addresses; none if the condition `Ready` is
    false. A ServiceCIDR without the condition is ready, because the controller that writes the condition may not
    run."""
    if meta.is_being_deleted(service_cidr):
        return []
    ready = conditions.find((service_cidr.get("status") or {}).get("conditions") or [], "Ready")
    ranges: list[str] = service_cidr["spec"]["cidrs"]
    return ranges if ready is None or ready.get("status") == "True" else []


def _claims(promises: list[_Promise], key: str) -> Claims:
    """Returns the values that are announced for Services other than the one with this key."""
    found = [promise for promise in promises if promise.key != key]
    return Claims(
        [number for promise in found for number in promise.addresses],
        [number for promise in found for number in promise.ports],
    )
