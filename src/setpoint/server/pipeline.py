"""The request pipeline, a stage a line: authenticate, authorize, decode, mutate, validate, persist, notify.

`Server.__call__` is what the edge, and the client in the same process, hand each request to. The stages that every
request passes are here; from `decode` on they belong to the verb, each of which is one module of `verbs`. Notifying is
the log's own business: a watch follows it.
"""

import logging
from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import (
    APIError,
    Forbidden,
    InternalError,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
    Unauthorized,
)
from setpoint.objects.ids import Ids, SystemIds
from setpoint.server import bootstrap, builtin
from setpoint.server.admission.chain import Chain
from setpoint.server.admission.operation import Plugin
from setpoint.server.admission.order import plugins
from setpoint.server.admission.policies.status import PolicyStatus
from setpoint.server.admission.service_resolver import ServiceResolver
from setpoint.server.answer import error_answer
from setpoint.server.authentication.credentials import Trusting
from setpoint.server.authentication.impersonation import PREFIX, Impersonation
from setpoint.server.authentication.tokens import Issuer
from setpoint.server.authorization.assembly import Authorization
from setpoint.server.authorization.attributes import asked
from setpoint.server.authorization.authorizer import MASTERS, Authorizer, refusal
from setpoint.server.compress import compressed, is_large
from setpoint.server.context import Authenticator, Context, Services, User
from setpoint.server.conversion.converters import Converters
from setpoint.server.definitions import Definitions
from setpoint.server.exchange import Request, Response
from setpoint.server.extension import Extension, Verb
from setpoint.server.history import GROUP, history, is_history
from setpoint.server.kinds.allocation import SERVICE_CIDR
from setpoint.server.kinds.event import EVENT_TTL, keep_events
from setpoint.server.negotiate import PLAIN, negotiate, wants_indents
from setpoint.server.overload import objects as flow_control
from setpoint.server.overload.gate import Gate
from setpoint.server.overload.measures import GateMeasures
from setpoint.server.overload.settings import Overload
from setpoint.server.ownership import is_ownership, ownership
from setpoint.server.quota.ledger import Ledger
from setpoint.server.registry import Registry
from setpoint.server.repeats import AtHand, Repeat
from setpoint.server.requestinfo import RequestInfo, request_info
from setpoint.server.resource import CREATE_ONLY, Resource
from setpoint.server.revisions import is_revisions, revisions
from setpoint.server.timeouts import Timeouts
from setpoint.server.verbs.create import create
from setpoint.server.verbs.delete import delete, delete_collection
from setpoint.server.verbs.get import get
from setpoint.server.verbs.list import list_objects
from setpoint.server.verbs.patch import patch
from setpoint.server.verbs.pods import bind
from setpoint.server.verbs.reviews import review
from setpoint.server.verbs.subresources import SUBRESOURCES
from setpoint.server.verbs.update import update
from setpoint.server.verbs.watch import watch
from setpoint.server.warnings import warning_headers
from setpoint.store.contract import Store, StoreError

if TYPE_CHECKING:
    from setpoint.server.audit.auditor import Auditor
    from setpoint.server.conversion.functions import ConversionFunction

VERBS: Mapping[str, Verb] = {
    "create": create,
    "get": get,
    "list": list_objects,
    "watch": watch,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}

_WRITING = frozenset(VERBS) - {"get", "list", "watch"}
_new = tuple.__new__  # makes a named tuple in half the time
_log = logging.getLogger(__name__)
_NO_PAGE = Response(404, "text/plain; charset=utf-8", b"404 page not found\n")
_WHOLE = (bytes, list)
_NO_CACHE = ("Cache-Control", "no-cache, private")
# As much as is kept of the name that a client gives to its request.
_MAX_AUDIT_ID = 64
# Who asks, until that is known; and who asked where it never was.
_NOBODY = User("")


class Plain(Protocol):
    """Answers for the paths that are no resources: health, version, discovery, OpenAPI. None: there is no such path."""

    async def respond(self, context: Context) -> Response | None: ...


class Observer(Protocol):
    """Is told of every answered request, and hands the answer on, which it may wrap (a stream, to follow it)."""

    def observe(self, context: Context, response: Response, seconds: float) -> Response: ...


