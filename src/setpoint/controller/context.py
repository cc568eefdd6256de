"""What a reconcile is given: its client, its logger, its time, and why it runs."""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

from setpoint.client.kinds import AnyObject, Kind, KindRef, Obj, metadata_of, tree_of
from setpoint.client.patches import Patch, merge
from setpoint.controller.read_tracker import Look, Lookups
from setpoint.controller.reconcile_client import ReconcileClient
from setpoint.controller.recording_client import NotingClient
from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import Access, Read, Run, Write
from setpoint.controller.status import Status
from setpoint.objects import meta, owners
from setpoint.objects.clock import Clock
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.provenance import Cause
from setpoint.objects.tree import Object
from setpoint.schema.types.meta import OwnerReference
from setpoint.schema.types.model import Model
from setpoint.schema.types.resource import Resource

T = TypeVar("T")
# How many of its reasons a reconcile tells with its writes.
_REASONS = 4


class Host(Protocol):
    """The controller that a reconcile is one of."""

    name: str
    clock: Clock
    recorder: Any
    primary: KindRef | None
    lookups: Lookups
    accesses: set[Access]

    def api_for(self, ctx: "Context", cluster: str) -> NotingClient: ...

    def client_for(self, ctx: "Context", cluster: str) -> ReconcileClient: ...

    def held(self, request: Request) -> Any: ...

    def primary_object(self, request: Request) -> Any: ...

    def undeclared(self, kind: KindRef) -> None: ...

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any: ...


