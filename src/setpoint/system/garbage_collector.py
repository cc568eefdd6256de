"""The garbage collector: what belongs to nobody any more goes, in the way its owner was deleted.

An object goes when none of its owners is there: owners that are only waiting for their dependents do not keep it. While
one is there, the references to those that are not are taken away. An owner deleted in the foreground waits for the
dependents that block it; one that orphans its dependents sets them free first.

The graph says what to look at; what is done is decided by what the server says then, and every write names the uid
and the version it was decided by. So nothing is lost when the graph is behind, and nothing harmed: at worst one looks
again.
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
from setpoint.system.graph import (
    FOREGROUND,
    ORPHAN,
    Coordinates,
    Graph,
    Node,
    Reference,
    Seen,
    Steps,
    Work,
    references_of,
)
from setpoint.system.ownership_feed import in_steps

WORKERS = 5
# How long a retry waits at most: a kind that an owner is of may come any time.
LONGEST_WAIT_SECONDS = 30.0
# How often a change of metadata is tried again at once when somebody else was faster.
_TRIES = 5
# How many owners are asked for before others have a turn: a client in the same process may answer without waiting.
_OWNERS_PER_TURN = 20
# How much work is added to the queue before others have a turn.
_ADDED_PER_TURN = 1000
# An object with more owners is not told which of them live in another namespace: each takes a list over all namespaces.
_MOST_LOOKED_FOR = 100
_INVALID_NAMESPACE = "OwnerRefInvalidNamespace"

_log = logging.getLogger(__name__)


class _Owners(NamedTuple):
    """The references of an object, by what is known of the owners."""

    solid: list[Reference]
    dangling: list[Reference]
    # The owner is there, and waits for its dependents to go.
    waiting: list[Reference]


class GarbageCollector:
    """Collects until it is cancelled, of what a feed tells it (`system.ownership_feed.Listener`)."""

    name = "generic-garbage-collector"

    def __init__(
        self,
        client: Client,
        *,
        warn: Callable[[Object, str, str], None] | None = None,
        finished: Callable[[], None] | None = None,
        workers: int = WORKERS,
    ) -> None:
        """`warn` records an event about an object; `finished` is called whenever something is done."""
        self._client = client
        self._warn = warn
        self._finished = finished
        self._workers = workers
        self.graph = Graph()
        self.queue: Queue[Work] = Queue(clock=client.clock, limiter=Exponential(limit=LONGEST_WAIT_SECONDS))

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self.queue.shut_down()

    # What the feed tells

    def begin(self) -> None:
        self.graph.clear()
        self.queue.clear()

    async def seen(self, seen: Seen) -> None:
        await self._follow(self.graph.observe(seen))

    async def gone(self, seen: Seen) -> None:
        await self._follow(self.graph.gone(seen.uid))

    async def _follow(self, steps: Steps[list[Work]]) -> None:
        """Adds the work that follows from what the graph is told."""
        await self._add(await in_steps(steps))

    async def _add(self, work: list[Work]) -> None:
        for number, each in enumerate(work):
            if number % _ADDED_PER_TURN == _ADDED_PER_TURN - 1:
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    # The graph knows of it already: nobody would add it again.
                    for rest in work[number:]:
                        self.queue.add(rest)
                    raise
            self.queue.add(each)

    # Working

    async def _work(self) -> None:
        while True:
            work = (await self.queue.get()).key
            # Neither the queue nor a client in the same process has to wait for anything: others would have no turn.
            await asyncio.sleep(0)
            try:
                await self.do(work)
            except (APIError, TransportError, NoMatch) as error:
                wait = self.queue.add_rate_limited(work)
                _log.debug("%s: %s; again in %.3g s", work, error, wait)
            except Exception:
                _log.exception("looking at %s failed", work)
                self.queue.add_rate_limited(work)
            else:
                self.queue.forget(work)
            finally:
                self.queue.done(work)
                if self._finished is not None:
                    self._finished()

    async def do(self, work: Work) -> None:
        """Does what there is to do. Whatever it raises is a reason to try again."""
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
        """Finds out whether an owner is where it is said to be."""
        dependents = await in_steps(self.graph.dependents_at(uid, at))
        if not dependents:
            return
        kind = _kind(at)
        resource = await self._client.resource(kind)
        if resource.namespaced and not at.namespace:
            # Nothing in a namespace can own what is in none. Such a reference is never resolved, and keeps the object.
            for dependent in dependents:
                self._report(dependent, uid, at)
            return
        if await self._find(uid, at) is not None:
            self.graph.found(uid, at)
            return
        if resource.namespaced and not self.graph.is_absent(uid, at):
            told = [dependent for dependent in dependents if len(dependent.places) <= _MOST_LOOKED_FOR]
            if told and await self._is_elsewhere(uid, at, kind):
                for dependent in told:
                    self._report(dependent, uid, at)
        await self._follow(self.graph.missed(uid, at))

    async def _find(self, uid: str, at: Coordinates) -> Object | None:
        """The metadata of the object with that uid, if it is where it is said to be."""
        try:
            metadata: Object = (await self._client.get(_kind(at), at.name, at.namespace))["metadata"]
        except NotFound:
            return None
        return metadata if metadata["uid"] == uid else None

    async def _is_elsewhere(self, uid: str, at: Coordinates, kind: KindRef) -> bool:
        """Whether the owner lives in another namespace, which deserves a word."""
        found = await self._client.list(kind, fields={"metadata.name": at.name})
        return any(each["metadata"]["uid"] == uid for each in found.items)

    async def _attempt(self, node: Node, seen: Seen) -> None:
        """Deletes an object that no owner keeps, or takes away the references that lead nowhere."""
        metadata = await self._find(seen.uid, seen.at)
        if metadata is None:
            await self._follow(self.graph.gone(seen.uid))
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
                # It may be a circle: the references no longer make anybody wait.
                await self._change(seen, _unblocked)
                metadata = await self._find(seen.uid, seen.at) or metadata
            policy = "Foreground"
        else:
            finalizers = metadata.get("finalizers") or ()
            policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        await self._delete(seen, metadata, policy)

    async def _classify(self, seen: Seen, references: list[Reference]) -> _Owners | None:
        """What is known of the owners. None: one of them never will be."""
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

    async def _delete(self, seen: Seen, metadata: Object, policy: str) -> None:
        """Deletes an object, if it is still the one that was decided about."""
        kind, name, namespace = _kind(seen.at), seen.at.name, seen.at.namespace
        version = metadata["resourceVersion"]
        for _ in range(_TRIES):
            try:
                await self._client.delete(
                    kind, name, namespace, propagation=policy, uid=seen.uid, resource_version=version
                )
                return
            except NotFound:
                await self._follow(self.graph.gone(seen.uid))
                return
            except Conflict:
                latest = await self._find(seen.uid, seen.at)
                if latest is None:
                    await self._follow(self.graph.gone(seen.uid))
                    return
                if latest.get("ownerReferences") != metadata.get("ownerReferences"):
                    raise
                version = latest["resourceVersion"]
        raise Conflict(f"{name} changes all the time")

    async def _wait_for_dependents(self, node: Node, seen: Seen) -> None:
        """Lets an object go when no dependent blocks it any more; sees to it that they go."""
        blocking = await in_steps(node.blocking())
        if not blocking:
            await self._change(seen, _without_finalizer(FOREGROUND))
            return
        await self._add([Work(dependent.uid) for dependent in blocking if not dependent.waits_for_dependents])

    async def _orphan(self, node: Node, seen: Seen) -> None:
        """Sets the dependents of an object free, and then the object."""
        for dependent in list(node.dependents.values()):
            await asyncio.sleep(0)
            if dependent.seen is not None:
                await self._change(dependent.seen, _without_owners({seen.uid}))
        await self._change(seen, _without_finalizer(ORPHAN))

    async def _change(self, seen: Seen, change: Callable[[Object], Object]) -> None:
        """Changes the metadata of an object, if it is still there."""
        for last in [False] * (_TRIES - 1) + [True]:
            metadata = await self._find(seen.uid, seen.at)
            if metadata is None:
                await self._follow(self.graph.gone(seen.uid))
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

    def _report(self, dependent: Node, uid: str, at: Coordinates) -> None:
        """Tells that an object names an owner in another namespace."""
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
    """The kind as the client knows it. Raises NoMatch for what cannot be one."""
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