class Server:
    """An API server over a store. Call `start` once, then the server itself with each request.

    `admission` are plugins besides the server's own, or in the places of those of the same name; `with_admission` are
    the names of its own that are off by default and on here, `without_admission` of those that it does without.
    `resolver` knows the services that webhooks refer to. `conversions` are functions that convert the objects of
    definitions, by their names. `service_cidr` are the addresses for Services. `plain` answer for paths that are no
    resources, `extensions` below the objects of custom resources. `auditor` records requests, `overload` says how many
    are served at once, and `event_ttl` for how many seconds Events are kept. With `read_only`, which says why, nothing
    is ever written.
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
        read_only: str = "",
    ) -> None:
        self._plain = plain
        self._read_only = read_only
        self._observer = observer
        definitions = Definitions(Converters(conversions), extensions)
        authorization = self._authorization = Authorization(authorizer)
        self.services = Services(
            store=store,
            clock=clock or SystemClock(),
            ids=ids or SystemIds(),
            registry=Registry(builtin.resources()),
            admission=Chain([*plugins(admission, without_admission, with_admission), authorization.escalation]),
            definitions=definitions,
            authenticator=authenticator or Trusting(),
            issuer=issuer or Issuer(),
            authorizer=authorization.authorizer,
            reactions=(definitions, authorization.aggregation, PolicyStatus()),
            service_cidr=service_cidr,
            resolver=resolver or ServiceResolver(),
        )
        self.services.authenticator.attach(self.services)
        self._impersonation = Impersonation()
        self._timeouts = Timeouts(self.services.clock)
        if event_ttl != EVENT_TTL:
            keep_events(self.services.registry, event_ttl)
        self._auditor = auditor
        self._gate = Gate(self.services, overload) if overload.enabled else None
        if self._gate is not None:
            self.services.measured.append(GateMeasures(self._gate))
        if auditor is not None:
            self.services.measured.append(auditor)
        ledger = self.services.ledger = Ledger(self.services, enforced="ResourceQuota" not in without_admission)
        self.services.reactions = (*self.services.reactions, ledger)
        definitions.attach(self.services)
        authorization.attach(self.services)

    async def start(self) -> None:
        """Makes what every cluster has, and serves the resources of the definitions in the store."""
        if not self._read_only:
            await bootstrap.fill(self.services)
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
        return self._timeouts.answer(request, self._handle) if "timeout=" in request.query else self._handle(request)

    async def repeat(self, request: Request) -> Repeat | None:
        """What answers for the next reads of a client that has just read an object, if anything may."""
        store = self.services.store
        if self._auditor is not None or request.query or not isinstance(store, AtHand):
            return None
        context = self._context(request)
        info = context.info
        if info.verb != "get" or not info.name or info.subresource or not info.is_resource or is_history(info):
            return None
        try:
            await self._authenticate(context)
            if MASTERS not in context.user.groups or PREFIX in "".join(request.headers):
                return None
            await self._authorize(context)
            found = _route(context.registry, info)
            # Who has to wait for a conversion cannot answer from here.
            if found is None or found[1] is not get or found[0].deprecation_warning or found[0].fetch is not None:
                return None
            is_plain = negotiate(context, found[0]) == PLAIN and not wants_indents(request, "")
        except APIError:
            return None
        return Repeat(context, found[0], store, self._observer) if is_plain else None

    async def _handle(self, request: Request) -> Response:
        started = self.services.clock.monotonic()
        context = self._context(request)
        auditor = self._auditor
        try:
            await self._authenticate(context)
            if auditor is not None:
                auditor.received(context)
            if PREFIX in "".join(request.headers):
                await self._impersonate(context)
            response = await self._answer_in_turn(context)
        except APIError as error:
            response = error_answer(request, error)
        except StoreError as error:
            _log.error("%s %s failed in the store: %s", request.method, request.path, error)
            response = error_answer(request, ServiceUnavailable(f"the store does not answer: {error}"))
        except Exception as error:
            _log.exception("%s %s failed", request.method, request.path)
            response = error_answer(request, InternalError.of(f"{type(error).__name__}: {error}"))
            if auditor is not None:
                auditor.panicked(context, error)
        if auditor is not None:
            response = auditor.answered(context, response)
        response = _finished(response, context)
        if is_large(response):
            response = await compressed(request, response)
        if self._observer is None:
            return response
        return self._observer.observe(context, response, self.services.clock.monotonic() - started)

    def _context(self, request: Request) -> Context:
        """The request with what it is about; who asks is not known yet."""
        watch = _watch_parameter(request) if "watch=" in request.query else None
        info = request_info(request.method, request.path, watch)
        given = request.headers.get("audit-id")
        audit_id = given[:_MAX_AUDIT_ID] if given else self.services.ids.uid()
        return Context(self.services, request, info, _NOBODY, audit_id)

    async def _authenticate(self, context: Context) -> None:
        """Finds out who asks."""
        user = await self.services.authenticator.authenticate(context.request, context.info)
        if user is None:
            raise Unauthorized.of()
        context.user = user

    async def _impersonate(self, context: Context) -> None:
        """Lets who has the right ask in the name of somebody else."""
        authorizer, user = self.services.authorizer, context.user
        await authorizer.prepare()
        other = self._impersonation.impersonated(context.request.headers, context.info, user, authorizer)
        if other is not None:
            context.user, context.impersonator = other, user

    async def _answer_in_turn(self, context: Context) -> Response:
        """Authorizes and answers as soon as the user's turn has come."""
        gate = self._gate
        if gate is None:
            await self._authorize(context)
            return await self._answer(context)
        flow = gate.enter(context) or await gate.wait(context)
        try:
            await self._authorize(context)
            response = await self._answer(context)
        finally:
            gate.leave(flow)
        if not isinstance(response.body, _WHOLE):
            return gate.streamed(context, response, response.body)
        return response

    async def _authorize(self, context: Context) -> None:
        """Refuses what the user may not do."""
        authorizer = self.services.authorizer
        await authorizer.prepare(context.user)
        info = asked(context)
        decision = authorizer.decide(context.user, info)
        if self._auditor is not None:
            context.annotations["authorization.k8s.io/decision"] = "allow" if decision.allowed else "forbid"
            context.annotations["authorization.k8s.io/reason"] = decision.reason
        if not decision.allowed:
            raise refusal(context.user, info, decision)

    async def _answer(self, context: Context) -> Response:
        """Hands the request to the verb, or to who answers for plain paths."""
        info = context.info
        if not info.is_resource:
            for plain in self._plain:
                response = await plain.respond(context)
                if response is not None:
                    return response
            if _is_in_builtin_group(context):
                raise NotFound.resource()
            return _NO_PAGE
        if info.group == GROUP:
            if is_history(info):
                return await history(context)
            if is_ownership(info):
                return await ownership(context)
            if is_revisions(info):
                return await revisions(context)
        found = _route(context.registry, info)
        if found is None:
            return _NO_PAGE
        resource, verb = found
        if self._read_only and info.verb in _WRITING and resource.verbs != CREATE_ONLY:
            raise Forbidden.of(resource.group_resource, info.name, self._read_only)
        if resource.deprecation_warning:
            context.warn(resource.deprecation_warning)
        if context.request.method == "HEAD" and not resource.is_custom:
            raise MethodNotAllowed.method()
        # Who could not read the answer is told before anything is done. What others answer is no object.
        if not (info.subresource and resource.subresources[info.subresource].answers):
            negotiate(context, resource)
        return await verb(context, resource)


