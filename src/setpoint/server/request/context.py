"""What one request carries along: who asks for what, the services that answer, and what to tell beside the answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import parse_qs

from setpoint.objects.clock import Clock
from setpoint.objects.errors import Timeout
from setpoint.objects.ids import Ids
from setpoint.objects.metrics import Collector
from setpoint.objects.provenance import CAUSE_HEADER, Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server import ports
from setpoint.server.message import Request, Seat
from setpoint.server.offload import LEAST, Offload
from setpoint.server.outbound.service_resolver import ServiceResolver
from setpoint.server.ports import Definitions, Progress, QuotaLedger, TokenIssuer, User
from setpoint.server.registry.allocations import Allocations
from setpoint.server.registry.indexes import View, Views
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR, Pool
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.requestinfo import RequestInfo
from setpoint.server.watch.history_window import HistoryWindow
from setpoint.server.watch.revision_times import Moments
from setpoint.store.contract import Expect, Item, Store, Write

if TYPE_CHECKING:
    from setpoint.server.outbound.webhook_client import WebhookClient  # most servers never call a webhook
    from setpoint.server.outbound.webhook_metrics import WebhookMetrics

# A longer query is read anew each time: what is remembered stays small.
_REMEMBERED = 256
_READS = frozenset(("get", "list", "watch"))
_ANONYMOUS = "system:anonymous"
# As long as etcd keeps superseded revisions for kube-apiserver.
HISTORY_SECONDS = 300.0
# The right to state causes as facts. It is cluster-wide, for a cause names objects of any namespace.
_ASSERT = RequestInfo("assert", "", is_resource=True, group="setpoint.dev", version="v1", resource="causes")
T = TypeVar("T")


@lru_cache(maxsize=256)
def _read_query(text: str) -> Mapping[str, Sequence[str]]:
    """The parameters in a query. Clients ask the same over and over: how they write, how they list."""
    return parse_qs(text, keep_blank_values=True)


@dataclass(eq=False)
class Services:
    """What the verbs work with. One for each server; the registry in it is replaced when a definition changes.

    Everything that the server writes goes through `commit`, `transact` or `persist`, so that its views know of it at
    once.
    """

    store: Store
    clock: Clock
    ids: Ids
    registry: Registry
    admission: "Admission" = field(repr=False)
    definitions: Definitions = field(repr=False)
    authenticator: "Authenticator" = field(repr=False)
    authorizer: "Authorizer" = field(repr=False)
    # Creates an object as a request does: by the admission chain, which is given to the services before.
    create_object: "Callable[[Context, Resource, Object, Any], Awaitable[object]]" = field(repr=False)
    # Issues the tokens of service accounts.
    issuer: TokenIssuer = field(repr=False)
    reactions: "Sequence[Reaction]" = ()
    # Who has something to tell `/metrics`.
    measured: list[Collector] = field(default_factory=list, repr=False)
    # The addresses that Services are given.
    service_cidr: str = SERVICE_CIDR
    # Where the services are that webhooks refer to.
    resolver: ServiceResolver = field(default_factory=ServiceResolver, repr=False)
    # The watches that are under way.
    watches: set[Progress] = field(default_factory=set, repr=False)
    # Who keeps the books of quotas; None where nobody does.
    ledger: QuotaLedger | None = field(default=None, repr=False)
    # For how many seconds a superseded revision can be listed and watched from without the right to the history.
    history_window_seconds: float = HISTORY_SECONDS
    # Why the server makes no calls to others, where it makes none.
    offline: str = ""
    views: Views = field(init=False, repr=False)
    # Where long work runs.
    offload: Offload = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.views = Views(self)
        self.offload = Offload(self.clock)

    @cached_property
    def namespaces(self) -> View[Object]:
        """The namespaces, for those who judge by them."""
        return self.views.of("", "v1", "namespaces", lambda tree: tree)

    @cached_property
    def history_window(self) -> HistoryWindow:
        """The recent past that every list and watch may read."""
        return HistoryWindow(self.clock, self.store, self.history_window_seconds)

    @cached_property
    def allocations(self) -> Allocations:
        """The addresses and ports of Services."""
        return Allocations(self)

    @cached_property
    def moments(self) -> Moments:
        """The revisions by their times."""
        return Moments(self.store)

    @cached_property
    def webhooks(self) -> "WebhookClient":
        """Calls webhooks. Most servers never do."""
        from setpoint.server.outbound.client import Client
        from setpoint.server.outbound.webhook_client import WebhookClient

        return WebhookClient(Client(self.clock, offline=self.offline), self.resolver)

    @cached_property
    def webhook_metrics(self) -> "WebhookMetrics":
        """How the webhooks of admission are doing."""
        from setpoint.server.outbound.webhook_metrics import WebhookMetrics

        found = WebhookMetrics(self.clock)
        self.measured.append(found)
        return found

    async def offloaded(self, work: Callable[[], T], size: int, user: str = "") -> T:
        """Returns the result of synchronous work on so many bytes, for a user or for the server itself."""
        return work() if size < LEAST else await self.offload.run(user, work)

    def close(self) -> None:
        """Ends what the server has under way beside the requests."""
        self.views.close()
        self.offload.close()
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
        """As the store's."""
        revision = await self.store.commit(key, value, expect, actor, cause, ttl)
        self.views.wrote(key, value, revision)
        return revision

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        """As the store's."""
        revision = await self.store.transact(writes, actor, cause)
        for write in writes:
            self.views.wrote(write.key, write.value, revision)
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
        """Commits what a client wrote: of an item, or of nothing, a new object, or nothing. In the same step it is
        charged to the quotas that count it. Raises Forbidden where they do not allow it."""
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
        if ledger is None or not resource.namespaced or ((quotas := ledger.view) is not None and quotas.is_empty):
            key, value, expect, ttl = write
            revision = await self.store.commit(key, value, expect, actor, cause, ttl)
            self.views.wrote(key, value, revision)
            return revision
        return await ledger.commit(resource, write, actor, cause, item=item, new=new, subresource=subresource)

    async def after_write(self, context: "Context", resource: Resource, tree: Object) -> None:
        """Tells those who follow up writes of the resource."""
        for reaction in self._concerned(resource):
            await reaction.after_write(context, resource, tree)

    async def after_delete(self, context: "Context", resource: Resource, tree: Object) -> None:
        """Tells those who follow up the end of such objects."""
        for reaction in self._concerned(resource):
            await reaction.after_delete(context, resource, tree)

    def _concerned(self, resource: Resource) -> "Sequence[Reaction]":
        # Kept on the resource: when a definition changes, its old resources go, and what is remembered of them.
        found: Sequence[Reaction] | None = resource.reacting.get(self)
        if found is None:
            found = resource.reacting[self] = tuple(each for each in self.reactions if each.concerns(resource))
        return found


