"""Assembles an API server: its services, its admission chain and the pipeline that answers requests."""

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids, SystemIds
from setpoint.server.access.authentication.credentials import Trusting
from setpoint.server.access.authentication.token_issuer import Issuer
from setpoint.server.access.authorization.assembly import Authorization
from setpoint.server.access.flowcontrol import bootstrap_objects as flow_control
from setpoint.server.access.flowcontrol.dangling import Dangling
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.gate_metrics import GateMetrics
from setpoint.server.admission.chain import Chain
from setpoint.server.admission.plugin_order import WEBHOOKS, plugins
from setpoint.server.admission.policies.status import PolicyStatus
from setpoint.server.aggregation.aggregation import Aggregation
from setpoint.server.apiextensions.crd_lifecycle import Definitions
from setpoint.server.bootstrap import system_objects
from setpoint.server.bootstrap.api_services import APIServices
from setpoint.server.message import Request, Response
from setpoint.server.outbound.service_resolver import ServiceResolver
from setpoint.server.pipeline import Pipeline
from setpoint.server.quota.ledger import Ledger
from setpoint.server.registry import builtin_resources
from setpoint.server.registry.conversion.converters import Converters
from setpoint.server.registry.registry import Registry
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Services
from setpoint.server.request.observer import RequestObserver
from setpoint.server.server_options import AccessControl, ServerSettings, Serving
from setpoint.server.verbs.read_fast_path import Repeat
from setpoint.server.verbs.write_path import create_object
from setpoint.store.cached import AnyAge, HeldState, Publishing, StateCache, TermIndexes
from setpoint.store.contract import Store

if TYPE_CHECKING:
    from setpoint.server.registry.conversion.functions import ConversionFunction


class Server:
    """An API server over a store. Call `start` once, then the server itself with each request.

    `admission` adds plugins, or replaces built-in ones of the same name. `conversions` maps the names of definitions to
    functions that convert their objects. `resolver` resolves the services that webhooks and APIServices
    refer to, and `observer` receives every answered request.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        access: AccessControl = AccessControl(),  # noqa: B008 - immutable
        admission: Sequence[Plugin] = (),
        conversions: "Mapping[str, ConversionFunction] | None" = None,
        serving: Serving = Serving(),  # noqa: B008 - immutable
        settings: ServerSettings = ServerSettings(),  # noqa: B008 - immutable
        resolver: ServiceResolver | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        limit = settings.state_cache_bytes
        self._cache = StateCache(store, limit) if limit and isinstance(store, Publishing) else None
        read_only = self._read_only = serving.read_only
        offline = read_only or serving.offline
        definitions = Definitions(Converters(conversions, offline=offline), serving.subresources, serving.strategies)
        authorization = self._authorization = Authorization(access.authorizer, aggregates=settings.aggregates_roles)
        # The APIServices of the served versions; those of a server that listens.
        self.api_services = APIServices()
        disabled = (*settings.disabled_plugins, *(WEBHOOKS if offline else ()))
        enabled = plugins(admission, disabled, settings.enabled_plugins)
        chain = Chain([] if read_only else [*enabled, authorization.escalation])
        self.services = Services(
            store=self._cache or store,
            clock=clock or SystemClock(),
            ids=ids or SystemIds(),
            registry=Registry(builtin_resources.resources(), endpoints=serving.endpoints),
            admission=chain,
            definitions=definitions,
            authenticator=access.authenticator or Trusting(),
            create_object=create_object,
            issuer=access.issuer or Issuer(),
            authorizer=authorization.authorizer,
            reactions=(
                definitions,
                self.api_services,
                *((authorization.aggregation,) if settings.aggregates_roles else ()),
                *((PolicyStatus(),) if settings.checks_policies else ()),
                Dangling(),
            ),
            service_cidr=settings.service_cidr,
            resolver=resolver or ServiceResolver(),
            event_ttl_seconds=settings.event_ttl_seconds,
            history_window_seconds=settings.history_window_seconds,
            offline=offline,
            shows=serving.shows,
        )
        if self._cache is not None and self._cache.is_shared:
            self.services.any_age = AnyAge(self._cache)
        held = self.services.any_age
        if isinstance(held, HeldState):
            self.services.term_indexes = TermIndexes(held)
        self.services.measured.append(chain)
        self.services.authenticator.attach(self.services)
        self._gate = Gate(self.services, settings.overload) if settings.overload.enabled else None
        if self._gate is not None:
            self.services.measured.append(GateMetrics(self._gate))
        if access.auditor is not None:
            self.services.measured.append(access.auditor)
        own = system_objects.STEPS
        consumer = ("priority-and-fairness-config-consumer",) if self._gate is not None else ()
        self.services.start_steps |= dict.fromkeys(
            (*consumer, "crd-informer-synced", *(() if read_only else own)), False
        )
        enforced = "ResourceQuota" not in settings.disabled_plugins
        ledger = self.services.ledger = Ledger(self.services, enforced=enforced, counts_written=settings.counts_quotas)
        self._aggregation = Aggregation(self.services)
        self.services.reactions = (*self.services.reactions, ledger, self._aggregation)
        definitions.attach(self.services)
        authorization.attach(self.services)
        # Answers requests; a client in the same process calls it without the edge.
        self.pipeline = Pipeline(
            self.services,
            self._aggregation,
            plain=serving.pages,
            observer=observer,
            auditor=access.auditor,
            gate=self._gate,
            read_only=read_only,
        )

    async def start(self, *, provisioned: bool = False) -> None:
        """Creates the system objects of every cluster, and serves the resources of the definitions in the store. With
        `provisioned`, the store is a copy of a running server's, which has the system objects."""
        steps = self.services.start_steps
        if provisioned:
            steps.update(dict.fromkeys(system_objects.STEPS, True))
        elif not self._read_only:
            await system_objects.fill(self.services)
            await self._authorization.provide()
            steps["rbac/bootstrap-roles"] = True
            await flow_control.fill(self.services)
            steps["priority-and-fairness-config-producer"] = True
        if self._gate is not None:
            await self._gate.prepare()
            steps["priority-and-fairness-config-consumer"] = True
        await self.services.definitions.load()
        await self._aggregation.start()
        steps["crd-informer-synced"] = True
        # The reads of a start come first, so that a server with very many objects answers soon.
        if self._cache is not None:
            self._cache.start()

    def close(self) -> None:
        """Stops the background work of the server."""
        if self._gate is not None:
            self._gate.close()
        self._aggregation.close()
        self.services.close()
        if self._cache is not None:
            self._cache.detach()

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answers a request. Never raises: every failure becomes an error response."""
        return self.pipeline(request)

    async def repeat(self, request: Request) -> Repeat | None:
        """Returns a fast path for further reads of the object that the client has just read, or None if the full
        pipeline is required."""
        return await self.pipeline.repeat(request)