def _is_in_builtin_group(context: Context) -> bool:
    """Whether a path that is not there lies below one that answers for it: `/api`, or a group of built-in kinds."""
    first, _, rest = context.info.path.strip("/").partition("/")
    group = rest.partition("/")[0]
    return bool(group) and (first == "api" or (first == "apis" and group in context.registry.builtin_groups))


def _route(registry: Registry, info: RequestInfo) -> tuple[Resource, Verb] | None:
    """The resource and the function that answers for it. None: nobody has ever heard of that path."""
    resource = registry.resource(info.group, info.version, info.resource)
    if resource is None:
        if info.group in registry.builtin_groups:
            raise NotFound.resource()
        return None
    in_namespace = bool(info.namespace) and not (info.resource == "namespaces" and not info.group)
    if resource.namespaced != in_namespace and (in_namespace or info.name or info.verb not in ("list", "watch")):
        if resource.is_custom:
            return None
        if info.name or in_namespace:
            raise NotFound.resource()
        raise MethodNotAllowed.method()
    if info.subresource:
        return resource, _subresource_verb(resource, info)
    verb = VERBS.get(info.verb)
    if verb is None or info.verb not in resource.verbs:
        raise MethodNotAllowed.method()
    if resource.verbs == CREATE_ONLY:
        return resource, bind if resource.kind == "Binding" else review
    return resource, verb


def _subresource_verb(resource: Resource, info: RequestInfo) -> Verb:
    subresource = resource.subresources.get(info.subresource)
    if subresource is None:
        if resource.is_custom:
            raise NotFound.of(resource.group_resource, info.name)
        raise NotFound.resource()
    if info.verb not in subresource.verbs:
        if resource.is_custom:
            raise MethodNotAllowed.of(resource.group_resource, info.verb)
        raise MethodNotAllowed.method()
    own = subresource.answers.get(info.verb) or SUBRESOURCES.get(info.subresource, {}).get(info.verb)
    return own or VERBS[info.verb]


def _watch_parameter(request: Request) -> str | None:
    values = parse_qs(request.query, keep_blank_values=True).get("watch")
    return values[0] if values else None


def _finished(response: Response, context: Context) -> Response:
    """The answer with the headers that every answer has."""
    status, content_type, body, own = response
    headers = [*own, *context.headers]
    if not own or not any(name == "Cache-Control" for name, _ in headers):
        headers.append(_NO_CACHE)
    headers.append(("Audit-Id", context.audit_id))
    if context.warnings:
        headers += warning_headers(context.warnings)
    return _new(Response, (status, content_type, body, headers))
