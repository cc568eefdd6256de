"""What a controller is told about itself: which kinds it is about, and how it works."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

from setpoint.cache.entry import Held
from setpoint.client.kinds import Kind, kind_of
from setpoint.controller.context import Context
from setpoint.controller.predicate import Predicate
from setpoint.controller.queue import LOW_PRIORITY
from setpoint.controller.ratelimit import RateLimiter
from setpoint.controller.request import Request, Result
from setpoint.controller.source import Source
from setpoint.controller.suspension import asks
from setpoint.controller.tracing import Tracer
from setpoint.controller.watch import Owned, Watch, for_nobody

if TYPE_CHECKING:
    from setpoint.controller.run_record import Run

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
    threads: int
    timeout: float | None
    sync_timeout: float | None
    limiter: Callable[[], RateLimiter] | None
    initial_priority: int
    resync: float | None
    debounce: float
    min_interval: float
    own_status_triggers: bool
    condition_events: Sequence[str]
    object_metrics: bool
    suspend: Callable[[Any], str] | None
    leader_election: bool
    field_manager: str
    extra_rules: Sequence[Mapping[str, Any]]
    keep_runs: int
    tracer: Tracer | None


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
    # How many threads there are for what blocks (`ctx.in_thread`); they are made when they are needed.
    threads: int = 4
    # Seconds that a reconcile may take. None: as long as it likes.
    timeout: float | None = 300.0
    # Seconds until its sources must have told everything. None: as long as they like.
    sync_timeout: float | None = 120.0
    # How long retries wait; by default from 5 ms to 1000 s, doubling.
    limiter: Callable[[], RateLimiter] | None = None
    # The priority of what was there at the start.
    initial_priority: int = LOW_PRIORITY
    # Every so many seconds, give or take a tenth by chance, each object is reconciled though nothing changed. None: no.
    resync: float | None = None
    # Seconds for which what happens to an object is gathered before it is reconciled.
    debounce: float = 0.0
    # Seconds between the beginnings of two reconciles of one object.
    min_interval: float = 0.0
    # Whether its own writes of the status bring a request back.
    own_status_triggers: bool = False
    # The conditions of `ctx.status` that make an event when their status flips.
    condition_events: Sequence[str] = ("Ready",)
    # Whether there are measurements of each single object: as many series as there are objects.
    object_metrics: bool = False
    # Says why an object is left alone although its label and annotation do not ask for it; empty: it is not.
    suspend: Callable[[Any], str] | None = None
    # Whether it works only where its manager leads.
    leader_election: bool = True
    # As whom it applies; by default its name.
    field_manager: str = ""
    # Rules of RBAC that nobody can guess: for what it does beside its kinds.
    extra_rules: Sequence[Mapping[str, Any]] = field(default=())
    # How many reconciles are remembered.
    keep_runs: int = 256
    # Makes a span of every reconcile: OpenTelemetry's, or one like it.
    tracer: Tracer | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("a controller without workers does nothing: concurrency is at least 1")
        if self.threads < 1:
            raise ValueError("what blocks needs a thread: threads is at least 1")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError("a reconcile needs time: timeout is above 0, or None for no limit")
        if self.resync is not None and self.resync <= 0:
            raise ValueError("resync is seconds above 0, or None for never")
        if self.debounce < 0 or self.min_interval < 0:
            raise ValueError("debounce and min_interval are seconds, not below 0")

    def primary(self) -> Watch | None:
        """The objects that are reconciled."""
        if self.kind is None:
            return None
        watch = self.kind if isinstance(self.kind, Watch) else Watch(self.kind, namespaces=tuple(self.namespaces))
        if self.resync is not None:
            watch = replace(watch, resync=self.resync)
        predicates = (*watch.predicates, *self.predicates)
        if not predicates:
            return watch
        # Whatever counts otherwise, who is let go on must be looked at again.
        counts = Predicate(lambda change: all(each(change) for each in predicates), "predicates")
        resumed = Predicate(lambda change: self.why_suspended(change.old) != self.why_suspended(change.new), "suspend")
        return watch.with_handler(watch.handler, [counts | resumed])

    def why_suspended(self, held: Held[Any] | None) -> str:
        """Why an object is to be left alone; empty: it is not."""
        return asks(held) or (self.suspend(held.object) if self.suspend is not None and held is not None else "")

    def sources(self, primary: Watch | None) -> list[Source]:
        """All that there is to hear from, beginning with the objects themselves."""
        namespaces = tuple(self.namespaces)
        found: list[Source] = [primary] if primary is not None else []
        found += [
            Owned.like(each) if isinstance(each, Watch) else Owned(each, namespaces=namespaces) for each in self.owns
        ]
        found += self.watches
        known = {(source.cluster, kind_of(source.kind)) for source in found if isinstance(source, Watch)}
        for each in self.reads:
            watch = each if isinstance(each, Watch) else Watch(each, namespaces=namespaces)
            if (watch.cluster, kind_of(watch.kind)) not in known:
                found.append(watch.with_handler(for_nobody))
        return found
