"""The context of a reconcile: its client, logger, clock and triggers."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast, overload

import setpoint.controller.remedies as remedies
from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import AnyObject, Kind, KindRef, Obj, R, metadata_of, ref_of, tree_of
from setpoint.client.patches import Patch, merge
from setpoint.controller.child_apply import cluster_scoped_child
from setpoint.controller.generated_child import create_once
from setpoint.controller.read_tracker import Lookup, Lookups
from setpoint.controller.reconcile_client import ReconcileClient
from setpoint.controller.recording_client import RecordingClient
from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import Access, Read, ReconcileRecord, Write
from setpoint.controller.source import Source
from setpoint.controller.status import Status, StatusReport
from setpoint.controller.status_attribute import K_co, StatusReporter
from setpoint.controller.threads import ThreadCall
from setpoint.objects import meta, owners
from setpoint.objects.clock import Clock
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Cause
from setpoint.objects.tree import Object
from setpoint.schema.types.meta import OwnerReference
from setpoint.schema.types.model import Model
from setpoint.schema.types.resource import Resource
from setpoint.schema.types.shape import fields_of

T = TypeVar("T")
# The number of triggers that are recorded as the cause of a write.
_REASONS = 4


class ContextHost(Protocol):
    """The controller, as seen by a context."""

    name: str
    clock: Clock
    recorder: Any
    primary: KindRef | None
    lookups: Lookups
    accesses: set[Access]

    @property
    def watched(self) -> Sequence[Source]: ...

    def api_for(self, ctx: "Context[Any]", cluster: str, cause: Cause) -> RecordingClient: ...

    def client_for(self, ctx: "Context[Any]", cluster: str, cause: Cause) -> ReconcileClient: ...

    def entry_of(self, request: Request) -> Any: ...

    def primary_object(self, request: Request) -> Any: ...

    def warn_undeclared(self, kind: KindRef) -> None: ...

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any: ...

    async def run_blocking(self, function: Callable[[ThreadCall], T]) -> T: ...


class Context(StatusReporter[K_co]):
    """The context of one reconcile, passed to the reconcile function. `Context[Website]` has the types of a kind.

    async def reconcile(ctx: Context[Website], request: Request) -> Result | None:
        website = await ctx.object()
        if website is None:
            return None
        await ctx.client.apply(ctx.own(config_map_of(website)))
        ctx.status.pages = len(website.spec.pages)
        ctx.condition("Ready", True, "Applied")
    """

    def __init__(
        self,
        controller: ContextHost,
        run: ReconcileRecord,
        deadline: float | None,
        entry: CachedObject[Any] | None = None,
    ) -> None:
        self._controller = controller
        # The object in the cache when the reconcile began; None if there is none.
        self.entry = entry
        self.run = run
        self.request: Request = run.request
        # The deadline in the clock's monotonic seconds; None: no deadline.
        self.deadline = deadline
        self.lookups: set[Lookup] = set()
        # Records a read. Called often, and therefore bound directly to the list.
        self.record_read: Callable[[Read], None] = run.reads.append
        self._clients: dict[str, ReconcileClient] = {}
        # Record an API access, and a write or a write that was skipped as unnecessary.
        self.record_access: Callable[[Access], None] = controller.accesses.add
        self.record_write: Callable[[Write], None] = run.writes.append
        # The collected status; None if the reconcile has not used its status.
        self.reported: StatusReport | None = None
        # The object as read: the status may claim the generation of the first one.
        self.seen: list[AnyObject] | deque[AnyObject] = []
        self.record_primary: Callable[[AnyObject], None] = self.seen.append
        # The versions of the object after the own writes, by the version before.
        self.own_writes: dict[str, str] = {}
        # True once a status was written or dropped: the next one begins as the status in the cache.
        self._begins_anew = False
        # The current state, for controllers built as state machines; included in log lines.
        self.state = ""

    @property
    def id(self) -> str:
        """The ID of this reconcile, as in logs and in the causes of its writes."""
        return self.run.id

    @property
    def why(self) -> tuple[Trigger, ...]:
        """The triggers of this reconcile."""
        return self.run.why

    @property
    def attempt(self) -> int:
        """The number of failed attempts since the last success; 0 for the first attempt."""
        return self.run.attempt

    @property
    def clock(self) -> Clock:
        return self._controller.clock

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the deadline; None without a deadline."""
        return None if self.deadline is None else max(self.deadline - self.clock.monotonic(), 0.0)

    @cached_property
    def cause(self) -> Cause:
        """The cause that every write of this reconcile carries."""
        because = tuple([trigger.reason for trigger in self.run.why[:_REASONS]])
        return Cause(self.run.id, self._controller.name, self.request.key, because)

    @cached_property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that prefixes each line with the controller, the request and the ID of the reconcile.

        The triggers and the state are added as fields for handlers that write structured logs.
        """
        return _Log(logging.getLogger(f"setpoint.controller.{self._controller.name}"), self)

    def log_fields(self) -> dict[str, str]:
        """Returns the fields that are added to each log line."""
        return {
            "controller": self._controller.name,
            "key": self.request.key,
            "reconcile_id": self.run.id,
            "why": "; ".join(map(str, self.why)),
            "state": self.state,
        }

    @property
    def recorder(self) -> Any:
        """The event recorder of the manager; None without one."""
        return self._controller.recorder

    # Reading and writing

    @cached_property
    def client(self) -> ReconcileClient:
        """The client of the request's cluster: reads from the cache, writes to the server."""
        return self.cluster(self.request.cluster)

    @cached_property
    def api(self) -> RecordingClient:
        """The client of the request's cluster that also reads from the server, without the cache."""
        return self._controller.api_for(self, self.request.cluster, self.cause)

    def cluster(self, name: str) -> ReconcileClient:
        """Returns the `client` of another cluster of the controller. Raises LookupError for an unknown cluster."""
        found = self._clients.get(name)
        if found is None:
            found = self._clients[name] = self._controller.client_for(self, name, self.cause)
        return found

    def close(self) -> None:
        """Releases the clients when the reconcile is over, to break reference cycles."""
        self._clients.clear()
        for name in ("client", "api", "log"):
            self.__dict__.pop(name, None)

    @overload
    async def object(self: "Context[AnyObject]") -> K_co | None: ...
    @overload
    async def object(self) -> Any: ...
    async def object(self) -> Any:
        """Returns the object to reconcile from the cache; None if deleted. Use `obj.edit()` to get a mutable copy."""
        primary = self._primary
        try:
            return await self.client.get(primary, self.request.name, self.request.namespace)
        except NotFound:
            return None

    @overload
    def lookup(self, kind: type[R], name: str, namespace: str = "", *, cluster: str | None = None) -> R | None: ...
    @overload
    def lookup(
        self, kind: GroupVersionKind | str | KindRef, name: str, namespace: str = "", *, cluster: str | None = None
    ) -> Object | None: ...
    def lookup(self, kind: Kind[Any], name: str, namespace: str = "", *, cluster: str | None = None) -> Any:
        """Returns an object from the cache without waiting; None if the cache has no such object.

        Changes of the object trigger the request again. Raises NotCached for a kind that is not in `reads`.
        """
        return self.cluster(self.request.cluster if cluster is None else cluster).peek(kind, name, namespace)

    @property
    def _primary(self) -> KindRef:
        if self._controller.primary is None:
            raise LookupError(f"{self._controller.name} has no primary kind: read objects with ctx.client")
        return self._controller.primary

    def own(self, child: Obj) -> Obj:
        """Returns a copy of a child that is owned and controlled by the object to reconcile.

        The copy gets the namespace of the owner, and the garbage collector deletes the child with its owner. Raises
        LookupError if the owner is deleted, and ValueError if another object controls the child, for a child of a kind
        that the controller does not watch (`owns`), or for a cluster-scoped child of a namespaced owner.
        """
        entry = self._controller.entry_of(self.request)
        if entry is None:
            raise LookupError(f"{self.request} is deleted and cannot own objects")
        gvk, where, ref = self._primary.gvk, entry.meta, ref_of(child)
        if where.namespace and ref.cls is not None and ref.cls.__resource__.scope == "Cluster":
            raise cluster_scoped_child(ref.gvk.kind, meta.name(metadata_of(child)), gvk.kind)
        if not remedies.watches(self._controller.watched, ref.gvk):
            raise remedies.not_owned(self._controller.name, ref, meta.name(metadata_of(child)))
        parent: Object = {
            "apiVersion": gvk.api_version,
            "kind": gvk.kind,
            "metadata": {"name": where.name, "namespace": where.namespace, "uid": where.uid},
        }
        if isinstance(child, Resource):
            return cast(Obj, _owned(child, parent))
        tree = thaw(tree_of(child))
        if where.namespace:
            tree.setdefault("metadata", {}).setdefault("namespace", where.namespace)
        owners.set_controller(parent, tree)
        return cast(Obj, tree)

    async def create_once(self, child: Obj, key: str) -> Obj:
        """Returns the child of the reconciled object with a key, and creates the child if there is none.

        For children with `generateName`. The child is found by its owner and its key, also by a process that was
        started after the create. A child that is being deleted does not count. Raises the errors of `own`, and
        ValueError for a child with a name or an empty key.

            run = await ctx.create_once(Job(metadata=ObjectMeta(generate_name="run-"), spec=...), key=str(generation))
            ctx.status.run = run.metadata.name
        """
        return await create_once(self, child, key)

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Runs a blocking function in a thread of the controller and returns its result; other reconciles continue.

        Cancellation stops the waiting, but not the function: a running thread cannot be cancelled.
        """
        found: T = await self._controller.in_thread(function, *args)
        return found

    async def run_blocking(self, function: Callable[[ThreadCall], T]) -> T:
        """Runs a `def` function of the author in a thread; see `sync_context`."""
        return await self._controller.run_blocking(function)

    # Status and finalizers

    async def load_status(self, found: Any = None) -> Status:
        """Loads `status` from the object that the reconcile read first; `found` is that object, by default the one in
        the cache. Raises NotFound if the object is deleted, and TypeError for a class without a status."""
        if self.reported is None:
            self._require_status()
            if found is None:
                found = await self.client.get(self._primary, self.request.name, self.request.namespace)
            self.reported = self._begin_report(found)
        return self.reported.view

    def status_report(self) -> StatusReport:
        """Returns the collected status, which begins as the status of the object that the reconcile read first. Raises
        LookupError for an object that is not in the cache, and TypeError for a class without a status."""
        if self.reported is None:
            self._require_status()
            found = None if self.entry is None or self._begins_anew else self.entry.object
            if found is None:
                found = self._controller.primary_object(self.request)
            if found is None:
                raise LookupError(f"{self.request} is deleted, or not in the cache yet: use `await ctx.load_status()`")
            self.reported = self._begin_report(found)
        return self.reported

    def _begin_report(self, found: AnyObject) -> StatusReport:
        """Returns a report that begins with the status of the object that was read first: by default, of this one."""
        if not self.seen and not self._begins_anew:
            self.seen.append(found)
        return self.report_of(found if self._begins_anew else self.seen[0])

    def report_of(self, found: AnyObject) -> StatusReport:
        """Returns a report that begins with the status of an object, for the generation that was read first."""
        generation = _generation(self.seen[0] if self.seen else found)
        model = _status_class(self._primary)
        return StatusReport(_reported(found), self.clock, model, generation, self.own_writes)

    def _require_status(self) -> None:
        if not remedies.has_status(self._primary):
            raise remedies.no_status(self._primary)

    def discard_status(self) -> None:
        """Drops the collected status: no status is written, unless the status is used again."""
        self.reported, self._begins_anew = None, True

    async def finalize(self, finalizer: str, clean_up: Callable[[], Awaitable[None]]) -> bool:
        """Manages a finalizer, so that the object is deleted only after the cleanup.

        Adds the finalizer while the object is not being deleted, and returns False. Once the object is being deleted,
        runs `clean_up`, removes the finalizer and returns True: no work is left. If `clean_up` raises, the finalizer
        stays and the reconcile is retried.

            if await ctx.finalize("example.com/bucket", lambda: storage.remove(request.name)):
                return None
        """
        found = await self.object()
        if found is None:
            return True
        tree = metadata_of(found)
        present = finalizer in meta.finalizers(tree)
        if not meta.is_being_deleted(tree):
            if not present:
                await self.write_finalizers(tree, [*meta.finalizers(tree), finalizer])
            return False
        if present:
            await clean_up()
            await self.write_finalizers(tree, [item for item in meta.finalizers(tree) if item != finalizer])
        return True

    async def write_finalizers(self, tree: Object, finalizers: list[str]) -> None:
        """Writes the list of finalizers, if the object is unchanged since the read."""
        change = {"metadata": {"resourceVersion": meta.resource_version(tree), "finalizers": finalizers or None}}
        try:
            kind = self._primary._replace(cls=None)
            found = await self.client.patch(kind, merge(change), self.request.name, self.request.namespace)
        except NotFound:
            if finalizers:
                raise
            return
        if remedies.has_status(self._primary):
            await self.load_status(found)

    # Called when the status is written.

    async def patch_status(self, patch: Patch) -> Object:
        kind, request = self._primary._replace(cls=None), self.request
        try:
            found = await self.client.patch(kind, patch, request.name, request.namespace, subresource="status")
        except NotFound as error:
            if "status" in (await self.api.resource(kind)).subresources:
                raise
            raise NotFound(remedies.no_status_on_server(kind)) from error
        return cast(Object, found)

    async def live(self) -> Object:
        return tree_of(await self.api.get(self._primary, self.request.name, self.request.namespace))

    # Called by the client.

    def record_own_write(self, before: str, after: str) -> None:
        self.own_writes[before] = after

    def record_lookup(self, lookup: Lookup) -> None:
        if lookup not in self.lookups:
            self.lookups.add(lookup)
            self._controller.lookups.add(self.request, lookup)

    def record_lookups(self, lookups: frozenset[Lookup]) -> None:
        """Records many lookups at once; cheap if the previous run looked up the same objects."""
        if lookups <= self._controller.lookups.of(self.request):
            self.lookups |= lookups
        else:
            for lookup in lookups:
                self.record_lookup(lookup)

    def note(self, text: Any) -> None:
        """Attaches a note to the record of this reconcile, for later inspection."""
        self.run.notes.append(text)

    def missing_right(self, kind: KindRef, resource: str, verb: str) -> str:
        """Returns the remedy for a request that the server forbids."""
        host = self._controller
        return remedies.missing_right(host.name, host.watched, host.primary, kind, resource, verb)

    def undeclared(self, kind: KindRef) -> None:
        self._controller.warn_undeclared(kind)


def _owned(child: Resource, parent: Object) -> Resource:
    """Returns a copy of an object with `parent` as its controller."""
    made = child.edit()
    metadata, where = made.metadata, parent["metadata"]["namespace"]
    metadata.namespace = metadata.namespace or where
    known: Object = {"namespace": metadata.namespace}
    if metadata.owner_references:
        known["ownerReferences"] = [each.to_json() for each in metadata.owner_references]
    owners.set_controller(parent, {"metadata": known})
    metadata.owner_references = [OwnerReference.from_json(each) for each in known["ownerReferences"]]
    return made


def _status_class(kind: KindRef) -> type[Model] | None:
    """Returns the class of the status of a kind; None for an untyped status."""
    if kind.cls is None or kind.metadata_only:
        return None
    field = fields_of(kind.cls).by_wire.get("status")
    return field.shape.model if field is not None and field.shape is not None else None


def _generation(obj: AnyObject) -> int:
    return obj.get("metadata", {}).get("generation", 0) if isinstance(obj, dict) else obj.metadata.generation or 0


def _reported(obj: AnyObject) -> Object:
    """Returns the parts of an object that `Status` needs."""
    if not isinstance(obj, Resource) or "status" not in obj.__struct_fields__:
        return tree_of(obj)
    at, status = obj.metadata, getattr(obj, "status", None)
    known: Object = {"uid": at.uid, "resourceVersion": at.resource_version, "generation": at.generation}
    return {"metadata": known, "status": status.to_json() if isinstance(status, Model) else status}


class _Log(logging.LoggerAdapter[logging.Logger]):
    """Prefixes each line with the controller, key and ID, and adds these as fields for structured handlers."""

    def __init__(self, logger: logging.Logger, ctx: Context[Any]) -> None:
        super().__init__(logger, {})
        self._ctx = ctx

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        about: dict[str, str] = self._ctx.log_fields()
        kwargs["extra"] = {**about, **(kwargs.get("extra") or {})}
        return f"{about['controller']} {about['key']} [{str(about['reconcile_id'])[:8]}] {msg}", kwargs
