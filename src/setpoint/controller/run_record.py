"""The record of each reconcile: its triggers, reads, writes, result and duration.

A controller keeps the last few hundred records and the last one of each object; `trace`, the debug page and the hot
loop detection read them.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec

from setpoint.controller.request import Request, Trigger
from setpoint.objects.gvk import GroupVersionKind

# The results of a reconcile; the first four are those of controller-runtime's metrics.
SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER = "success", "error", "requeue", "requeue_after"
TERMINAL, TIMEOUT, CONFLICT, CANCELLED = "terminal", "timeout", "conflict", "cancelled"
# The number of reads that are kept individually.
MOST_READS = 32


class Access(NamedTuple):
    """An API access, which requires a permission."""

    kind: GroupVersionKind
    subresource: str
    verb: str  # as in RBAC; an apply is a patch


class Read(msgspec.Struct, gc=False):
    """One read: an object, or a list of a kind in a namespace (or all) with a label selector."""

    kind: GroupVersionKind
    # Empty for a list.
    object: str
    # The version of the object or list; empty for a missing object.
    resource_version: str
    from_server: bool = False
    namespace: str = ""
    selector: str = ""
    # The number of items of a list.
    count: int = 0


class Write(NamedTuple):
    """One write request."""

    verb: str  # create, update, patch, apply, delete, deletecollection
    kind: GroupVersionKind
    object: str
    subresource: str = ""
    resource_version: str = ""
    # True if not sent, because the write would change no field.
    skipped: bool = False

    def __str__(self) -> str:
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.kind.kind}{below} {self.object}{' (skipped: no change)' if self.skipped else ''}"


@dataclass(slots=True)
class ReconcileRecord:
    """The record of one reconcile."""

    id: str
    controller: str
    request: Request
    why: tuple[Trigger, ...]
    # The number of further triggers.
    more: int
    priority: int
    # The attempt since the last success; 0 is the first.
    attempt: int
    # Seconds in the queue after the request was due.
    waited: float
    began: datetime
    started: float
    # The number of this reconcile among those of the object, since the controller started.
    number: int = 0
    seconds: float = 0.0
    result: str = ""
    error: BaseException | None = None
    requeue_after: float | None = None
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    # The number of further reads.
    more_reads: int = 0
    # Notes of higher layers, such as the plans of apply sets.
    notes: list[object] = field(default_factory=list)

    @property
    def has_writes(self) -> bool:
        """True if the reconcile sent a write."""
        return any(not write.skipped for write in self.writes)

    def release_objects(self) -> None:
        """Releases references to objects; only the record of the changes stays."""
        for trigger in self.why:
            trigger.release_objects()
        if self.error is not None:
            self.error.__traceback__ = None

    def __str__(self) -> str:
        why = "; ".join(map(str, self.why)) or "no reason given"
        did = "; ".join(map(str, self.writes)) or "wrote nothing"
        how = f"{self.result}: {self.error}" if self.error is not None else self.result
        return f"{self.controller} {self.request} [{self.id[:8]}] because {why} - {did} - {how} ({self.seconds:.3f} s)"
