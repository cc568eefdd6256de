"""The quota ledger: the resource usage of each namespace, exact at every revision.

An object and its charge are one transaction: the object is written together with the new `status.used` of every quota
that counts the object, with the expected revision of each quota. So a failed write needs no refund, a crash loses no
charge, and several servers with one store cannot spend the same amount twice: the second server finds the quota
changed, reads the quota again and decides anew. Writes of one server in one namespace are serialized to avoid such
conflicts.

A new or changed quota is counted before the first charge, and at the latest one second after its write. Without quotas
there is no cost.

Objects that the server maintains for itself, and direct writes to the store, are not charged. Therefore all usage is
recounted periodically (`recount_all`), and each quota is recounted when written.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from setpoint.objects.errors import Conflict, Forbidden
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.bootstrap.system_objects import APISERVER
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.quota.amounts import difference
from setpoint.server.quota.evaluators import Evaluator, evaluator_of
from setpoint.server.quota.quotas import Quota, increases, read_quota
from setpoint.server.quota.recount import is_complete, recount
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services
from setpoint.store.contract import ExpectationFailed, Item, StoreError, Write

# The delay in seconds until a written quota is counted, unless charged earlier.
_SETTLES_AFTER = 1.0
_ATTEMPTS = 100
_log = logging.getLogger(__name__)


class _Change(NamedTuple):
    """The change of one object by a write; `is_judged` if quotas may refuse the write."""

    resource: Resource
    evaluator: Evaluator
    namespace: str
    name: str
    old: Object | None
    new: Object | None
    is_judged: bool


class Ledger:
    """The quota ledger of one server. Also a reaction to writes of quotas. With `enforced`, writes may be refused;
    otherwise they are only counted. Without `counts_written`, a quota is counted with its first charge."""

    def __init__(self, services: Services, *, enforced: bool = True, counts_written: bool = True) -> None:
        self._services = services
        self._counts_written = counts_written
        self._enforced = enforced
        self.quotas = Lookup("", "v1", "resourcequotas", read_quota, self._on_quota)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._unsettled: set[tuple[str, str]] = set()
        self._recounting: asyncio.Task[None] | None = None

    # --- checks ---

    async def check(self, operation: Operation) -> None:
        """Refuses a write that exceeds a quota, as far as known before the commit. Raises Forbidden."""
        new, old = operation.object, operation.old
        quotas = await self.quotas.all(self._services, operation.namespace)
        evaluator = evaluator_of(operation.resource) if quotas else None
        if evaluator is None or new is None:
            return
        if evaluator.is_judged(operation.verb, operation.subresource, new, old):
            change = _Change(operation.resource, evaluator, operation.namespace, operation.name, old, new, True)
            await self._charged(quotas, change)

    async def _charged(self, quotas: Mapping[str, Quota], change: _Change) -> list[tuple[Quota, Quota]]:
        """Returns the charged quotas, each before and after the change. Raises Forbidden with all exceeded quotas if
        the change may be refused."""
        problems: list[str] = []
        charged = [(quota, await self._charge(quota, change, problems)) for _, quota in sorted(quotas.items())]
        if problems:
            raise Forbidden.of(change.resource.group_resource, change.name, "; ".join(problems))
        return [(before, after) for before, after in charged if after is not before]

    async def _charge(self, quota: Quota, change: _Change, problems: list[str]) -> Quota:
        evaluator, new = change.evaluator, change.new
        names = quota.names(evaluator)
        if not names:
            return quota
        is_judged = change.is_judged and new is not None and quota.is_about(evaluator, new)
        if is_judged and new is not None and (missing := evaluator.missing(names, new)):
            problems.append(f"failed quota: {quota.name}: {missing}")
        delta = difference(quota.usage(evaluator, new), quota.usage(evaluator, change.old))
        if not delta:
            return quota
        if not is_complete(self._services.registry, quota):
            quota = await recount(self._services, change.namespace, quota)
        if is_judged and (excess := quota.excess(increases(delta))):
            problems.append(excess)
        return quota.charged(delta)

    # --- commits ---

    async def commit(
        self,
        resource: Resource,
        write: Write,
        actor: Actor,
        cause: Cause | None,
        *,
        item: Item | None,
        new: Object | None,
        subresource: str = "",
        also: Sequence[Write] = (),
    ) -> int:
        """Commits a write together with its charges, and with the writes in `also`; see `Services.persist`."""
        namespace, _, name = write.key[len(resource.storage.prefix) :].partition("/")
        if await self.quotas.all(self._services, namespace):
            evaluator = evaluator_of(resource)
            if evaluator is not None and not (evaluator.is_plain and item is not None and new is not None):
                old = None if item is None else await resource.decoded(item)
                verb = CREATE if item is None else UPDATE
                is_judged = new is not None and self._enforced and evaluator.is_judged(verb, subresource, new, old)
                change = _Change(resource, evaluator, namespace, name, old, new, is_judged)
                async with self._lock(namespace):
                    return await self._commit(change, write, actor, cause, also)
        if also:
            return await self._services.transact([write, *also], actor, cause)
        return await self._services.commit(write.key, write.value, write.expect, actor, cause, write.ttl)

    async def _commit(
        self, change: _Change, write: Write, actor: Actor, cause: Cause | None, also: Sequence[Write]
    ) -> int:
        services, namespace, resource = self._services, change.namespace, self._resource()
        for _ in range(_ATTEMPTS):
            writes = [write, *also]
            for before, after in await self._charged(await self.quotas.all(services, namespace), change):
                key = resource.storage.key(namespace, after.name)
                if key != write.key:
                    writes.append(Write(key, self._encoded(resource, after), before.revision))
            try:
                return await services.transact(writes, actor, cause)
            except ExpectationFailed as failed:
                if failed.key == write.key:
                    raise
                await self._refresh(failed.key)
        raise Conflict.modified(change.resource.group_resource, change.name)

    def _encoded(self, resource: Resource, quota: Quota) -> bytes:
        manager = resource.field_manager("status", self._services.clock)
        return resource.encode(manager.update(quota.tree, quota.stored(), APISERVER.field_manager))

    async def _refresh(self, key: str) -> None:
        """Reads a quota that another server changed, before the change arrives in the log."""
        store = self._services.store
        item = await store.get(key)
        revision = item.revision if item else await store.revision()
        self._services.views.apply_write(key, item.value if item else None, revision)

    def _lock(self, namespace: str) -> asyncio.Lock:
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        return lock

    def _resource(self) -> Resource:
        found = self._services.registry.resource("", "v1", "resourcequotas")
        if found is None:
            raise LookupError("the server does not serve ResourceQuotas")
        return found

    # --- recounts ---

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        return self._counts_written and not deletes and resource.resource == "resourcequotas" and not resource.group

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        """Schedules a recount of a written quota."""
        await self.quotas.all(self._services)
        self._schedule_recount(tree["metadata"]["namespace"], tree["metadata"]["name"])

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        """Returns at once: a deleted quota needs no recount."""

    def _on_quota(self, namespace: str, name: str, quota: Quota | None) -> None:
        """Schedules a recount of an uncounted quota in a shared store, because servers may have written objects before
        they knew the quota."""
        if quota is not None and self._services.views.shared and not quota.is_counted:
            self._schedule_recount(namespace, name)

    def _schedule_recount(self, namespace: str, name: str) -> None:
        self._unsettled.add((namespace, name))
        if self._recounting is None or self._recounting.done():
            self._recounting = asyncio.ensure_future(self._recount_scheduled())

    async def _recount_scheduled(self) -> None:
        try:
            while self._unsettled:
                await self._services.clock.sleep(_SETTLES_AFTER)
                unsettled, self._unsettled = self._unsettled, set()
                for namespace, name in sorted(unsettled):
                    try:
                        await self.recount(namespace, name)
                    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
                        _log.warning("cannot count the quota %s/%s: %s", namespace, name, error)
        except StoreError:
            return  # the store is closed, or the next write retries

    async def recount_all(self) -> None:
        """Recounts every quota."""
        await self.quotas.all(self._services)
        for namespace, name in self.quotas.places:
            await self.recount(namespace, name)

    async def recount(self, namespace: str, name: str) -> None:
        """Recounts a quota and writes its usage if different."""
        resource = self._resource()
        key = resource.storage.key(namespace, name)
        async with self._lock(namespace):
            for _ in range(_ATTEMPTS):
                quota = (await self.quotas.all(self._services, namespace)).get(name)
                if quota is None:
                    return
                counted = await recount(self._services, namespace, quota)
                if quota.is_counted and counted.used == quota.used:
                    return
                try:
                    await self._services.commit(key, self._encoded(resource, counted), quota.revision, APISERVER)
                except ExpectationFailed:
                    await self._refresh(key)
                else:
                    # Amounts without an exact representation are read back changed; another round would never end.
                    return

    def close(self) -> None:
        """Cancels pending recounts; the next writer does them."""
        if self._recounting is not None:
            self._recounting.cancel()
