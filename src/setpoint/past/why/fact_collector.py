"""Collects the facts about an object from a server: its state, and from our own servers also its history.

Missing data and data without read permission are left out: an incomplete explanation is better than none.
"""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import KindRef
from setpoint.client.transport import Call, TransportError
from setpoint.flow.summary.summary import Summary, summarize
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.provenance import Reason
from setpoint.objects.reconcile_report import Reconciled, ReconcileQuery
from setpoint.objects.tree import Object
from setpoint.past.as_of import as_of
from setpoint.past.moment import Moment
from setpoint.past.object_ref import WORKLOADS, ObjectReference, resource_of
from setpoint.past.queries import NoHistory, NotInHistory, read_history
from setpoint.past.reconciles import read_reconciles
from setpoint.past.related_objects import Related
from setpoint.past.revision import ADDED, DELETED, Revision
from setpoint.past.trace import kind_name, written
from setpoint.past.why.facts import Facts, Link, RelatedObject, Wait
from setpoint.workload.kinds.api_names import GROUP, LOGGED, VERSION
from setpoint.workload.service_producers import listen_error, serves

_OUTPUT_LINES = 5
_OUTPUT_SECONDS = 2.0
# The maximum depth of chains of causes and dependencies, and the number of writes they start with.
_DEEPEST = 6
_TURNS = 3
_MOST_RECONCILES = 20
# Fields of the desired state.
_WANTED = ("spec", "data", "metadata.annotations", "metadata.deletionTimestamp", "metadata.labels")
# Kinds without relevant dependents.
_OWNLESS = frozenset({"ConfigMap", "Secret", "Pod", "Executable", "Container", "Service", "Endpoint", "Event"})


async def collect(
    client: Client,
    place: ObjectReference,
    *,
    me: Collection[str] = (),
    at: int | None = None,
    now: datetime | None = None,
) -> Facts:
    """Collects the facts about an object, now or at a revision; `now` is the time of that revision. Raises NotInHistory
    if the object does not exist and never existed."""
    if at is not None:
        client = as_of(client, at)
    moment = now or client.clock.now()
    return await _Collector(client, await client.mapper.resources(refresh=False), moment, at).facts(place, me)


