"""The common part of all verbs: sends a request to a resource with the client's options, and raises errors.

Errors of the server are raised as the classes of `setpoint.objects.errors`; requests that did not reach the server, or
were not answered, raise `TransportError`.
"""

import copy
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import msgspec

from setpoint.client.discovery import APIResource
from setpoint.client.kinds import Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.client.limit import RateLimit
from setpoint.client.mapper import DEFINING_GROUPS, Mapper
from setpoint.client.observe import NO_ANSWER, ClientObserver
from setpoint.client.options import Impersonation, Options
from setpoint.client.patches import APPLY
from setpoint.client.retry import Retries
from setpoint.client.transport import Answer, Call, Refused, Socket, SocketTransport, Stream, Transport, TransportError
from setpoint.client.warning import parse_warnings
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import CAUSE_HEADER, Cause
from setpoint.objects.status import from_status
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.request_priority import RequestPriority

JSON = "application/json"
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
_is_plain = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch
_log = logging.getLogger(__name__)

Query = list[tuple[str, str]]


class Requests:
    """Sends requests to one API server over a transport."""

    def __init__(
        self,
        transport: Transport,
        *,
        # The clock; the system clock by default.
        clock: Clock | None = None,
        # The default options of calls.
        options: Options | None = None,
        # Called with each warning of the server; by default each text is logged once.
        on_warning: Callable[[str], None] | None = None,
        # The mapper of kinds, to share the results of discovery between clients.
        mapper: Mapper | None = None,
        # The limit of requests per second; none by default.
        rate_limit: RateLimit | None = None,
        # Called for each request, retry and delay, for metrics.
        observer: ClientObserver | None = None,
        # For a server in this process: the order of its requests and the reconciles of controllers with this client.
        priority: "RequestPriority | None" = None,
    ) -> None:
        self.transport = transport
        self.clock = clock or SystemClock()
        self.options = options or Options()
        self.on_warning = on_warning or _WarnOnce()
        self.rate_limit = rate_limit
        self.observer = observer
        self.priority = priority
        self.mapper = mapper or Mapper(self.send, self.clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancels requests in progress and closes all connections."""
        await self.transport.close()

    def with_options(
        self,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        field_validation: str | None = None,
        dry_run: bool | None = None,
        impersonate: Impersonation | None = None,
        cause: Cause | None = None,
        timeout: float | None = None,
        user_agent: str | None = None,
    ) -> Self:
        """Returns a client with other default options. Both clients share the connections: close only one of them."""
        given: dict[str, Any] = {
            "namespace": namespace,
            "field_manager": field_manager,
            "field_validation": field_validation,
            "dry_run": dry_run,
            "impersonate": impersonate,
            "cause": cause,
            "timeout": timeout,
            "user_agent": user_agent,
        }
        other = copy.copy(self)
        other.options = self.options._replace(**{name: value for name, value in given.items() if value is not None})
        return other

    def as_(self, user: str, *groups: str, uid: str = "", extra: Mapping[str, Sequence[str]] | None = None) -> Self:
        """Returns a client that impersonates another user: `await client.as_("jane", "teachers").list(...)`."""
        return self.with_options(impersonate=Impersonation(user, groups, uid, extra or {}))

    async def send(self, call: Call) -> Answer:
        """Sends any request and returns its answer. Retries as the server asks. Raises the errors of the API, and
        TransportError."""
        call = self._prepared(call)
        attempt: Any = (
            self._attempt if self.observer is not None or self.rate_limit is not None else self.transport.send
        )
        retries: Retries | None = None
        while True:
            answer: Answer | None = None
            try:
                answer = await attempt(call)
                if answer.status < 400:
                    if "warning" in answer.headers:
                        self._handle_warnings(answer)
                    return answer
                retries = retries or Retries(call.method)
                seconds = retries.after(answer)
                if seconds is None:
                    self._handle_warnings(answer)
                    raise error_of(answer)
            except TransportError as error:
                retries = retries or Retries(call.method)
                seconds = retries.after_error(error)
                if seconds is None:
                    raise
            self._observe_retry(call, answer)
            await self.clock.sleep(seconds)

    async def raw(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> Answer:
        """Sends a request to any path, such as `/healthz` or a path below a proxy subresource. Raises the same errors
        as `send`."""
        return await self.send(Call(method, path, query, {"accept": "*/*", **(headers or {})}, body, timeout))

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        """Sends any request, and yields its answer as a stream."""
        call = self._prepared(call)
        await self._wait_rate_limit(call)
        started = self.clock.monotonic()
        code = NO_ANSWER
        try:
            async with self.transport.stream(call) as stream:
                code = str(stream.answer.status)
                self._observe_response(call, code, started)
                self._handle_warnings(stream.answer)
                if stream.answer.status >= 400:
                    raise error_of(stream.answer)
                yield stream
        except TransportError:
            if code is NO_ANSWER:
                self._observe_response(call, code, started)
            raise

    @asynccontextmanager
    async def socket(self, call: Call, protocols: Sequence[str]) -> AsyncIterator[Socket]:
        """Opens a WebSocket. Raises the errors of the API, and TransportError."""
        if not isinstance(self.transport, SocketTransport):
            raise TransportError("the transport does not support WebSockets: connect over HTTP", sent=False)
        call = self._prepared(call)
        await self._wait_rate_limit(call)
        try:
            async with self.transport.socket(call, protocols) as socket:
                yield socket
        except Refused as refused:
            raise error_of(refused.answer) from None

    def _prepared(self, call: Call) -> Call:
        options = self.options
        if options.timeout is not None and call.timeout is None:
            call = call._replace(timeout=options.timeout)
        if options.impersonate is None and options.cause is None and not options.user_agent:
            return call
        return call._replace(headers={**call.headers, **_option_headers(options)})

    def _handle_warnings(self, answer: Answer) -> None:
        if "warning" in answer.headers:
            for text in parse_warnings(answer.headers["warning"]):
                self.on_warning(text)

    # Metrics and the rate limit

    async def _attempt(self, call: Call) -> Answer:
        await self._wait_rate_limit(call)
        started = self.clock.monotonic()
        try:
            answer = await self.transport.send(call)
        except TransportError:
            self._observe_response(call, NO_ANSWER, started)
            raise
        self._observe_response(call, str(answer.status), started)
        return answer

    async def _wait_rate_limit(self, call: Call) -> None:
        if self.rate_limit is not None:
            waited = await self.rate_limit.wait()
            if waited and self.observer is not None:
                self.observer.limited(call.method, self.host, waited)

    def _observe_response(self, call: Call, code: str, started: float) -> None:
        if self.observer is not None:
            self.observer.requested(call.method, self.host, code, self.clock.monotonic() - started)

    def _observe_retry(self, call: Call, answer: Answer | None) -> None:
        if self.observer is not None:
            self.observer.retried(call.method, self.host, NO_ANSWER if answer is None else str(answer.status))

    @property
    def host(self) -> str:
        """The host of the server, as a label for metrics."""
        endpoint = getattr(self.transport, "endpoint", None)
        return "in process" if endpoint is None else endpoint.authority

    # Requests to resources

    async def resource(self, kind: Kind[Any]) -> APIResource:
        """Returns the resource that serves a kind. Raises NoMatch."""
        gvk = kind_of(kind).gvk
        return self.mapper.known.get(gvk) or await self.mapper.resource(gvk)

    async def _call(
        self,
        ref: KindRef,
        method: str,
        *,
        name: str = "",
        namespace: str = "",
        subresource: str = "",
        query: Query | None = None,
        body: bytes = b"",
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Answer:
        """Sends a request to a resource or one of its objects."""
        call = Call(method, "", query or (), headers_of(accept, content_type if body else ""), body)
        path = await self._path(ref, name, namespace, subresource)
        if not namespace:
            self._require_namespace(ref, name, is_object=method in ("POST", "PUT") or content_type == APPLY)
        try:
            answer = await self.send(call._replace(path=path))
            if ref.gvk.group in DEFINING_GROUPS:
                self.mapper.invalidate_missing(ref.gvk)
            return answer
        except NotFound as error:
            if error.name:
                raise
        # The resource does not exist any more: its definition may have changed.
        self.mapper.evict(ref.gvk)
        return await self.send(call._replace(path=await self._path(ref, name, namespace, subresource)))

    def _require_namespace(self, ref: KindRef, name: str, *, is_object: bool = False) -> None:
        """Raises ValueError for an object of a namespaced kind if the client has no default namespace."""
        resource = self.mapper.known.get(ref.gvk)
        if self.options.namespace or resource is None or not resource.namespaced or not (name or is_object):
            return
        if is_object:
            remedy = "set metadata.namespace; for a child, ctx.own(child) sets the namespace of the owner"
        else:
            remedy = f'pass the namespace, as in get({ref.code}, "{name}", "default")'
        raise ValueError(
            f"{ref.gvk.kind} {name or 'without a name'} has no namespace: {remedy}. "
            'client.with_options(namespace="default") sets a default'
        )

    async def _path(self, ref: KindRef, name: str, namespace: str, subresource: str = "") -> str:
        resource = self.mapper.known.get(ref.gvk) or await self.mapper.resource(ref.gvk)
        path = _collection(resource, namespace or self.options.namespace)
        if name:
            path = f"{path}/{_quoted(name)}"
        return f"{path}/{_quoted(subresource, '/')}" if subresource else path


@lru_cache(maxsize=1024)
def _collection(resource: APIResource, namespace: str) -> str:
    """Returns the path of the objects of a resource; cached, because a client repeats a few of them."""
    return resource.path(_quoted(namespace))


def _option_headers(options: Options) -> dict[str, str | Sequence[str]]:
    """Returns the headers of every request of a client."""
    found = options.impersonate.headers() if options.impersonate is not None else {}
    if options.cause is not None:
        found[CAUSE_HEADER] = options.cause.to_header()
    if options.user_agent:
        found["user-agent"] = options.user_agent
    return found


def _quoted(text: str, safe: str = "") -> str:
    """Percent-encodes a segment of a path. Almost all names need no encoding."""
    return text if _is_plain(text) else quote(text, safe=safe)


class _WarnOnce:
    """Logs the warnings of servers: each text once, and at most 1000 texts."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._seen and len(self._seen) < 1000:
            self._seen.add(text)
            _log.warning("warning from the server: %s", text)


def target_of(target: Any, name: str, namespace: str) -> tuple[KindRef, str, str]:
    """Returns the kind, name and namespace of a patch's or delete's target."""
    if isinstance(target, type | str | GroupVersionKind | KindRef):
        if not name:
            raise ValueError(f"no {kind_of(target)} was given: pass its name, or the object")
        return kind_of(target), name, namespace
    found, its_namespace = place_of(tree_of(target))
    return ref_of(target), name or found, namespace or its_namespace


def place_of(tree: Object) -> tuple[str, str]:
    """Returns the name and the namespace of an object."""
    metadata = metadata_of(tree)
    if not metadata.get("name"):
        raise ValueError("the object has no name: only a create can use generateName")
    return metadata["name"], metadata.get("namespace", "")


def metadata_of(tree: Object) -> Mapping[str, Any]:
    """Returns the metadata of a tree, or an empty mapping."""
    metadata = tree.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def query_of(**values: str) -> Query:
    """Returns the query parameters with a value."""
    return [(name, value) for name, value in values.items() if value]


def accept_of(ref: KindRef) -> str:
    """Returns the Accept header for an object of a kind."""
    return _METADATA_ONLY if ref.metadata_only else JSON


def headers_of(accept: str, content_type: str = "") -> dict[str, str]:
    return {"accept": accept, "content-type": content_type} if content_type else {"accept": accept}


def error_of(answer: Answer) -> APIError:
    """Returns the API error of an error answer."""
    try:
        status = decode(answer.body)
    except msgspec.DecodeError:
        text = answer.body[:2000].decode("utf-8", "replace").strip()
        status = {"kind": "Status", "message": text} if text else None
    return from_status(status, answer.status)
