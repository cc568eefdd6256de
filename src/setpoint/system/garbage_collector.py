"""The garbage collector: deletes objects without owners, by the deletion policy of their owner.

An object is deleted when none of its owners exists; owners that wait for their dependents do not count. While another
owner exists, only the references to missing owners are removed. An owner that is deleted in the foreground waits for
its blocking dependents; an owner that orphans its dependents releases them first.

The graph determines the objects to examine. Each decision is based on the current state of the server, and each write
has the uid and the resource version as preconditions. So an outdated graph causes no lost or wrong deletions, only
additional checks.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, metadata_only
from setpoint.client.mapper import NoMatch
from setpoint.client.patches import merge
from setpoint.client.transport import TransportError
from setpoint.controller.queue import Queue
from setpoint.controller.ratelimit import Exponential
from setpoint.objects.errors import APIError, Conflict, NotFound
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost
from setpoint.system.ownership_feed import in_steps
from setpoint.system.ownership_graph import (
    FOREGROUND,
    ORPHAN,
    Coordinates,
    ObservedObject,
    OwnerReference,
    OwnershipGraph,
    OwnershipNode,
    Steps,
    Work,
    references_of,
)

WORKERS = 5
# The longest delay of a retry: the kind of an owner may be installed at any time.
LONGEST_WAIT_SECONDS = 30.0
# The number of immediate retries of a metadata change after a conflict.
_TRIES = 5
# The number of owners to look up before other tasks can run: a client in the same process may answer without waiting.
_OWNERS_PER_TURN = 20
# The number of items to add to the queue before other tasks can run.
_ADDED_PER_TURN = 1000
# For an object with more owners, owners in other namespaces are not reported: each check is a list over all namespaces.
_MOST_LOOKED_FOR = 100
_INVALID_NAMESPACE = "OwnerRefInvalidNamespace"

_log = logging.getLogger(__name__)


class _Owners(NamedTuple):
    """The owner references of an object, by the state of the owners."""

    solid: list[OwnerReference]
    dangling: list[OwnerReference]
    # The owner exists, and waits for the deletion of its dependents.
    waiting: list[OwnerReference]


class GarbageCollector:
    """Collects garbage until cancelled, based on the events of a feed (`system.ownership_feed.Listener`)."""

    name = "generic-garbage-collector"

    def __init__(
        self,
        client: Client,
        *,
        warn: Callable[[Object, str, str], None] | None = None,
        finished: Callable[[], None] | None = None,
        workers: int = WORKERS,
    ) -> None:
        """`warn` records an event for an object; `finished` is called after each work item."""
        self._client = client
        self._warn = warn
        self._finished = finished
        self._workers = workers
        self.graph = OwnershipGraph()
        self.queue: Queue[Work] = Queue(clock=client.clock, limiter=Exponential(limit=LONGEST_WAIT_SECONDS))

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self.queue.shut_down()

    # Called by the feed

    def begin(self) -> None:
        self.graph.clear()
        self.queue.clear()

    async def seen(self, seen: ObservedObject) -> None:
        await self._follow(self.graph.observe(seen))

    async def on_deleted(self, seen: ObservedObject) -> None:
        await self._follow(self.graph.record_deletion(seen.uid))

    async def _follow(self, steps: Steps[list[Work]]) -> None:
        """Adds the work that results from a change of the graph."""
        await self._add(await in_steps(steps))

    async def _add(self, work: list[Work]) -> None:
        for number, each in enumerate(work):
            if number % _ADDED_PER_TURN == _ADDED_PER_TURN - 1:
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    # The graph already contains the change, so the work would not be added again.
                    for rest in work[number:]:
                        self.queue.add(rest)
                    raise
            self.queue.add(each)

    # Working

    async def _work(self) -> None:
        while True:
            work = (await self.queue.get()).key
            # Neither the queue nor a client in the same process has to wait, so other tasks would not run.
            await asyncio.sleep(0)
            try:
                await self.do(work)
            except (APIError, TransportError, NoMatch) as error:
                wait = self.queue.add_rate_limited(work)
                _log.debug("%s: %s; retrying in %.3g s", work, error, wait)
            except Exception:
                _log.exception("the garbage collection of %s failed", work)
                self.queue.add_rate_limited(work)
            else:
                self.queue.forget(work)
            finally:
                self.queue.done(work)
                if self._finished is not None:
                    self._finished()

    async def do(self, work: Work) -> None:
        """Performs a work item. Any exception leads to a retry."""
        if work.owner_at is not None:
            await self._verify(work.uid, work.owner_at)
            return
        node = self.graph.get(work.uid)
        if node is None or node.seen is None:
            return
        if node.seen.orphans:
            await self._orphan(node, node.seen)
        elif node.seen.waits_for_dependents:
            await self._wait_for_dependents(node, node.seen)
        elif not node.seen.is_being_deleted:
            await self._attempt(node, node.seen)

    async def _verify(self, uid: str, at: Coordinates) -> None:
        """Checks whether an owner exists at its coordinates."""
        dependents = await in_steps(self.graph.dependents_at(uid, at))
        if not dependents:
            return
        kind = _kind(at)
        resource = await self._client.resource(kind)
        if resource.namespaced and not at.namespace:
            # A cluster-scoped object cannot have a namespaced owner. Such a reference is never resolved, and keeps the
            # object.
            for dependent in dependents:
                self._report(dependent, uid, at)
            return
        if await self._find(uid, at) is not None:
            self.graph.found(uid, at)
            return
        if resource.namespaced and not self.graph.is_absent(uid, at):
            verifiable = [dependent for dependent in dependents if len(dependent.places) <= _MOST_LOOKED_FOR]
            if verifiable and await self._is_in_other_namespace(uid, at, kind):
                for dependent in verifiable:
                    self._report(dependent, uid, at)
        await self._follow(self.graph.missed(uid, at))

    async def _find(self, uid: str, at: Coordinates) -> Object | None:
        """Returns the metadata of the object at the coordinates, if the object has that uid."""
        try:
            metadata: Object = (await self._client.get(_kind(at), at.name, at.namespace))["metadata"]
        except NotFound:
            return None
        return metadata if metadata["uid"] == uid else None

    async def _is_in_other_namespace(self, uid: str, at: Coordinates, kind: KindRef) -> bool:
        """Returns True if the owner exists in another namespace, which is reported as an event."""
        found = await self._client.list(kind, fields={"metadata.name": at.name})
        return any(each["metadata"]["uid"] == uid for each in found.items)

    async def _attempt(self, node: OwnershipNode, seen: ObservedObject) -> None:
        """Deletes an object without remaining owners, or removes the references to missing owners."""
        metadata = await self._find(seen.uid, seen.at)
        if metadata is None:
            await self._follow(self.graph.record_deletion(seen.uid))
            return
        references: list[Object] = metadata.get("ownerReferences") or []
        if not references:
            return
        owners = await self._classify(seen, await in_steps(references_of(references)))
        if owners is None:
            return
        if owners.solid:
            lost = {reference.uid for reference in (*owners.dangling, *owners.waiting)}
            if lost:
                await self._change(seen, _without_owners(lost))
            return
        if owners.waiting and node.dependents:
            if any(dependent.waits_for_dependents for dependent in node.dependents.values()):
                # There may be a cycle: make the references non-blocking.
                await self._change(seen, _unblocked)
                metadata = await self._find(seen.uid, seen.at) or metadata
            policy = "Foreground"
        else:
            finalizers = metadata.get("finalizers") or ()
            policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        await self._delete(seen, metadata, policy)

    async def _classify(self, seen: ObservedObject, references: list[OwnerReference]) -> _Owners | None:
        """Classifies the owners. Returns None if one of them can never be resolved."""
        owners = _Owners([], [], [])
        for number, reference in enumerate(references):
            if number % _OWNERS_PER_TURN == _OWNERS_PER_TURN - 1:
                await asyncio.sleep(0)
            at = reference.seen_from(seen.at.namespace)
            if not at.namespace and (await self._client.resource(_kind(at))).namespaced:
                return None
            if self.graph.is_absent(reference.uid, at):
                owners.dangling.append(reference)
                continue
            owner = await self._find(reference.uid, at)
            if owner is None:
                missed = await in_steps(self.graph.missed(reference.uid, at))
                await self._add([work for work in missed if work.uid != seen.uid])
                owners.dangling.append(reference)
            elif owner.get("deletionTimestamp") and FOREGROUND in (owner.get("finalizers") or ()):
                owners.waiting.append(reference)
            else:
                owners.solid.append(reference)
        return owners

    async def _delete(self, seen: ObservedObject, metadata: Object, policy: str) -> None:
        """Deletes an object, if its owner references have not changed since the decision."""
        kind, name, namespace = _kind(seen.at), seen.at.name, seen.at.namespace
        version = metadata["resourceVersion"]
        for _ in range(_TRIES):
            try:
                await self._client.delete(
                    kind, name, namespace, propagation=policy, uid=seen.uid, resource_version=version
                )
                return
            except NotFound:
                await self._follow(self.graph.record_deletion(seen.uid))
                return
            except Conflict:
                latest = await self._find(seen.uid, seen.at)
                if latest is None:
                    await self._follow(self.graph.record_deletion(seen.uid))
                    return
                if latest.get("ownerReferences") != metadata.get("ownerReferences"):
                    raise
                version = latest["resourceVersion"]
        raise Conflict(f"{name} was changed during every attempt")

    async def _wait_for_dependents(self, node: OwnershipNode, seen: ObservedObject) -> None:
        """Removes the finalizer of an object without blocking dependents, or queues those dependents."""
        blocking = await in_steps(node.blocking())
        if not blocking:
            await self._change(seen, _without_finalizer(FOREGROUND))
            return
        await self._add([Work(dependent.uid) for dependent in blocking if not dependent.waits_for_dependents])

    async def _orphan(self, node: OwnershipNode, seen: ObservedObject) -> None:
        """Removes the owner references of the dependents, then the finalizer of the object."""
        for dependent in list(node.dependents.values()):
            await asyncio.sleep(0)
            if dependent.seen is not None:
                await self._change(dependent.seen, _without_owners({seen.uid}))
        await self._change(seen, _without_finalizer(ORPHAN))

    async def _change(self, seen: ObservedObject, change: Callable[[Object], Object]) -> None:
        """Changes the metadata of an object, if the object still exists."""
        for last in [False] * (_TRIES - 1) + [True]:
            metadata = await self._find(seen.uid, seen.at)
            if metadata is None:
                await self._follow(self.graph.record_deletion(seen.uid))
                return
            changed = change(metadata)
            if not changed:
                return
            patch = {"metadata": {"uid": seen.uid, "resourceVersion": metadata["resourceVersion"], **changed}}
            try:
                await self._client.patch(_kind(seen.at), merge(patch), seen.at.name, seen.at.namespace)
                return
            except NotFound:
                continue
            except Conflict:
                if last:
                    raise

    def _report(self, dependent: OwnershipNode, uid: str, at: Coordinates) -> None:
        """Records an event for an object with an owner in another namespace."""
        if self._warn is None or dependent.seen is None:
            return
        seen = dependent.seen
        owner = f"[{at.api_version}/{at.kind}, namespace: {at.namespace}, name: {at.name}, uid: {uid}]"
        about: Object = {
            "apiVersion": seen.at.api_version,
            "kind": seen.at.kind,
            "metadata": {"namespace": seen.at.namespace, "name": seen.at.name, "uid": seen.uid},
        }
        text = f'ownerRef {owner} does not exist in namespace "{at.namespace}"'
        self._warn(about, _INVALID_NAMESPACE, text)


def _kind(at: Coordinates) -> KindRef:
    """Returns the kind for the client. Raises NoMatch for an invalid kind."""
    try:
        return metadata_only(GroupVersion.parse(at.api_version).with_kind(at.kind))
    except ValueError as error:
        raise NoMatch(str(error)) from None


def _without_owners(uids: set[str]) -> Callable[[Object], Object]:
    def change(metadata: Object) -> Object:
        references: list[Any] = metadata.get("ownerReferences") or []
        kept = [each for each in references if each["uid"] not in uids]
        return {"ownerReferences": kept} if len(kept) < len(references) else {}

    return change


def _unblocked(metadata: Object) -> Object:
    references: list[Any] = metadata.get("ownerReferences") or []
    if not any(each.get("blockOwnerDeletion") for each in references):
        return {}
    return {"ownerReferences": [{**each, "blockOwnerDeletion": False} for each in references]}


def _without_finalizer(finalizer: str) -> Callable[[Object], Object]:
    def change(metadata: Object) -> Object:
        finalizers: list[str] = metadata.get("finalizers") or []
        return {"finalizers": [each for each in finalizers if each != finalizer]} if finalizer in finalizers else {}

    return change


async def start(host: ControllerHost) -> None:
    """Starts the garbage collector."""

    def warn(about: Object, reason: str, note: str) -> None:
        host.recorder(host.name).warning(about, reason, note)

    collector = GarbageCollector(host.client, warn=warn, finished=host.wake)
    host.listen(collector)
    host.track(collector.queue)
    host.run(collector.run)
