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

    `admission` are plugins besides the server's own, or in the places of those of the same name; `with_admission` are
    the names of its own that are off by default and on here, `without_admission` of those that it does without.
    `resolver` knows the services that webhooks refer to. `conversions` are functions that convert the objects of
    definitions, by their names. `service_cidr` are the addresses for Services. `plain` answer for paths that are no
    resources, `extensions` below the objects of custom resources. `auditor` records requests, `overload` says how many
    are served at once, `event_ttl` for how many seconds Events are kept, and `history_window_seconds` for how long
    lists and watches may reach back without the right to the history. With `read_only`, which says why, nothing is ever
    written, nobody else is called, and admission does not run.
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
        """Makes what every cluster has, and serves the resources of the definitions in the store."""
        if not self._read_only:
            await system_objects.fill(self.services)
            await self._authorization.provide()
            await flow_control.fill(self.services)
        if self._gate is not None:
            await self._gate.prepare()
        await self.services.definitions.load()

    def close(self) -> None:
        """Ends what is under way beside the requests."""
        if self._gate is not None:
            self._gate.close()
        self.services.close()

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answers a request; raises for none."""
        return self._pipeline(request)

    async def repeat(self, request: Request) -> Repeat | None:
        """Returns what answers for the next reads of a client that has just read an object, if anything may."""
        return await self._pipeline.repeat(request)
