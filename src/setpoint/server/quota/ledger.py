"""The books of the quotas: what each namespace uses, exact at every revision.

An object and what it is charged with are one transaction: the write of the object goes into the log together with the
new `status.used` of every quota that counts it, each expected to be as it was read. So there is nothing to give back
when a write fails, nothing is lost when a server dies, and several servers over one store cannot spend the same twice:
the second finds the quota changed, reads it and decides anew. Writes of one server to one namespace come one after the
other, so that they do not run into that.

A quota whose bounds were never counted (it is new, or was changed) is counted before it is charged for the first time,
and in any case soon after it was written. Where nothing has a quota, nothing of this costs anything.

What no client writes is not charged: the few objects that the server keeps for itself, and what somebody wrote to the
store past it. So everything is counted anew from time to time (`settle_all`), and a quota whenever it is written.
"""

import asyncio
import logging
from collections.abc import Mapping
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
from setpoint.server.quota.quotas import Quota, asked_for, read_quota
from setpoint.server.quota.recount import is_complete, recount
from setpoint.server.registry.indexes import View
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services
from setpoint.store.contract import ExpectationFailed, Item, StoreError, Write

# How soon a quota that was written is counted, if nothing is charged to it before.
_SETTLES_AFTER = 1.0
_ATTEMPTS = 100
_log = logging.getLogger(__name__)


class _Change(NamedTuple):
    """What a write does to one object; `is_judged` says that it may be refused."""

    resource: Resource
    evaluator: Evaluator
    namespace: str
    name: str
    old: Object | None
    new: Object | None
    is_judged: bool


class Ledger:
    """The books of one server. A reaction too: it looks after quotas that somebody wrote. `enforced` says that writes
    may be refused; otherwise they are only counted."""

    def __init__(self, services: Services, *, enforced: bool = True) -> None:
        self._services = services
        self._enforced = enforced
        self._quotas = Lookup("", "v1", "resourcequotas", read_quota, self._learned)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._unsettled: set[tuple[str, str]] = set()
        self._settling: asyncio.Task[None] | None = None

    @property
    def view(self) -> View[Quota] | None:
        """All quotas; None until they are first asked for."""
        return self._quotas.view

    # --- judging ---

    async def check(self, operation: Operation) -> None:
        """Refuses what is more than a quota allows, as far as one can tell before it is written."""
        new, old = operation.object, operation.old
        quotas = await self._quotas.all(self._services, operation.namespace)
        evaluator = evaluator_of(operation.resource) if quotas else None
        if evaluator is None or new is None:
            return
        if evaluator.is_judged(operation.verb, operation.subresource, new, old):
            change = _Change(operation.resource, evaluator, operation.namespace, operation.name, old, new, True)
            await self._charged(quotas, change)

    async def _charged(self, quotas: Mapping[str, Quota], change: _Change) -> list[tuple[Quota, Quota]]:
        """The quotas that a change is charged to, each as it was and as it is then. Raises Forbidden where the change
        is judged and does not fit; all that it does not fit into are named."""
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
        if is_judged and (excess := quota.excess(asked_for(delta))):
            problems.append(excess)
        return quota.charged(delta)

    # --- writing ---

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
    ) -> int:
        """Commits a write, as `Services.persist` says."""
        namespace, _, name = write.key[len(resource.storage.prefix) :].partition("/")
        if await self._quotas.all(self._services, namespace):
            evaluator = evaluator_of(resource)
            if evaluator is not None and not (evaluator.is_plain and item is not None and new is not None):
                old = None if item is None else await resource.decoded(item)
                verb = CREATE if item is None else UPDATE
                is_judged = new is not None and self._enforced and evaluator.is_judged(verb, subresource, new, old)
                change = _Change(resource, evaluator, namespace, name, old, new, is_judged)
                async with self._lock(namespace):
                    return await self._commit(change, write, actor, cause)
        return await self._services.commit(write.key, write.value, write.expect, actor, cause, write.ttl)

    async def _commit(self, change: _Change, write: Write, actor: Actor, cause: Cause | None) -> int:
        services, namespace, resource = self._services, change.namespace, self._resource()
        for _ in range(_ATTEMPTS):
            writes = [write]
            for before, after in await self._charged(await self._quotas.all(services, namespace), change):
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
        """Learns what another server made of a quota, ahead of the log."""
        store = self._services.store
        item = await store.get(key)
        revision = item.revision if item else await store.revision()
        self._services.views.wrote(key, item.value if item else None, revision)

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

    # --- settling ---

    def concerns(self, resource: Resource) -> bool:
        return resource.resource == "resourcequotas" and not resource.group

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        """Somebody wrote a quota: what it says is counted anew."""
        await self._quotas.all(self._services)
        self._settle_soon(tree["metadata"]["namespace"], tree["metadata"]["name"])

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        """What is gone counts nothing."""

    def _learned(self, namespace: str, name: str, quota: Quota | None) -> None:
        """A quota became known. Where others write to the store, they, or we, may not have charged it at first."""
        if quota is not None and self._services.views.shared and not quota.is_counted:
            self._settle_soon(namespace, name)

    def _settle_soon(self, namespace: str, name: str) -> None:
        self._unsettled.add((namespace, name))
        if self._settling is None or self._settling.done():
            self._settling = asyncio.ensure_future(self._settle_noted())

    async def _settle_noted(self) -> None:
        try:
            while self._unsettled:
                await self._services.clock.sleep(_SETTLES_AFTER)
                unsettled, self._unsettled = self._unsettled, set()
                for namespace, name in sorted(unsettled):
                    try:
                        await self.settle(namespace, name)
                    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
                        _log.warning("the quota %s/%s cannot be counted: %s", namespace, name, error)
        except StoreError:
            return  # the store is closed, or will be asked again with the next write

    async def settle_all(self) -> None:
        """Counts every quota."""
        await self._quotas.all(self._services)
        for namespace, name in self._quotas.places:
            await self.settle(namespace, name)

    async def settle(self, namespace: str, name: str) -> None:
        """Counts a quota and writes down what it found, if that is not there already."""
        resource = self._resource()
        key = resource.storage.key(namespace, name)
        async with self._lock(namespace):
            for _ in range(_ATTEMPTS):
                quota = (await self._quotas.all(self._services, namespace)).get(name)
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
                    # Amounts that cannot be written exactly are read back as others: to count again would never end.
                    return

    def close(self) -> None:
        """Leaves what is not counted yet to the next who writes."""
        if self._settling is not None:
            self._settling.cancel()
