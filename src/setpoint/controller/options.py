"""The options of a controller: the kinds that are reconciled and watched, and the behavior of the workers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

from setpoint.client.kinds import Kind, kind_of
from setpoint.controller.context import Context
from setpoint.controller.predicate import Predicate
from setpoint.controller.queue import LOW_PRIORITY
from setpoint.controller.ratelimit import RateLimiter
from setpoint.controller.request import Request, Result
from setpoint.controller.source import Source
from setpoint.controller.suspension import suspension_reason
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.tracing import Tracer
from setpoint.controller.watch import Owned, Watch, for_none

if TYPE_CHECKING:
    from setpoint.controller.run_record import ReconcileRecord

AsyncReconcile: TypeAlias = Callable[[Context[Any], Request], Awaitable["Result | None"]]
# A `def` function runs in a thread.
BlockingReconcile: TypeAlias = Callable[[SyncContext[Any], Request], "Result | None"]
Reconcile: TypeAlias = AsyncReconcile | BlockingReconcile


class ReconcileObserver(Protocol):
    """Observes the reconciles of a controller, for metrics and traces."""

    def started(self, run: "ReconcileRecord") -> None: ...

    def finished(self, run: "ReconcileRecord") -> None: ...


class Settings(TypedDict, total=False):
    """The options of a controller as keyword arguments; see `Options` for their meaning.

    settings: Settings = {"owns": ["v1/ConfigMap"], "concurrency": 4, "timeout": 60.0}
    Controller("website", reconcile, kind=Website, **settings)
    """

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
    """The options of a controller.

    Options(kind=Website, owns=["v1/ConfigMap"], predicates=[generation], concurrency=4)
    """

    # The kind whose objects are reconciled; a Watch to restrict the objects.
    kind: Kind[Any] | Watch | None = None
    # The kinds of child objects: a change of a child triggers its controller (owner).
    owns: Sequence[Kind[Any] | Watch] = ()
    # Further sources.
    watches: Sequence[Source] = ()
    # The kinds that are looked up: a change of an object triggers the requests that looked this object up.
    reads: Sequence[Kind[Any] | Watch] = ()
    # The predicates that changes of the reconciled objects must pass.
    predicates: Sequence[Predicate] = ()
    # The watched namespaces; empty: all.
    namespaces: Sequence[str] = ()
    # The number of concurrent reconciles, and of threads for `def` functions; there is never more than one per object.
    concurrency: int = 1
    # The number of threads for blocking functions (`ctx.in_thread`); created on first use.
    threads: int = 4
    # The timeout of a reconcile in seconds. None: no limit.
    timeout: float | None = 300.0
    # The seconds within which all sources must be synced. None: no limit.
    sync_timeout: float | None = 120.0
    # The backoff of retries; by default from 5 ms to 1000 s, doubling.
    limiter: Callable[[], RateLimiter] | None = None
    # The priority of objects that exist at the start.
    initial_priority: int = LOW_PRIORITY
    # Each object is reconciled again after this many seconds (± 10 %, random), even without a change. None: never.
    resync: float | None = None
    # The seconds for which changes of an object are collected before the reconcile.
    debounce: float = 0.0
    # The minimum seconds between the starts of two reconciles of one object.
    min_interval: float = 0.0
    # True if the controller's own status writes trigger a reconcile.
    own_status_triggers: bool = False
    # The conditions of `ctx.status` that emit an event when their status flips.
    condition_events: Sequence[str] = ("Ready",)
    # True to export metrics of every object: one series per object.
    object_metrics: bool = False
    # Returns why an object is suspended, in addition to the suspend label and annotation; empty: not suspended.
    suspend: Callable[[Any], str] | None = None
    # True if the controller runs only while its manager leads.
    leader_election: bool = True
    # The field manager of applies; by default the name of the controller.
    field_manager: str = ""
    # Additional RBAC rules that cannot be derived from the declared kinds.
    extra_rules: Sequence[Mapping[str, Any]] = field(default=())
    # The number of reconciles that are kept for inspection.
    keep_runs: int = 256
    # Creates a span for every reconcile: an OpenTelemetry tracer or a compatible one.
    tracer: Tracer | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        if self.threads < 1:
            raise ValueError("threads must be at least 1")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError("timeout must be greater than 0, or None for no limit")
        if self.resync is not None and self.resync <= 0:
            raise ValueError("resync must be greater than 0, or None for never")
        if self.debounce < 0 or self.min_interval < 0:
            raise ValueError("debounce and min_interval must not be negative")

    def primary(self) -> Watch | None:
        """Returns the watch of the reconciled objects; None without a kind."""
        if self.kind is None:
            return None
        watch = self.kind if isinstance(self.kind, Watch) else Watch(self.kind, namespaces=tuple(self.namespaces))
        if self.resync is not None:
            watch = replace(watch, resync=self.resync)
        predicates = (*watch.predicates, *self.predicates)
        if not predicates:
            return watch
        # The end of a suspension must trigger a reconcile, even if the predicates do not pass.
        counts = Predicate(lambda change: all(each(change) for each in predicates), "predicates")
        resumed = Predicate(
            lambda change: suspension_reason(change.old, self.suspend) != suspension_reason(change.new, self.suspend),
            "suspend",
        )
        return watch.with_handler(watch.handler, [counts | resumed])

    def sources(self, primary: Watch | None) -> list[Source]:
        """Returns all sources, beginning with the reconciled objects."""
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
                found.append(watch.with_handler(for_none))
        return found
