"""What is kept of each reconcile: why it ran, what it read and wrote, how it ended and how long it took. A controller
keeps the last few hundred, and of each object the last; `trace`, the debug page and the hot-loop detector read them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec

from setpoint.controller.request import Request, Trigger
from setpoint.objects.gvk import GroupVersionKind

# How a reconcile ends; the first four are the words of controller-runtime's metrics.
SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER = "success", "error", "requeue", "requeue_after"
TERMINAL, TIMEOUT, CONFLICT, CANCELLED = "terminal", "timeout", "conflict", "cancelled"
# So many of its reads are told one by one.
MOST_READS = 32


class Access(NamedTuple):
    """What a server was asked for: what it takes rights to do."""

    kind: GroupVersionKind
    subresource: str
    verb: str  # as RBAC says it; an apply is a patch


class Read(msgspec.Struct, gc=False):
    """One look at what is: at an object, or at all of a kind in a namespace (or everywhere) with some labels."""

    kind: GroupVersionKind
    # Empty for a list.
    object: str
    # Of the object, or of the list; an object that is not there has none.
    resource_version: str
    from_server: bool = False
    namespace: str = ""
    selector: str = ""
    # How many a list had.
    count: int = 0


class Write(NamedTuple):
    """One request that changes something."""

    verb: str  # create, update, patch, apply, delete, deletecollection
    kind: GroupVersionKind
    object: str
    subresource: str = ""
    resource_version: str = ""
    # It would have changed nothing, and was not sent.
    skipped: bool = False

    def __str__(self) -> str:
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.kind.kind}{below} {self.object}{' (skipped: no change)' if self.skipped else ''}"


@dataclass(slots=True)
class Run:
    """One reconcile."""

    id: str
    controller: str
    request: Request
    why: tuple[Trigger, ...]
    # How many more reasons there were.
    more: int
    priority: int
    # Which attempt this is since the last success: 0 is the first.
    attempt: int
    # Seconds it waited in the queue after it was due.
    waited: float
    began: datetime
    started: float
    # The how manieth it is of this object, since the controller began.
    number: int = 0
    seconds: float = 0.0
    result: str = ""
    error: BaseException | None = None
    requeue_after: float | None = None
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    # How many more there were.
    more_reads: int = 0
    # What higher styles have to tell of it, such as the plans of apply sets.
    notes: list[object] = field(default_factory=list)

    @property
    def wrote(self) -> bool:
        """Whether it changed something."""
        return any(not write.skipped for write in self.writes)

    def let_go(self) -> None:
        """Keeps no objects alive any more: of what changed, that it did is remembered."""
        for trigger in self.why:
            trigger.let_go()
        if self.error is not None:
            self.error.__traceback__ = None

    def __str__(self) -> str:
        why = "; ".join(map(str, self.why)) or "no reason given"
        did = "; ".join(map(str, self.writes)) or "wrote nothing"
        how = f"{self.result}: {self.error}" if self.error is not None else self.result
        return f"{self.controller} {self.request} [{self.id[:8]}] because {why} - {did} - {how} ({self.seconds:.3f} s)"