class _Collector:
    """One collection of facts. Reads each history once."""

    def __init__(self, client: Client, resources: Sequence[APIResource], now: datetime, at: int | None) -> None:
        self._client = client
        self._now = now
        self._until = Moment(revision=at) if at is not None else None
        self._resources = resources
        self._histories: dict[ObjectReference, list[Revision]] = {}
        self._trees: dict[tuple[str, str], Object | None] = {}
        # One write may trigger many others: its causes are included once.
        self._links: dict[tuple[ObjectReference, int], Link] = {}

    async def facts(self, place: ObjectReference, me: Collection[str]) -> Facts:
        tree = await self._get(place)
        history: list[Revision] = []
        no_past = ""
        try:
            history = await self._history(place)
        except NoHistory as error:
            no_past = str(error)
        except NotInHistory:
            if tree is None:
                raise
        if tree is None and not history:
            raise NotInHistory(f"{place} does not exist")
        facts = Facts(place, self._now, tree, None, tuple(history), no_past, me=me)
        facts = _with(facts, chain=await self._chain(history))
        return facts if tree is None else await self._of_living(facts, tree)

    async def _of_living(self, facts: Facts, tree: Object) -> Facts:
        place = facts.place
        related = Related(self._client, self._resources)
        is_workload = WORKLOADS in place.resource.categories
        owners = await related.owners(tree, place.namespace)
        services = await self._services() if is_workload else {}
        served = [services[name] for name in serves(tree) if name in services] if is_workload else []
        return _with(
            facts,
            summary=self._summary(tree),
            waits=await self._waits(tree) if is_workload else (),
            output=await self._output(place)
            if place.gvk.kind in LOGGED.values() and is_workload and not self._until
            else (),
            events=await self._events(place, tree),
            owners=tuple(RelatedObject(owner, found) for owner, found in owners),
            owned=await self._owned(related, tree, place) if place.gvk.kind not in _OWNLESS else (),
            ports={name: port for name, service in services.items() if (port := _port(service))},
            unreachable=next((why for each in served if (why := listen_error(each))), ""),
            reconciles=tuple(await self._reconciles(place)) if self._until is None else (),
        )

    async def _reconciles(self, place: ObjectReference) -> list[Reconciled]:
        wanted = ReconcileQuery(kind_name(place), place.key, limit=_MOST_RECONCILES)
        return (await read_reconciles(self._client, wanted)).items

    def _summary(self, tree: Object) -> Summary:
        return summarize(tree, now=self._now)

    async def _get(self, place: ObjectReference) -> Object | None:
        try:
            return await self._client.get(place.kind, place.name, place.namespace)
        except NotFound:
            return None

    async def _history(self, place: ObjectReference) -> list[Revision]:
        if place not in self._histories:
            self._histories[place] = await read_history(self._client, place, until=self._until)
        return self._histories[place]

    # Causes

    async def _chain(self, history: list[Revision]) -> tuple[Link, ...]:
        """Returns the writes that led to the current state, and the causes of each."""
        return tuple([await self._link(each, 0) for each in state_changes(history)])

    async def _link(self, write: Revision, depth: int) -> Link:
        key = write.place, write.number
        if key not in self._links:
            self._links[key] = await self._made_link(write, depth)
        return self._links[key]

    async def _made_link(self, write: Revision, depth: int) -> Link:
        found: list[tuple[Reason, Link | None]] = []
        for reason in write.cause.because if write.cause is not None and depth < _DEEPEST else ():
            earlier = await self._written(reason)
            found.append((reason, await self._link(earlier, depth + 1) if earlier is not None else None))
        return Link(write, tuple(found))

    async def _written(self, reason: Reason) -> Revision | None:
        """Returns the write that triggered a reconcile, from the history of its object."""
        kind, _, group = reason.kind.partition(".")
        resource = resource_of(self._resources, GroupKind(group, kind)) if kind and reason.revision else None
        if resource is None:
            return None
        namespace, _, name = reason.object.rpartition("/")
        try:
            return written(reason, await self._history(ObjectReference(resource, name, namespace)))
        except (NoHistory, NotInHistory):
            return None

    # Dependencies

    async def _waits(self, tree: Object, depth: int = 0) -> tuple[Wait, ...]:
        from setpoint.workload.dependencies import requirements, waiting_for

        if depth > _DEEPEST or ((tree.get("status") or {}).get("state") in ("Running", "Finished", "Succeeded")):
            return ()
        for each in requirements(tree):
            await self._fetch(each.kind, each.name)
        found = []
        for wait in waiting_for(tree, lambda kind, name: self._trees.get((kind, name))):
            other = self._trees.get((wait.kind, wait.name))
            deeper = await self._waits(other, depth + 1) if other is not None else ()
            why = wait.why if other is None else self._not_ready_message(other) or wait.why
            found.append(Wait(wait.kind, wait.name, wait.condition, why, deeper))
        return tuple(found)

    def _not_ready_message(self, tree: Object) -> str:
        """Returns the message of an object that is not ready."""
        summary = self._summary(tree)
        return "" if summary.ready else summary.message

    async def _fetch(self, kind: str, name: str) -> None:
        if (kind, name) in self._trees:
            return
        found = [each for each in self._resources if each.gvk.kind == kind and WORKLOADS in each.categories]
        self._trees[kind, name] = await self._get(ObjectReference(found[0], name)) if found else None

    # Related data

    async def _output(self, place: ObjectReference) -> tuple[str, ...]:
        path = place.resource.path(place.namespace, place.name, "log")
        query = [("source", "all"), ("tail", str(_OUTPUT_LINES))]
        call = Call("GET", path, query, {"accept": "*/*"}, timeout=_OUTPUT_SECONDS)
        try:
            async with self._client.stream(call) as stream:
                text = b"".join([piece async for piece in stream]).decode("utf-8", "replace")
        except (APIError, TransportError):
            return ()
        return tuple(text.splitlines()[-_OUTPUT_LINES:])

    async def _events(self, place: ObjectReference, tree: Object) -> tuple[Object, ...]:
        fields = {"involvedObject.uid": tree["metadata"].get("uid", "")}
        namespace = place.namespace or "default"
        try:
            listed = await self._client.list("v1/Event", namespace, fields=fields)
        except (APIError, LookupError):
            return ()
        return tuple(sorted(listed.items, key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or ""))

    async def _owned(self, related: Related, tree: Object, place: ObjectReference) -> tuple[RelatedObject, ...]:
        if place.gvk.kind == "Namespace" and tree["metadata"].get("deletionTimestamp"):
            left = await related.inside(place.name)
            return tuple(RelatedObject(each, found, self._summary(found)) for each, found in left)
        places = await related.owned(tree, place)
        trees = await asyncio.gather(*(self._get(each) for each in places))
        return tuple(
            RelatedObject(each, found, self._summary(found) if found is not None else None)
            for each, found in zip(places, trees, strict=True)
        )

    async def _services(self) -> dict[str, Object]:
        """Returns the Services of workloads, by name."""
        kind = GroupVersionKind(GROUP, VERSION, "Service")
        try:
            listed: list[Any] = (await self._client.list(KindRef(kind))).items
        except (APIError, LookupError):
            return {}
        return {each["metadata"]["name"]: each for each in listed}


def _port(service: Object) -> int:
    """Returns the port of a Service, or 0 if unknown."""
    port = (service.get("status") or {}).get("effectivePort") or (service.get("spec") or {}).get("port")
    return port if isinstance(port, int) else 0


def state_changes(history: Sequence[Revision]) -> list[Revision]:
    """Returns the revisions that led to the current state, the newest first: the last changes of state, and the last
    change of the desired state. For a status without a state, its last change counts."""
    has_state = any(_is_state(change.path) for revision in history for change in revision.significant_changes)
    found: list[Revision] = []
    for revision in reversed(history):
        if revision.type == ADDED:
            found.append(revision)
            break
        is_state = any(_is_state(change.path) for change in revision.significant_changes) or (
            not has_state
            and not found
            and any(change.path.startswith("status") for change in revision.significant_changes)
        )
        if revision.type == DELETED or (is_state and len(found) < _TURNS - 1):
            found.append(revision)
        elif any(change.path.startswith(_WANTED) for change in revision.significant_changes):
            found.append(revision)
            break
    return found[: _TURNS + 1]


def _is_state(path: str) -> bool:
    return path in ("status.state", "status.phase") or (path.startswith("status.conditions[") and path.endswith("]"))


def _with(facts: Facts, **changes: Any) -> Facts:
    from msgspec.structs import replace

    return replace(facts, **changes)
