"""What a reconcile is asked, why, and what it answers."""

from typing import Any, NamedTuple

from setpoint.cache.informer import Change
from setpoint.client.kinds import tree_of
from setpoint.controller.difference import changed_paths
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Reason


class Request(NamedTuple):
    """The object to reconcile, by name: what it looks like is for the reconcile to find out."""

    name: str
    namespace: str = ""
    # Which cluster it lives in, for controllers of several; empty for the only one.
    cluster: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone; with several clusters, `cluster:` before it."""
        return f"{self.cluster}:{self.object}" if self.cluster else self.object

    @property
    def object(self) -> str:
        """The key of the object where it lives."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return self.key


class Trigger:
    """One reason to reconcile: what happened to which object. A request gathers them until its turn comes.

    `fields` are the paths that an update changed, the first few of them. They are found when somebody asks: most never
    do.
    """

    __slots__ = ("_change", "_fields", "event", "kind", "object", "previous_version", "resource_version", "source")

    def __init__(
        self,
        event: str,
        source: str = "",
        kind: GroupVersionKind | None = None,
        object: str = "",  # noqa: A002 - what it is
        resource_version: str = "",
        change: Change[Any] | None = None,
    ) -> None:
        # created, updated, deleted, resync, initial, tracked, timer, retry, requeue, requested
        self.event = event
        # The name of the source that told of it.
        self.source = source
        self.kind = kind
        # `namespace/name` of the object that changed; empty for what is no object.
        self.object = object
        self.resource_version = resource_version
        old = change.old if change is not None else None
        # The version before that change, where there was one that we saw.
        self.previous_version = "" if old is None else old.meta.resource_version
        # Only for what an update changed: reasons are kept for a while, and objects that are gone should not be.
        self._change = change if event == "updated" else None
        self._fields: tuple[str, ...] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths that differ, for an update."""
        if self._fields is None:
            change = self._change
            if change is None or change.old is None or change.new is None or change.old is change.new:
                self._fields = ()
            else:
                self._fields = changed_paths(tree_of(change.old.object), tree_of(change.new.object))
        return self._fields

    def let_go(self) -> None:
        """Keeps the objects no longer; the fields that differ are known only if somebody has asked for them."""
        self._change = None

    @property
    def reason(self) -> Reason:
        """As the log keeps it beside what the reconcile writes."""
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
    """What a reconcile asks for when it ends well. None is the same as `Result()`: nothing until something changes."""

    # Seconds until the next reconcile; None: only when something changes.
    requeue_after: float | None = None
    # The priority of that reconcile; None: that of this one.
    priority: int | None = None


class TerminalError(Exception):
    """A failure that trying again cannot mend: it is reported, and the object waits for its next change."""


class Requeue(Exception):  # noqa: N818 - a signal, no error
    """Raised to end a reconcile at once and have it again: after some seconds, or with backoff if none are given."""

    def __init__(self, after: float | None = None, why: str = "") -> None:
        super().__init__(why or "asked for another turn")
        self.after = after
