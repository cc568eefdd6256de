"""The context of a request: the user, the parsed request, the services of the server, and warnings for the client."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import parse_qs

from setpoint.client.request_priority import RequestPriority, request_priority
from setpoint.node.functions import NodeAgents
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Timeout
from setpoint.objects.field import FieldError
from setpoint.objects.gvk import GroupKind
from setpoint.objects.ids import Ids
from setpoint.objects.metrics import Collector
from setpoint.objects.provenance import CAUSE_HEADER, Actor, Cause
from setpoint.objects.tree import Object
from setpoint.schema.weight import HEAVY
from setpoint.server import ports
from setpoint.server.message import Request, Seat
from setpoint.server.offload import LEAST, Offload
from setpoint.server.outbound.service_resolver import ServiceResolver
from setpoint.server.ports import (
    Definitions,
    ForkHost,
    LoginHost,
    PastCopies,
    ProgressReporter,
    QuotaLedger,
    TokenIssuer,
    User,
)
from setpoint.server.registry.allocations import Allocations
from setpoint.server.registry.indexes import View, Views
from setpoint.server.registry.ip_addresses import address_writes
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR, Pool
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.watch.history_window import HistoryWindow
from setpoint.server.watch.revision_times import Moments
from setpoint.server.watch.starts import StartTurns
from setpoint.store.cached import TermIndexes
from setpoint.store.contract import Expect, Item, OutcomeUnknown, StateReads, Store, Unreachable, Write

if TYPE_CHECKING:
    from setpoint.server.outbound.webhook_client import WebhookClient  # most servers never call a webhook
    from setpoint.server.outbound.webhook_metrics import WebhookMetrics
    from setpoint.telemetry.recorder import TelemetryRecorder  # most servers receive no telemetry

# Longer queries are not cached, so that the cache stays small.
_REMEMBERED = 256
_READS = frozenset(("get", "list", "watch"))
_ANONYMOUS = "system:anonymous"
# etcd keeps superseded revisions for kube-apiserver as long.
HISTORY_SECONDS = 300.0
# The default lifetime of Events, as on kube-apiserver.
EVENT_SECONDS = 3600.0
# The right to state causes as facts. The right is cluster-wide, because a cause names objects of any namespace.
# The number of concurrent admission functions that may block.
FUNCTION_THREADS = 16
_ASSERT = RequestInfo("assert", "", is_resource=True, group="setpoint.dev", version="v1", resource="causes")
T = TypeVar("T")


@lru_cache(maxsize=256)
def _read_query(text: str) -> Mapping[str, Sequence[str]]:
    """Parses a query. The result is cached, because clients repeat the same queries."""
    return parse_qs(text, keep_blank_values=True)


@dataclass(eq=False)
class Services:
    """The services that verbs use. Each server has one instance; its registry is replaced when a definition changes.

    All writes of the server go through `commit`, `transact` or `persist`, so that its views are updated at once.
    """

    store: Store
    clock: Clock
    ids: Ids
    registry: Registry
    admission: "Admission" = field(repr=False)
    definitions: Definitions = field(repr=False)
    authenticator: "Authenticator" = field(repr=False)
    authorizer: "Authorizer" = field(repr=False)
    # Creates an object as a request does, through the admission chain.
    create_object: "Callable[[Context, Resource, Object, Any], Awaitable[object]]" = field(repr=False)
    # Issues the tokens of service accounts.
    issuer: TokenIssuer = field(repr=False)
    reactions: "Sequence[Reaction]" = ()
    # The sources of `/metrics`.
    measured: list[Collector] = field(default_factory=list, repr=False)
    # The steps of the start, by the names of kube-apiserver's hooks; True if a step is complete.
    start_steps: dict[str, bool] = field(default_factory=dict, repr=False)
    # True if the server is shutting down: clients should connect to another one.
    is_stopping: bool = False
    # The checks of the components that ComponentStatuses show, by name; a check raises an exception if it fails.
    components: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict, repr=False)
    # The range of the addresses of Services.
    service_cidr: str = SERVICE_CIDR
    # Resolves the services that webhooks and APIServices refer to.
    resolver: ServiceResolver = field(default_factory=ServiceResolver, repr=False)
    # The agents of nodes, which have the logs, processes and usage of pods.
    nodes: NodeAgents = field(default_factory=NodeAgents, repr=False)
    # Divides the starts of watches among turns of the event loop.
    starts: StartTurns = field(default_factory=StartTurns, repr=False)
    # The open watches.
    watches: set[ProgressReporter] = field(default_factory=set, repr=False)
    # Counts the usage of quotas; None if quotas are not counted.
    ledger: QuotaLedger | None = field(default=None, repr=False)
    # For this many seconds, a superseded revision can be listed and watched from without the right to the history.
    history_window_seconds: float = HISTORY_SECONDS
    # The lifetime of Events.
    event_ttl_seconds: float = EVENT_SECONDS
    # Creates and serves copies of the control plane; None if this server has none.
    forks: ForkHost | None = field(default=None, repr=False)
    # Return copies of past values outside of the store.
    past_copies: list[Callable[[], PastCopies]] = field(default_factory=list, repr=False)
    # The logins of browsers; None if this server has no dashboard.
    logins: LoginHost | None = field(default=None, repr=False)
    # The traces, metrics and logs of services; None if this server receives none.
    telemetry: "TelemetryRecorder | None" = field(default=None, repr=False)
    # The reads for requests that accept an older state; the store itself if its reads cost no more.
    any_age: StateReads = field(init=False, repr=False)
    # The objects in memory by labels, fields and owners; None if the store has no objects in memory.
    term_indexes: TermIndexes | None = field(default=None, repr=False)
    # The reason why the server makes no outbound calls; empty if the server makes them.
    offline: str = ""
    # Returns True for the resources that other processes can use; None if all.
    shows: Callable[[Resource], bool] | None = field(default=None, repr=False)
    # Returns the certificate and the key, PEM, by which extension API servers recognize this server; None without one.
    front_proxy: Callable[[], Awaitable[bytes]] | None = field(default=None, repr=False)
    # The priority of requests over the reconciles of controllers in this process; None in virtual time.
    priority: RequestPriority | None = field(init=False, repr=False)
    views: Views = field(init=False, repr=False)
    # Runs long synchronous work in a thread.
    offload: Offload = field(init=False, repr=False)
    # Runs admission functions that may block. They have threads of their own: a function may write a large object.
    blocking_functions: Offload = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.any_age = self.store
        self.components.setdefault("etcd-0", self.check_store)
        self.priority = request_priority(self.clock)
        self.views = Views(self)
        self.offload = Offload(self.clock)
        self.blocking_functions = Offload(self.clock, FUNCTION_THREADS, computes=False)

    def ttl(self, resource: Resource) -> float | None:
        """Returns the seconds after which the store removes an object; None if never."""
        return self.event_ttl_seconds if resource.strategy.expires else None

    def reads(self, resource_version: str) -> StateReads:
        """Returns the reads for a request with this resourceVersion: a request without one gets the newest state."""
        return self.any_age if resource_version else self.store

    async def check_store(self) -> None:
        """Raises an exception if the store cannot be read."""
        await self.store.revision()

    @cached_property
    def namespaces(self) -> View[Object]:
        """All namespaces."""
        return self.views.of("", "v1", "namespaces", lambda tree: tree)

    @cached_property
    def history_window(self) -> HistoryWindow:
        """The age up to which every list and watch may read old revisions."""
        return HistoryWindow(self.clock, self.store, self.history_window_seconds)

    @cached_property
    def allocations(self) -> Allocations:
        """The allocated addresses and ports of Services."""
        return Allocations(self)

    @cached_property
    def moments(self) -> Moments:
        """The revisions by time."""
        return Moments(self.store)

    @cached_property
    def webhooks(self) -> "WebhookClient":
        """The client that calls webhooks. Created on first use, as most servers never call one."""
        from setpoint.server.outbound.call_metrics import CallMetrics
        from setpoint.server.outbound.client import Client
        from setpoint.server.outbound.webhook_client import WebhookClient

        metrics = CallMetrics()
        self.measured.append(metrics)
        client = Client(self.clock, offline=self.offline, metrics=metrics)
        return WebhookClient(client, self.resolver, self.explain_service)

    async def explain_service(self, namespace: str, name: str, program: str = "webhook") -> str:
        """Returns the reason for which a stored Service has no address: its pods are not reachable. Empty otherwise.
        `program` is the kind of program behind the Service."""
        reason, services = self.nodes.unreachable(), self.registry.resource("", "v1", "services")
        if not reason or services is None or await self.store.get(services.storage.key(namespace, name)) is None:
            return ""
        place = f"{namespace}/{name}"
        return (
            f'service "{name}" has no address: {reason}. Run the {program} as a process, and redirect the service '
            f"with --webhook-service {place}=HOST:PORT"
        )

    @cached_property
    def webhook_metrics(self) -> "WebhookMetrics":
        """The metrics of admission webhooks."""
        from setpoint.server.outbound.webhook_metrics import WebhookMetrics

        found = WebhookMetrics(self.clock)
        self.measured.append(found)
        return found

    async def offloaded(self, work: Callable[[], T], size: int, user: str = "") -> T:
        """Returns the result of synchronous work on `size` bytes. Large work runs in a thread, on behalf of a user or
        of the server."""
        return work() if size < LEAST else await self.offload.run(user, work)

    def close(self) -> None:
        """Stops the background work of the server."""
        self.views.close()
        self.offload.close()
        self.blocking_functions.close()
        if self.term_indexes is not None:
            self.term_indexes.close()
        if self.ledger is not None:
            self.ledger.close()
        if "webhooks" in self.__dict__:
            self.webhooks.close()

    async def commit(
        self,
        key: str,
        value: bytes | None,
        expect: Expect,
        actor: Actor,
        cause: Cause | None = None,
        ttl: float | None = None,
    ) -> int:
        """Commits a write to the store, and updates the views."""
        revision = await self.store.commit(key, value, expect, actor, cause, ttl)
        self.views.apply_write(key, value, revision)
        return revision

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        """Commits several writes in one transaction of the store, and updates the views."""
        revision = await self.store.transact(writes, actor, cause)
        for write in writes:
            self.views.apply_write(write.key, write.value, revision)
        return revision

    async def persist(
        self,
        resource: Resource,
        write: Write,
        actor: Actor,
        cause: Cause | None,
        *,
        item: Item | None,
        new: Object | None,
        subresource: str = "",
    ) -> int:
        """Commits a write of a client, and charges the quotas in the same transaction. `item` is the stored object,
        None for a create; `new` is the object to store, None for a delete. Raises Forbidden if a quota is exceeded."""
        if write.value is not None and len(write.value) >= LEAST:
            async with self.views.reading_ahead(write.key, write.value):
                return await self._persist(resource, write, actor, cause, item, new, subresource)
        return await self._persist(resource, write, actor, cause, item, new, subresource)

    async def _persist(
        self,
        resource: Resource,
        write: Write,
        actor: Actor,
        cause: Cause | None,
        item: Item | None,
        new: Object | None,
        subresource: str,
    ) -> int:
        ledger = self.ledger
        also: Sequence[Write] = ()
        if resource.strategy.allocates:
            also = address_writes(self, None if item is None else resource.item(item), new)
        quotas = None if ledger is None else ledger.quotas.view
        if ledger is None or not resource.namespaced or (quotas is not None and quotas.is_empty):
            if also:
                return await self.transact([write, *also], actor, cause)
            key, value, expect, ttl = write
            revision = await self.store.commit(key, value, expect, actor, cause, ttl)
            if resource.storage.prefix in self.views.by_prefix:
                self.views.apply_write(key, value, revision)
            return revision
        return await ledger.commit(
            resource, write, actor, cause, item=item, new=new, subresource=subresource, also=also
        )

    async def after_write(self, context: "Context", resource: Resource, tree: Object) -> None:
        """Runs the reactions to a write of the resource."""
        try:
            for reaction in self._concerned(resource, deletes=False):
                await reaction.after_write(context, resource, tree)
        except Unreachable as error:
            raise _unfinished(error) from error

    async def after_delete(self, context: "Context", resource: Resource, tree: Object) -> None:
        """Runs the reactions to the removal of an object of the resource."""
        try:
            for reaction in self._concerned(resource, deletes=True):
                await reaction.after_delete(context, resource, tree)
        except Unreachable as error:
            raise _unfinished(error) from error

    def _concerned(self, resource: Resource, *, deletes: bool) -> "Sequence[Reaction]":
        # Cached on the resource, so that the cache entry goes away with the resource when its definition changes.
        found: Sequence[Reaction] | None = resource.reacting.get((self, deletes))
        if found is None:
            found = tuple(each for each in self.reactions if each.concerns(resource, deletes=deletes))
            resource.reacting[self, deletes] = found
        return found


def _unfinished(error: Unreachable) -> OutcomeUnknown:
    """Returns the error of a request whose write was made before the store became unreachable: a client must not repeat
    such a request."""
    return OutcomeUnknown(f"the write was made, but a step after it failed: {error}")


class Context:
    """One request on its way through the pipeline."""

    __slots__ = (
        "_query",
        "_weighed",
        "accepted",
        "annotations",
        "audit_id",
        "audit_record",
        "claimed_kind",
        "has_empty_list",
        "headers",
        "impersonator",
        "info",
        "keeps_managers",
        "kept",
        "pool",
        "registry",
        "request",
        "seat",
        "sent_object",
        "services",
        "unread_metadata",
        "user",
        "waited",
        "warnings",
    )

    def __init__(self, services: Services, request: Request, info: RequestInfo, user: User, audit_id: str) -> None:
        self.services = services
        # The registry at the time of the request: one request uses one registry.
        self.registry = services.registry
        if services.shows is not None and not request.peer.in_process:
            self.registry = services.registry.shown(services.shows)
        self.request = request
        self.info = info
        self.user = user
        # The authenticated user, if the request impersonates another one.
        self.impersonator: User | None = None
        self.audit_id = audit_id
        # The texts of the Warning headers, in order.
        self.warnings: dict[str, None] = {}
        # Additional headers of the response.
        self.headers: Sequence[tuple[str, str]] = ()
        # The annotations and the record of the request for the audit log; unused if there is no audit log.
        self.annotations: dict[str, str] = {}
        self.audit_record: Any = None
        # Returns the written object before it gets the types of its kind, which drop empty lists and maps.
        self.sent_object: Callable[[], Any] | None = None
        # True if the body has an empty list that the decoded object lacks, of a kind that counts this as a change.
        self.has_empty_list = False
        # True if the managers of the written object stay as they are, because its changes cannot be attributed.
        self.keeps_managers = False
        # The kind that a body claims, which errors name, if the endpoint writes the object under its own kind.
        self.claimed_kind: GroupKind | None = None
        # Returns the error about metadata that cannot be read, given the rest of the metadata; None without an error.
        self.unread_metadata: Callable[[Object], FieldError] | None = None
        # The addresses and ports that are reserved for the written object until the write is done.
        self.pool: Pool | None = None
        # The seat of the request in flow control; None if flow control is off.
        self.seat: Seat | None = None
        # Large values of the request, kept until `Offload.release` frees them in a thread: freeing an object of 300,000
        # containers takes 20 ms.
        self.kept: list[object] = []
        # The form of the response (`server.codec.negotiation`), if negotiated before the verb runs.
        self.accepted: Any = None
        # The seconds that the request waited for its turn in flow control and for webhooks.
        self.waited = 0.0
        self._query: Mapping[str, Sequence[str]] | None = None
        # The resource of the last question to `is_expensive`, and its weight.
        self._weighed: tuple[Resource, int] | None = None

    async def pause(self) -> None:
        """Lets other requests run. Work that grows with the number of objects or bytes calls this after every slice.
        Raises Timeout if the client of a read has disconnected."""
        if self.seat is None:
            await asyncio.sleep(0)
        else:
            await self.seat.pause()
        outlet = self.request.outlet
        if outlet is not None and outlet.is_disconnected and self.info.verb in _READS:
            # A read can stop here: no client receives the response, and no write is left incomplete.
            raise Timeout.of("the client has disconnected")

    @property
    def query(self) -> Mapping[str, Sequence[str]]:
        """The query parameters, each with all its values."""
        if self._query is None:
            text = self.request.query
            self._query = _read_query(text) if len(text) <= _REMEMBERED else _read_query.__wrapped__(text)
        return self._query

    def parameter(self, name: str) -> str:
        """Returns the first value of a query parameter; empty if absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    async def offload(self, work: Callable[[], T], size: int = 0, resource: Resource | None = None) -> T:
        """Returns the result of synchronous work on the body of the request, or on `size` bytes if that is more.

        Long work runs in a thread, so the work may change only objects that the request owns.
        """
        return await self.in_thread(work) if self.is_expensive(size, resource) else work()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Returns the result of long synchronous work. The work may change only objects that the request owns."""
        result = await self.services.offload.run(self.user.name, work)
        self.kept.append(result)
        return result

    async def decoded(self, resource: "Resource", item: Item) -> Object:
        """Returns a stored object, decoded in a thread if large. Raises ConversionFailed."""
        if resource.fetch is not None:
            return await resource.decoded(item)
        return await self.offload(lambda: resource.item(item), len(item.value))

    def is_expensive(self, size: int, resource: "Resource | None" = None) -> bool:
        """Returns True if work on the body of the request, or on `size` bytes, takes long: the size is large, or the
        resource is one whose small objects may take long too."""
        size = max(size, len(self.request.body))
        if size >= LEAST or resource is None or not size:
            return size >= LEAST
        weighed = self._weighed
        if weighed is None or weighed[0] is not resource:
            weighed = self._weighed = resource, HEAVY if resource.strategy.is_heavy else resource.shape.weight
        return size * weighed[1] >= LEAST

    def release(self) -> None:
        """Releases the reservations of a write: allocated values are stored in the object by now, or are free again."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def warn(self, text: str) -> None:
        """Adds a Warning header to the response; the same text is sent once."""
        self.warnings[text] = None

    def actor(self, field_manager: str = "") -> Actor:
        """Returns the actor that the log records for the writes of this request."""
        user = self.user
        impersonator = "" if self.impersonator is None else self.impersonator.name
        return Actor(user.name, tuple(user.groups), user.uid, field_manager, impersonator)

    @property
    def cause(self) -> Cause:
        """The cause that the log records: the reconcile that the client states in a header, or the request itself.

        The statement of a client is recorded as a claim of its user, unless the client is one of the server's own
        controllers or has the right to assert causes. The request has been authorized, so the roles of the user are
        loaded.
        """
        header = self.request.headers.get(CAUSE_HEADER)
        if header is not None and self.user.name != _ANONYMOUS:
            try:
                cause = Cause.from_header(header)
                return cause.with_claimant("" if self._may_assert(cause) else self.user.name)
            except ValueError as error:
                self.warn(f"the header Setpoint-Cause was ignored: {error}")
        return Cause(self.audit_id)

    def _may_assert(self, cause: Cause) -> bool:
        """Returns True if a cause that the client states is recorded as a fact."""
        if self.request.peer.is_controller and self.impersonator is None:
            return True
        info = _ASSERT._replace(name=cause.controller)
        return self.services.authorizer.decide(self.user, info).allowed


Admission: TypeAlias = ports.Admission[Context]
Authenticator: TypeAlias = ports.Authenticator[Services]
Authorizer: TypeAlias = ports.Authorizer[Services]
Reaction: TypeAlias = ports.Reaction[Context]
