"""The request pipeline, one stage per line: authenticate, authorize, decode, mutate, validate, persist, notify.

`Server` (`server.app`) passes each request, from the edge or from the client in the same process, to a `Pipeline`. This
module has the stages that all requests share; from `decode` on, the stages belong to the verb, each of which is one
module of `verbs`. Notification needs no stage: watches follow the log.
"""

import errno
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from setpoint.objects.errors import (
    APIError,
    BadRequest,
    Forbidden,
    InternalError,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    ServiceUnavailable,
    Timeout,
    Unauthorized,
)
from setpoint.server.access.authentication.impersonation import PREFIX, Impersonation
from setpoint.server.access.authorization.attributes import SELECTING, request_attributes
from setpoint.server.access.authorization.authorizer import MASTERS, refusal
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.request_seats import ExemptSeat, OccupiedSeat
from setpoint.server.access.own_endpoints import SUMMARIES, right_of_endpoint
from setpoint.server.access.past_access import authorize_past
from setpoint.server.aggregation.aggregation import Aggregation
from setpoint.server.aggregation.remote_paths import remote_version
from setpoint.server.codec.compression import LEAST, compressed
from setpoint.server.codec.negotiation import PLAIN, PROTOBUF, UNDEMANDING, negotiate
from setpoint.server.codec.protobuf_form import ProtobufForm
from setpoint.server.codec.response import error_answer, failure_answer, is_pretty
from setpoint.server.codec.warning_headers import warning_headers
from setpoint.server.message import NO_CACHE, Request, Response
from setpoint.server.ports import User
from setpoint.server.registry.resource import CREATE_ONLY, Resource
from setpoint.server.request.context import Context, Services
from setpoint.server.request.list_options import at_revision
from setpoint.server.request.observer import Plain, RequestObserver
from setpoint.server.requestinfo import OWN_GROUP, request_info
from setpoint.server.routes import VERBS, HandlerRoute, Route, find
from setpoint.server.timeouts import Timeouts
from setpoint.server.verbs.patch import patch_type
from setpoint.server.verbs.read_fast_path import MOMENT, PeekableStore, Repeat, Standing
from setpoint.store.cached import StateCache
from setpoint.store.contract import OutcomeUnknown, StoreError, Unreachable

if TYPE_CHECKING:
    from setpoint.server.access.audit.auditor import Auditor

_WRITING = frozenset(VERBS) - {"get", "list", "watch"} | {"purge"}
_READING_METHODS = frozenset(("GET", "HEAD"))
# The verbs that accept the parameter `at`.
_AT_VERBS = frozenset(("get", "list"))
# Subresources that a client uses over a WebSocket, which begins with a GET. As in Kubernetes 1.35, they also require
# the verb create, so that read access alone does not suffice.
_CONVERSATIONS = frozenset(("attach", "exec", "portforward"))
_new = tuple.__new__  # creates a named tuple in half the time
_log = logging.getLogger(__name__)
_NO_PAGE = Response(404, "text/plain; charset=utf-8", b"404 page not found\n")
_WHOLE = (bytes, list)
# The maximum length of an audit ID that a client chooses; the rest is cut off.
_MAX_AUDIT_ID = 64
# The seconds after which clients repeat a request that did not reach the store.
_RETRY_SECONDS = 1
# The user of a request before authentication, and after failed authentication.
_NOBODY = User("")