class Context:
    """One reconcile."""

    def __init__(self, controller: Host, run: Run, deadline: float | None) -> None:
        self._controller = controller
        self.run = run
        self.request: Request = run.request
        # When it has to be over, in the clock's monotonic seconds; None: never.
        self.deadline = deadline
        self.looks: set[Look] = set()
        # Something was read: told often, and so without a detour.
        self.saw: Callable[[Read], None] = run.reads.append
        self._clients: dict[str, ReconcileClient] = {}
        # Where it is, for styles that go from state to state; log lines say it.
        self.state = ""

    @property
    def id(self) -> str:
        """The id of this reconcile, as logs and the causes of its writes have it."""
        return self.run.id

    @property
    def why(self) -> tuple[Trigger, ...]:
        """The reasons why it runs."""
        return self.run.why

    @property
    def attempt(self) -> int:
        """How often it was tried since it last succeeded; 0 the first time."""
        return self.run.attempt

    @property
    def clock(self) -> Clock:
        return self._controller.clock

    @property
    def seconds_left(self) -> float | None:
        """How long it may still take."""
        return None if self.deadline is None else max(self.deadline - self.clock.monotonic(), 0.0)

    @cached_property
    def cause(self) -> Cause:
        """What every write of this reconcile says that it comes from."""
        because = tuple(trigger.reason for trigger in self.why[:_REASONS])
        return Cause.reconcile(self._controller.name, self.request.key, self.run.id, because)

    @cached_property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that says with each line which controller, request and reconcile it is about; and, as fields for
        handlers that write those, why it runs and in which state it is."""
        return _Log(logging.getLogger(f"setpoint.controller.{self._controller.name}"), self)

    def about(self) -> dict[str, str]:
        """What each line of the log says that it is about."""
        return {
            "controller": self._controller.name,
            "key": self.request.key,
            "reconcile_id": self.run.id,
            "why": "; ".join(map(str, self.why)),
            "state": self.state,
        }

    @property
    def recorder(self) -> Any:
        """Records events, where the manager has something that does; else None."""
        return self._controller.recorder

    # Reading and writing

    @cached_property
    def client(self) -> ReconcileClient:
        """Reads from the cache, writes to the server; on the cluster that the request is for."""
        return self.cluster(self.request.cluster)

    @cached_property
    def api(self) -> NotingClient:
        """Reads and writes at the server, without the cache."""
        return self._controller.api_for(self, self.request.cluster)

    def cluster(self, name: str) -> ReconcileClient:
        """The same as `client`, for another cluster of the controller. Raises LookupError."""
        found = self._clients.get(name)
        if found is None:
            found = self._clients[name] = self._controller.client_for(self, name)
        return found

    def close(self) -> None:
        """The reconcile is over. Its clients know it: who keeps neither should not have to be looked for in circles."""
        self._clients.clear()
        for name in ("client", "api", "log"):
            self.__dict__.pop(name, None)

    async def object(self) -> Any:
        """The object to reconcile, as the cache has it; None if it is gone. It cannot be changed: `obj.edit()`."""
        try:
            return await self.client.get(self._primary, self.request.name, self.request.namespace)
        except NotFound:
            return None

    def lookup(self, kind: Kind[Any], name: str, namespace: str = "", *, cluster: str | None = None) -> Any:
        """An object as the cache has it at this moment, for functions that cannot wait; None where it has none. Its
        changes bring the request back. Raises NotCached for a kind that is not among `reads`."""
        return self.cluster(self.request.cluster if cluster is None else cluster).peek(kind, name, namespace)

    @property
    def _primary(self) -> KindRef:
        if self._controller.primary is None:
            raise LookupError(f"{self._controller.name} is for no kind: read what it needs with ctx.client")
        return self._controller.primary

    def own(self, child: Obj) -> Obj:
        """A copy of an object that makes it a child of the one to reconcile: in its namespace, controlled by it, and
        gone with it.

        Raises LookupError where that is gone, and ValueError where another controls the child.
        """
        held = self._controller.held(self.request)
        if held is None:
            raise LookupError(f"{self.request} is gone: nothing can belong to it")
        gvk, where = self._primary.gvk, held.meta
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

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """What a function returns that blocks: it runs in a thread of the controller, and others go on meanwhile.

        Who is cancelled stops waiting for it; what has begun in a thread cannot be ended."""
        found: T = await self._controller.in_thread(function, *args)
        return found

    # Status and finalizers

    async def load_status(self, found: Any = None) -> Status:
        """Has `status` at hand: of the object as it was just found, or as it is found now. Raises NotFound where it is
        gone."""
        if "status" not in self.__dict__:
            if found is None:
                found = await self.client.get(self._primary, self.request.name, self.request.namespace)
            self.__dict__["status"] = Status(_reported(found), self.clock)
        status: Status = self.__dict__["status"]
        return status

    @cached_property
    def status(self) -> Status:
        """The status to report, which is written once when the reconcile has ended, if it changed."""
        found = self._controller.primary_object(self.request)
        if found is None:
            raise LookupError(f"{self.request} is gone, or not in the cache yet: use `await ctx.load_status()`")
        return Status(_reported(found), self.clock)

    async def finalize(self, finalizer: str, clean_up: Callable[[], Awaitable[None]]) -> bool:
        """Keeps the object from going before it was cleaned up after.

        While the object lives it is given the finalizer, and False is returned. Once it is to be deleted, `clean_up`
        runs, the finalizer is taken away, and True is returned: there is nothing left to do. What `clean_up` raises
        leaves the finalizer where it is, and the reconcile is tried again.
        """
        found = await self.object()
        if found is None:
            return True
        tree = metadata_of(found)
        present = finalizer in meta.finalizers(tree)
        if not meta.is_being_deleted(tree):
            if not present:
                await self._put_finalizers(tree, [*meta.finalizers(tree), finalizer])
            return False
        if present:
            await clean_up()
            await self._put_finalizers(tree, [item for item in meta.finalizers(tree) if item != finalizer])
        return True

    async def _put_finalizers(self, tree: Object, finalizers: list[str]) -> None:
        """Writes the list of finalizers, if the object is still the one that was read."""
        change = {"metadata": {"resourceVersion": meta.resource_version(tree), "finalizers": finalizers or None}}
        try:
            kind = self._primary._replace(cls=None)
            found = await self.client.patch(kind, merge(change), self.request.name, self.request.namespace)
        except NotFound:
            if finalizers:
                raise
            return
        # The status is written on top of our own change, not in conflict with it.
        if "status" in self.__dict__:
            self.status.moved_to(found)
        else:
            await self.load_status(found)

    # What the status is written with.

    async def patch_status(self, patch: Patch) -> Object:
        kind = self._primary._replace(cls=None)
        found = await self.client.patch(kind, patch, self.request.name, self.request.namespace, subresource="status")
        return cast(Object, found)

    async def live(self) -> Object:
        return tree_of(await self.api.get(self._primary, self.request.name, self.request.namespace))

    # What the client tells.

    def looked(self, look: Look) -> None:
        if look not in self.looks:
            self.looks.add(look)
            self._controller.lookups.add(self.request, look)

    def looked_again(self, looks: frozenset[Look]) -> None:
        """The same for many at once, at which the run before may have looked as well."""
        if looks <= self._controller.lookups.of(self.request):
            self.looks |= looks
        else:
            for look in looks:
                self.looked(look)

    def accessed(self, access: Access) -> None:
        self._controller.accesses.add(access)

    def wrote(self, write: Write) -> None:
        self.run.writes.append(write)

    def note(self, what: Any) -> None:
        """Keeps something beside the record of this reconcile, for who looks at it later."""
        self.run.notes.append(what)

    def undeclared(self, kind: KindRef) -> None:
        self._controller.undeclared(kind)


def _owned(child: Resource, parent: Object) -> Resource:
    """A copy of an object, with `parent` as its controller."""
    made = child.edit()
    metadata, where = made.metadata, parent["metadata"]["namespace"]
    metadata.namespace = metadata.namespace or where
    known: Object = {"namespace": metadata.namespace}
    if metadata.owner_references:
        known["ownerReferences"] = [each.to_json() for each in metadata.owner_references]
    owners.set_controller(parent, {"metadata": known})
    metadata.owner_references = [OwnerReference.from_json(each) for each in known["ownerReferences"]]
    return made


def _reported(obj: AnyObject) -> Object:
    """What a report needs to know of an object."""
    if not isinstance(obj, Resource) or "status" not in obj.__struct_fields__:
        return tree_of(obj)
    at, status = obj.metadata, getattr(obj, "status", None)
    known: Object = {"uid": at.uid, "resourceVersion": at.resource_version, "generation": at.generation}
    return {"metadata": known, "status": status.to_json() if isinstance(status, Model) else status}


class _Log(logging.LoggerAdapter[logging.Logger]):
    """Puts the controller, the key and the id before each line, and beside it for handlers that write fields."""

    def __init__(self, logger: logging.Logger, ctx: Context) -> None:
        super().__init__(logger, {})
        self._ctx = ctx

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        about: dict[str, str] = self._ctx.about()
        kwargs["extra"] = {**about, **(kwargs.get("extra") or {})}
        return f"{about['controller']} {about['key']} [{str(about['reconcile_id'])[:8]}] {msg}", kwargs
