"""The request, triggers and result of a reconcile."""

from typing import Any, NamedTuple

from setpoint.cache.informer import Change
from setpoint.client.kinds import tree_of
from setpoint.controller.difference import changed_paths
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Reason


class Request(NamedTuple):
    """The object to reconcile, by name. The reconcile reads the object itself.

    Request("web", "default")
    """

    name: str
    namespace: str = ""
    # The cluster of the object, for controllers of several clusters; empty for the default one.
    cluster: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name of a cluster-scoped object; prefixed with `cluster:` for another cluster."""
        return f"{self.cluster}:{self.object}" if self.cluster else self.object

    @property
    def object(self) -> str:
        """The key of the object within its cluster."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return self.key


class Trigger:
    """One reason to reconcile: an event of an object. A waiting request collects triggers.

    `fields` are the first paths that an update changed. They are computed on first access, because most are never read.

        controller.enqueue(Request("web", "default"), Trigger("requested", "billing"))
    """

    __slots__ = ("_change", "_fields", "event", "kind", "object", "previous_version", "resource_version", "source")

    def __init__(
        self,
        event: str,
        source: str = "",
        kind: GroupVersionKind | None = None,
        object: str = "",  # noqa: A002 - the field's own name
        resource_version: str = "",
        change: Change[Any] | None = None,
    ) -> None:
        # created, updated, deleted, resync, initial, tracked, timer, retry, requeue, requested
        self.event = event
        # The name of the source.
        self.source = source
        self.kind = kind
        # The `namespace/name` of the changed object; empty for other events.
        self.object = object
        self.resource_version = resource_version
        old = change.old if change is not None else None
        # The version before the change, if known.
        self.previous_version = "" if old is None else old.meta.resource_version
        # Kept for updates only: triggers live for a while, and must not keep deleted objects in memory.
        self._change = change if event == "updated" else None
        self._fields: tuple[str, ...] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths that an update changed."""
        if self._fields is None:
            change = self._change
            if change is None or change.old is None or change.new is None or change.old is change.new:
                self._fields = ()
            else:
                self._fields = changed_paths(tree_of(change.old.object), tree_of(change.new.object))
        return self._fields

    def release_objects(self) -> None:
        """Releases the objects. `fields` stays available only if read before."""
        self._change = None

    @property
    def reason(self) -> Reason:
        """The trigger as recorded in the log of writes."""
        if self.kind is None:
            return Reason(self.event, "", self.object or self.source)
        kind = f"{self.kind.kind}.{self.kind.group}" if self.kind.group else self.kind.kind
        return Reason(self.event, kind, self.object, self.resource_version)

    def _key(self) -> tuple[object, ...]:
        return self.event, self.source, self.kind, self.object, self.resource_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trigger) or self.resource_version != other.resource_version:
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.event, self.object, self.resource_version))

    def __repr__(self) -> str:
        return f"Trigger({self})"

    def __str__(self) -> str:
        what = f"{self.kind.kind} {self.object} {self.event}" if self.kind else f"{self.event} {self.object}".strip()
        return f"{what} ({', '.join(self.fields)})" if self.fields else what


class Result(NamedTuple):
    """The result of a successful reconcile. None is the same as `Result()`: wait for the next change.

    return Result(requeue_after=60.0)
    """

    # Seconds until the next reconcile; None: only when a watched object changes.
    requeue_after: float | None = None
    # The priority of that reconcile; None: the priority of this one.
    priority: int | None = None


class TerminalError(Exception):
    """A failure that a retry cannot fix: logged, and not retried before the next change.

    raise TerminalError(f"unknown region {website.spec.region!r}")
    """


class Requeue(Exception):  # noqa: N818 - a signal, no error
    """Raised to end a reconcile at once and to requeue the request: after some seconds, or with backoff.

    raise Requeue(5.0, "waiting for the load balancer")
    """

    def __init__(self, after: float | None = None, why: str = "") -> None:
        super().__init__(why or "requeue requested")
        self.after = after