class Pipeline:
    """The stages that every request passes. `plain` handlers answer paths that are not resources. If `read_only` is
    set, every write is rejected, with that text as the reason."""

    def __init__(
        self,
        services: Services,
        aggregation: Aggregation,
        *,
        plain: Sequence[Plain] = (),
        observer: RequestObserver | None = None,
        auditor: "Auditor | None" = None,
        gate: Gate | None = None,
        read_only: str = "",
    ) -> None:
        self.services = services
        self._aggregation = aggregation
        self._plain = plain
        self._observer = observer
        self._auditor = auditor
        self._gate = gate
        self._read_only = read_only
        self._impersonation = Impersonation()
        self._timeouts = Timeouts(services.clock)

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answers a request. Never raises: every failure becomes an error response."""
        return self._timeouts.answer(request, self._handle) if "timeout=" in request.query else self._handle(request)

    async def repeat(self, request: Request) -> Repeat | None:
        """Returns a fast path for further reads of the object that the client has just read, or None if the full
        pipeline is required."""
        store, authenticator = self.services.store, self.services.authenticator
        if self._auditor is not None or request.query or not isinstance(store, PeekableStore):
            return None
        if not isinstance(authenticator, Standing) or not authenticator.stands(request, 2 * MOMENT):
            return None
        context, epoch = self._context(request), authenticator.epoch
        info = context.info
        if info.verb != "get" or not info.name or info.subresource or not info.is_resource or info.group == OWN_GROUP:
            return None
        if context.registry.remote and info.group_version in context.registry.remote:
            return None
        try:
            user = await authenticator.authenticate(request, info)
            if user is None:
                return None
            context.user = user
            if MASTERS not in user.groups or PREFIX in "".join(request.headers):
                return None
            await self._authorize(context)
            route = find(context.registry, info)
            if not isinstance(route, Route) or route.verb is not VERBS["get"]:
                return None
            resource = route.resource
            # The fast path cannot wait for a conversion.
            if resource.deprecation_warning or resource.fetch is not None:
                return None
            accepted = negotiate(context, resource)
        except APIError:
            return None
        form = None
        if accepted.media_type == PROTOBUF and not accepted.form:
            form = await ProtobufForm.of(context, resource, accepted)
        elif accepted != PLAIN or is_pretty(request, ""):
            return None
        repeat = Repeat(context, resource, store, self._observer, authenticator, epoch, form)
        if isinstance(store, StateCache) and store.is_shared:
            repeat.when_fresh = store.when_fresh
        return repeat

    async def _handle(self, request: Request) -> Response:
        started = self.services.clock.monotonic()
        context = self._context(request)
        auditor = self._auditor
        try:
            user = await self.services.authenticator.authenticate(request, context.info)
            if user is None:
                raise Unauthorized.of()
            context.user = user
            if auditor is not None:
                auditor.received(context)
            if PREFIX in "".join(request.headers):
                await self._impersonate(context)
            response = await self._answer_queued(context)
        except APIError as error:
            response = await failure_answer(context, error)
        except StoreError as error:
            # The store itself reports the beginning and the end of an outage.
            level = logging.DEBUG if isinstance(error, Unreachable) else logging.ERROR
            _log.log(level, "%s %s failed in the store: %s", request.method, request.path, error)
            response = error_answer(request, _store_failure(error))
        except Exception as error:
            _log.exception("%s %s failed", request.method, request.path)
            response = error_answer(request, _failure(error))
            if auditor is not None:
                auditor.panicked(context, error)
        if auditor is not None:
            response = auditor.answered(context, response)
        if context.kept:
            self.services.offload.release(context.kept)
        response = _finished(response, context)
        body = response.body
        if (type(body) is bytes and len(body) > LEAST) or type(body) is list:
            response = await compressed(request, response, self.services.offload, context.user.name)
        if self._observer is None:
            return response
        return self._observer.observe(context, response, self.services.clock.monotonic() - started)

    def _context(self, request: Request) -> Context:
        """Returns the context of a request: its parsed path and its audit ID. The user is not known yet."""
        watch = _watch_parameter(request) if "watch=" in request.query else None
        info = request_info(request.method, request.path, watch)
        given = request.headers.get("audit-id")
        audit_id = given[:_MAX_AUDIT_ID] if given else self.services.ids.uid()
        return Context(self.services, request, info, _NOBODY, audit_id)

    async def _impersonate(self, context: Context) -> None:
        """Replaces the user by the impersonated one, if the request asks for impersonation and the user is allowed
        to."""
        authorizer, user = self.services.authorizer, context.user
        await authorizer.prepare()
        other = self._impersonation.impersonated(context.request.headers, context.info, user, authorizer)
        if other is not None:
            context.user, context.impersonator = other, user

    async def _answer_queued(self, context: Context) -> Response:
        """Waits for a seat of flow control, then authorizes and answers the request."""
        gate = self._gate
        if gate is None:
            await self._authorize(context)
            return await self._answer(context)
        seat = gate.enter(context) or await self._queued(gate, context)
        context.seat = seat
        kept = False
        try:
            response = await gate.measured(seat, self._authorized(context))
            if isinstance(seat, OccupiedSeat):
                kept = await gate.keep(context, seat, response)
                if not kept and context.info.verb in _WRITING:
                    kept = gate.charge_watches(seat, _watches(context))
        finally:
            if not kept:
                gate.finish(seat)
        if not isinstance(response.body, _WHOLE):
            return gate.streamed(context, response, response.body)
        return response

    async def _queued(self, gate: Gate, context: Context) -> ExemptSeat | OccupiedSeat:
        """Waits for a seat, and records the time of waiting."""
        clock = self.services.clock
        started = clock.monotonic()
        try:
            seat = await gate.wait(context)
        finally:
            context.waited += clock.monotonic() - started
        seat.flow.tally.waited(context.waited)
        return seat

    async def _authorized(self, context: Context) -> Response:
        await self._authorize(context)
        return await self._answer(context)

    async def _authorize(self, context: Context) -> None:
        """Raises Forbidden if the user is not authorized for the request."""
        authorizer = self.services.authorizer
        await authorizer.prepare(context.user)
        info = context.info
        if info.group == OWN_GROUP and (info.subresource or info.resource == SUMMARIES):
            info = right_of_endpoint(context)
        if info.verb in SELECTING and "fieldSelector=" in context.request.query:
            info = request_attributes(context)
        decision = authorizer.decide(context.user, info)
        if decision.allowed and info.verb == "get" and info.subresource in _CONVERSATIONS:
            info = info._replace(verb="create")
            decision = authorizer.decide(context.user, info)
        if self._auditor is not None:
            context.annotations["authorization.k8s.io/decision"] = "allow" if decision.allowed else "forbid"
            context.annotations["authorization.k8s.io/reason"] = decision.reason
        if not decision.allowed:
            raise refusal(context.user, info, decision)

    async def _authorize_past(self, context: Context, resource: Resource) -> None:
        """Raises an error for `at` if the user has no right to read the history, or if the verb is neither get nor
        list."""
        if context.info.verb not in _AT_VERBS:
            raise BadRequest(f"the parameter at is supported for get and list only, not for {context.info.verb}")
        revision = at_revision(context)
        if revision is not None:
            await authorize_past(context, resource, revision)

    async def _answer(self, context: Context) -> Response:
        """Passes the request to its verb, or to the handlers of paths that are not resources."""
        info, registry = context.info, context.registry
        if registry.remote and (remote := remote_version(registry, info)) is not None:
            # Most servers have no extension server.
            from setpoint.server.aggregation.forwarding import forward

            return await forward(self._aggregation, context, remote)
        if not info.is_resource:
            for plain in self._plain:
                response = await plain.respond(context)
                if response is not None:
                    return response
            if _is_in_builtin_group(context):
                raise NotFound.resource()
            return _NO_PAGE
        try:
            route = find(context.registry, info)
        except APIError:
            # A deprecated version of a custom resource has its warning even if the request has no handler.
            known = context.registry.resource(info.group, info.version, info.resource)
            if known is not None and known.is_custom and known.deprecation_warning:
                context.warn(known.deprecation_warning)
            raise
        if route is None:
            return _NO_PAGE
        if info.verb == "watch" and context.request.method not in _READING_METHODS:
            raise MethodNotAllowed.method()  # the path of a legacy watch implies the verb, for any method
        if isinstance(route, HandlerRoute):
            return await route.answer(context)
        resource, verb = route
        if resource.is_custom and resource.deprecation_warning:
            context.warn(resource.deprecation_warning)
        if self._read_only and info.verb in _WRITING and resource.verbs != CREATE_ONLY:
            raise Forbidden.of(resource.group_resource, info.name, self._read_only)
        query = context.request.query
        # Most queries do not name the parameter, and are not parsed here.
        if query and ("at" in query or "%" in query) and "at" in context.query:
            await self._authorize_past(context, resource)
        if context.request.method == "HEAD" and not resource.is_custom:
            raise MethodNotAllowed.method()
        self._negotiate(context, resource)
        return await verb(context, resource)

    def _negotiate(self, context: Context, resource: Resource) -> None:
        """Sets the form of the answer before any work is done. Extensions answer with content of their own, which is no
        object."""
        info = context.info
        if info.verb == "patch":
            patch_type(context, resource)
        below = resource.subresources.get(info.subresource)
        try:
            if info.group == resource.group and (below is None or not below.answers):
                accept = context.request.headers.get("accept", "")
                context.accepted = PLAIN if accept in UNDEMANDING else negotiate(context, resource)
        except NotAcceptable as error:
            # The router of kube-apiserver refuses unknown media types before the warning is made.
            if not error.has_details and not resource.is_custom and resource.deprecation_warning:
                context.warn(resource.deprecation_warning)
            raise
        if not resource.is_custom and resource.deprecation_warning:
            context.warn(resource.deprecation_warning)


def _watches(context: Context) -> int:
    """Returns the number of watches that receive an event for the write of a request."""
    info = context.info
    resource = context.registry.resource(info.group, info.version, info.resource)
    if resource is None:
        return 0
    storage = resource.storage
    return resource.fanouts.subscribers({storage.prefix, storage.scope(info.namespace)})


def _failure(error: Exception) -> APIError:
    """Returns the API error that the client receives for an unexpected exception."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return ServiceUnavailable(
            "the server has no file descriptors left: raise its limit of open files (`ulimit -n`)"
        )
    return InternalError.of(f"{type(error).__name__}: {error}")


