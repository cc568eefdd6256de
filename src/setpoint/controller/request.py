"""What a reconcile is asked, why, and what it answers."""

from typing import NamedTuple

from setpoint.objects.gvk import GroupVersionKind


class Request(NamedTuple):
    """The object to reconcile, by name: what it looks like is for the reconcile to find out."""

    name: str
    namespace: str = ""
    # Which cluster it lives in, for controllers of several; empty for the only one.
    cluster: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone; with several clusters, `cluster:` before it."""
        key = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.cluster}:{key}" if self.cluster else key

    def __str__(self) -> str:
        return self.key


class Trigger(NamedTuple):
    """One reason to reconcile: what happened to which object. A request gathers them until its turn comes."""

    event: str  # created, updated, deleted, resync, initial, timer, retry, requeue, requested
    source: str = ""  # the name of the source that told of it
    kind: GroupVersionKind | None = None
    object: str = ""  # `namespace/name` of the object that changed; empty for what is no object
    resource_version: str = ""
    # The paths that differ, for an update: the first few of them.
    fields: tuple[str, ...] = ()
    # What the write of that version says it came from, where the server tells.
    cause: str = ""

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
