"""Assembles an API server: its services, its admission chain and the pipeline that answers requests."""

from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids, SystemIds
from setpoint.server.access.authentication.credentials import Trusting
from setpoint.server.access.authentication.token_issuer import Issuer
from setpoint.server.access.authorization.assembly import Authorization
from setpoint.server.access.flowcontrol import bootstrap_objects as flow_control
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.metrics import GateMetrics
from setpoint.server.access.flowcontrol.settings import Overload
from setpoint.server.admission.chain import Chain
from setpoint.server.admission.plugin_order import plugins
from setpoint.server.admission.policies.status import PolicyStatus
from setpoint.server.apiextensions.crd_lifecycle import Definitions
from setpoint.server.bootstrap import system_objects
from setpoint.server.message import Request, Response
from setpoint.server.outbound.service_resolver import ServiceResolver
from setpoint.server.pipeline import Pipeline
from setpoint.server.quota.ledger import Ledger
from setpoint.server.registry import builtin_resources
from setpoint.server.registry.conversion.converters import Converters
from setpoint.server.registry.kinds.core.event import EVENT_TTL, keep_events
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR
from setpoint.server.registry.registry import Registry
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import HISTORY_SECONDS, Authenticator, Authorizer, Services
from setpoint.server.request.extension import Extension
from setpoint.server.request.observer import Observer, Plain
from setpoint.server.verbs.read_fast_path import Repeat
from setpoint.server.verbs.write_path import create_object
from setpoint.store.contract import Store

if TYPE_CHECKING:
    from setpoint.server.access.audit.auditor import Auditor
    from setpoint.server.registry.conversion.functions import ConversionFunction


class Server:
    """An API server over a store. Call `start` once, then the server itself with each request.

    `admission` adds plugins, or replaces built-in ones of the same name; `with_admission` enables built-in plugins that
    are off by default, and `without_admission` disables built-in plugins, by name. `resolver` resolves the services
    that webhooks refer to. `conversions` maps the names of definitions to functions that convert their objects.
    `service_cidr` is the range of the addresses of Services. `plain` handlers answer paths that are not resources, and
    `extensions` add subresources to custom resources. `auditor` records requests, `overload` limits the requests in
    flight, `event_ttl` is the lifetime of Events in seconds, and `history_window_seconds` is the age up to which lists
    and watches may read old revisions without the right to the history. With `read_only`, a text that gives the reason,
    the server writes no object, makes no outbound calls, and runs no admission.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        authenticator: Authenticator | None = None,
        issuer: Issuer | None = None,
        authorizer: Authorizer | None = None,
        admission: Sequence[Plugin] = (),
        with_admission: Collection[str] = (),
        without_admission: Collection[str] = (),
        resolver: ServiceResolver | None = None,
        conversions: "Mapping[str, ConversionFunction] | None" = None,
        service_cidr: str = SERVICE_CIDR,
        plain: Sequence[Plain] = (),
        extensions: Sequence[Extension] = (),
        observer: Observer | None = None,
        auditor: "Auditor | None" = None,
        overload: Overload = Overload(),  # noqa: B008 - immutable
        event_ttl: float = EVENT_TTL,
        history_window_seconds: float = HISTORY_SECONDS,
        read_only: str = "",
    ) -> None:
        self._read_only = read_only
        definitions = Definitions(Converters(conversions, offline=read_only), extensions)
        authorization = self._authorization = Authorization(authorizer)
        chosen = [] if read_only else [*plugins(admission, without_admission, with_admission), authorization.escalation]
        self.services = Services(
            store=store,
            clock=clock or SystemClock(),
            ids=ids or SystemIds(),
            registry=Registry(builtin_resources.resources()),
            admission=Chain(chosen),
            definitions=definitions,
            authenticator=authenticator or Trusting(),
            create_object=create_object,
            issuer=issuer or Issuer(),
            authorizer=authorization.authorizer,
            reactions=(definitions, authorization.aggregation, PolicyStatus()),
            service_cidr=service_cidr,
            resolver=resolver or ServiceResolver(),
            history_window_seconds=history_window_seconds,
            offline=read_only,
        )
        self.services.authenticator.attach(self.services)
        if event_ttl != EVENT_TTL:
            keep_events(self.services.registry, event_ttl)
        self._gate = Gate(self.services, overload) if overload.enabled else None
        if self._gate is not None:
            self.services.measured.append(GateMetrics(self._gate))
        if auditor is not None:
            self.services.measured.append(auditor)
        ledger = self.services.ledger = Ledger(self.services, enforced="ResourceQuota" not in without_admission)
        self.services.reactions = (*self.services.reactions, ledger)
        definitions.attach(self.services)
        authorization.attach(self.services)
        self._pipeline = Pipeline(
            self.services, plain=plain, observer=observer, auditor=auditor, gate=self._gate, read_only=read_only
        )

    async def start(self) -> None:
        """Creates the system objects of every cluster, and serves the resources of the definitions in the store."""
        if not self._read_only:
            await system_objects.fill(self.services)
            await self._authorization.provide()
            await flow_control.fill(self.services)
        if self._gate is not None:
            await self._gate.prepare()
        await self.services.definitions.load()

    def close(self) -> None:
        """Stops the background work of the server."""
        if self._gate is not None:
            self._gate.close()
        self.services.close()

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answers a request. Never raises: every failure becomes an error response."""
        return self._pipeline(request)

    async def repeat(self, request: Request) -> Repeat | None:
        """Returns a fast path for further reads of the object that the client has just read, or None if the full
        pipeline is required."""
        return await self._pipeline.repeat(request)