class Context:
    """One request on its way through the pipeline."""

    __slots__ = (
        "_query",
        "annotations",
        "audit_id",
        "audit_record",
        "headers",
        "impersonator",
        "info",
        "kept",
        "pool",
        "registry",
        "request",
        "seat",
        "services",
        "user",
        "warnings",
    )

    def __init__(self, services: Services, request: Request, info: RequestInfo, user: User, audit_id: str) -> None:
        self.services = services
        # The registry as it was when the request came: one request sees one registry.
        self.registry = services.registry
        self.request = request
        self.info = info
        self.user = user
        # Who really asks, where that is somebody else than the user the request counts as.
        self.impersonator: User | None = None
        self.audit_id = audit_id
        # The texts of the Warning headers, in order.
        self.warnings: dict[str, None] = {}
        # What the answer's head tells besides.
        self.headers: Sequence[tuple[str, str]] = ()
        # What the audit log notes beside the request, and what it has of it; nothing as long as there is no such log.
        self.annotations: dict[str, str] = {}
        self.audit_record: Any = None
        # The addresses and ports that are taken for what it writes, until that is done.
        self.pool: Pool | None = None
        # What it holds of the server's capacity; None where nothing is shared out.
        self.seat: Seat | None = None
        # Large values of the request, kept until `Offload.release` frees them in a thread: freeing an object of 300,000
        # containers takes 20 ms.
        self.kept: list[object] = []
        self._query: Mapping[str, Sequence[str]] | None = None

    async def pause(self) -> None:
        """Lets other requests run. Work that grows with the number of objects or bytes waits here after every slice."""
        if self.seat is None:
            await asyncio.sleep(0)
        else:
            await self.seat.pause()
        outlet = self.request.outlet
        if outlet is not None and outlet.is_gone and self.info.verb in _READS:
            # Nobody reads the answer, and nothing is left half done.
            raise Timeout.of("the client has gone")

    @property
    def query(self) -> Mapping[str, Sequence[str]]:
        """The query parameters, each with all its values."""
        if self._query is None:
            text = self.request.query
            self._query = _read_query(text) if len(text) <= _REMEMBERED else _read_query.__wrapped__(text)
        return self._query

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty where it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    async def offload(self, work: Callable[[], T], size: int = 0, resource: Resource | None = None) -> T:
        """Returns the result of synchronous work on the body of the request, or on `size` bytes where that is more.

        Long work runs beside the event loop: it may change only what the request owns."""
        if not self.takes_long(size, resource):
            return work()
        result = await self.services.offload.run(self.user.name, work)
        self.kept.append(result)
        return result

    async def decoded(self, resource: "Resource", item: Item) -> Object:
        """Returns a stored object, decoded beside the event loop where it is large. Raises ConversionFailed."""
        if resource.fetch is not None:
            return await resource.decoded(item)
        return await self.offload(lambda: resource.item(item), len(item.value))

    def takes_long(self, size: int, resource: "Resource | None" = None) -> bool:
        """Tells whether work on the body of the request, or on `size` bytes, is long: there are many bytes, or even a
        small object of the resource may take long."""
        size = max(size, len(self.request.body))
        return size >= LEAST or (resource is not None and bool(size) and size * resource.weight >= LEAST)

    def release(self) -> None:
        """What was taken for a write is the object's by now, or nobody's."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def warn(self, text: str) -> None:
        """Tells the client something in a Warning header, once."""
        self.warnings[text] = None

    def actor(self, field_manager: str = "") -> Actor:
        """Who the log says did it."""
        user = self.user
        impersonator = "" if self.impersonator is None else self.impersonator.name
        return Actor(user.name, tuple(user.groups), user.uid, field_manager, impersonator)

    @property
    def cause(self) -> Cause:
        """Returns what the log says it came from: the reconcile that the client says it was, or the request itself.

        The word of a client is kept as a claim of its user, unless that is one of the server's own controllers or has
        the right to assert causes. The request has been authorized, so the roles of the user are at hand."""
        told = self.request.headers.get(CAUSE_HEADER)
        if told is not None and self.user.name != _ANONYMOUS:
            try:
                cause = Cause.from_header(told)
                return cause.with_claimant("" if self._may_assert(cause) else self.user.name)
            except ValueError as error:
                self.warn(f"the header Setpoint-Cause was passed over: {error}")
        return Cause.request(self.audit_id)

    def _may_assert(self, cause: Cause) -> bool:
        """Tells whether the user's word on a cause is taken as a fact."""
        if self.request.peer.is_controller and self.impersonator is None:
            return True
        info = _ASSERT._replace(name=cause.controller)
        return self.services.authorizer.decide(self.user, info).allowed


Admission: TypeAlias = ports.Admission[Context]
Authenticator: TypeAlias = ports.Authenticator[Services]
Authorizer: TypeAlias = ports.Authorizer[Services]
Reaction: TypeAlias = ports.Reaction[Context]
