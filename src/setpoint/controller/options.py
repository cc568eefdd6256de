"""What a controller is told about itself: which kinds it is about, and how it works."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

from setpoint.client.kinds import Kind
from setpoint.controller.context import Context
from setpoint.controller.predicate import Predicate
from setpoint.controller.queue import LOW_PRIORITY
from setpoint.controller.ratelimit import RateLimiter
from setpoint.controller.request import Request, Result
from setpoint.controller.source import Source
from setpoint.controller.watch import Watch

if TYPE_CHECKING:
    from setpoint.controller.run import Run

# The annotation that has an object left alone while it is "true".
PAUSED = "setpoint.dev/paused"

Reconcile: TypeAlias = Callable[[Context, Request], Awaitable["Result | None"]]


class Observer(Protocol):
    """Is told what a controller does, for metrics and traces."""

    def started(self, run: "Run") -> None: ...

    def finished(self, run: "Run") -> None: ...


class Settings(TypedDict, total=False):
    """The options by name, beside the kind; `Options` says what each means."""

    owns: Sequence[Kind[Any] | Watch]
    watches: Sequence[Source]
    reads: Sequence[Kind[Any] | Watch]
    predicates: Sequence[Predicate]
    namespaces: Sequence[str]
    concurrency: int
    timeout: float | None
    sync_timeout: float | None
    limiter: Callable[[], RateLimiter] | None
    initial_priority: int
    debounce: float
    min_interval: float
    own_status_triggers: bool
    leader_election: bool
    field_manager: str
    extra_rules: Sequence[Mapping[str, Any]]
    keep_runs: int


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a controller works."""

    # The kind whose objects are reconciled; a Watch where it takes more to say which.
    kind: Kind[Any] | Watch | None = None
    # The kinds of the objects that it makes for them: a change of one has its controller reconciled.
    owns: Sequence[Kind[Any] | Watch] = ()
    # Whatever else there is to hear of.
    watches: Sequence[Source] = ()
    # The kinds that it looks things up in: what a reconcile looked up brings it back when it changes.
    reads: Sequence[Kind[Any] | Watch] = ()
    # What changes of the objects themselves count.
    predicates: Sequence[Predicate] = ()
    # Where it looks; none: everywhere.
    namespaces: Sequence[str] = ()
    # How many reconciles run at once; of one object never more than one.
    concurrency: int = 1
    # Seconds that a reconcile may take. None: as long as it likes.
    timeout: float | None = 300.0
    # Seconds until its sources must have told everything. None: as long as they like.
    sync_timeout: float | None = 120.0
    # How long retries wait; by default from 5 ms to 1000 s, doubling.
    limiter: Callable[[], RateLimiter] | None = None
    # The priority of what was there at the start.
    initial_priority: int = LOW_PRIORITY
    # Seconds for which what happens to an object is gathered before it is reconciled.
    debounce: float = 0.0
    # Seconds between the beginnings of two reconciles of one object.
    min_interval: float = 0.0
    # Whether its own writes of the status bring a request back.
    own_status_triggers: bool = False
    # Whether it works only where its manager leads.
    leader_election: bool = True
    # As whom it applies; by default its name.
    field_manager: str = ""
    # Rules of RBAC that nobody can guess: for what it does beside its kinds.
    extra_rules: Sequence[Mapping[str, Any]] = field(default=())
    # How many reconciles are remembered.
    keep_runs: int = 256

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("a controller without workers does nothing: concurrency is at least 1")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError("a reconcile needs time: timeout is above 0, or None for no limit")
        if self.debounce < 0 or self.min_interval < 0:
            raise ValueError("debounce and min_interval are seconds, not below 0")