def _store_failure(error: StoreError) -> APIError:
    """Returns the API error for a failure of the store. Clients repeat a request with Retry-After, so a write that may
    have been made has none."""
    if isinstance(error, OutcomeUnknown):
        return Timeout.of(f"{error}; read the object before the request is repeated")
    return ServiceUnavailable(
        f"the store is unavailable: {error}",
        retry_after_seconds=_RETRY_SECONDS if isinstance(error, Unreachable) else 0,
    )


def _is_in_builtin_group(context: Context) -> bool:
    """Returns True if an unknown path is below `/api` or a group of built-in kinds, which answer it with a Status."""
    first, _, rest = context.info.path.strip("/").partition("/")
    group = rest.partition("/")[0]
    return bool(group) and (first == "api" or (first == "apis" and group in context.registry.builtin_groups))


def _watch_parameter(request: Request) -> str | None:
    values = parse_qs(request.query, keep_blank_values=True).get("watch")
    return values[0] if values else None


def _finished(response: Response, context: Context) -> Response:
    """Returns the response with the headers that all responses have."""
    status, content_type, body, own = response
    headers = [*own, *context.headers]
    if not own or not any(name == "Cache-Control" for name, _ in headers):
        headers.append(NO_CACHE)
    headers.append(("Audit-Id", context.audit_id))
    if context.warnings:
        headers += warning_headers(context.warnings)
    return _new(Response, (status, content_type, body, headers))
