"""Forwards requests to extension API servers, after authentication, flow control and authorization.

The extension server receives the path that was authorized, the headers of the client without credentials and without
headers of the connection, and the user. The answer is passed on as it arrives.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote, unquote
from weakref import finalize

from setpoint.client.http.connection import Broken
from setpoint.client.transport import Refused
from setpoint.objects.errors import BadRequest, ServiceUnavailable, Timeout, TooManyRequests
from setpoint.server.access.authentication.impersonation import PREFIX as IMPERSONATION
from setpoint.server.aggregation.aggregation import Aggregation
from setpoint.server.aggregation.user_headers import PREFIX as USER_PREFIX
from setpoint.server.handshake import PROTOCOL, Offer, offered
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.outbound.client import AuthoritiesError, OpenAnswer, within
from setpoint.server.outbound.failure import DEADLINE, CallFailed
from setpoint.server.outbound.service_resolver import ServiceError
from setpoint.server.registry.remote_version import RemoteVersion
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import is_long_running

# As for requests that this server answers itself.
TIMEOUT_SECONDS = 60.0
# A longer answer is passed on while it arrives. Code in this process reads answers as a whole.
_WHOLE_BYTES, _WHOLE_IN_PROCESS = 1 << 20, 64 << 20
_SAFE = "/:@!$&'()*+,;=~-._"
# Headers that concern a single connection, or that this server sets.
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
    )
)
_NOT_SENT = _HOP_BY_HOP | {"host", "authorization", "accept-encoding", "expect", "audit-id", "x-forwarded-for"}
_NOT_RETURNED = _HOP_BY_HOP | {"content-type", "date", "audit-id"}
_WEBSOCKET = "sec-websocket-"


async def forward(aggregation: Aggregation, context: Context, remote: RemoteVersion) -> Response:
    """Returns the answer of the extension server. Raises BadRequest, TooManyRequests, Timeout and
    ServiceUnavailable."""
    if not remote.is_available:
        return _plain(503, "service unavailable")
    shares, user = aggregation.shares(remote.server), context.user.name
    if shares.is_full(user):
        raise TooManyRequests.of()
    target = _target(context)
    if context.seat is not None:
        # A slow extension server must not occupy the seats of requests for this server.
        context.seat.release()
    shares.opened(user)
    try:
        return await _answered(aggregation, context, remote, target)
    finally:
        shares.closed(user)


async def _answered(aggregation: Aggregation, context: Context, remote: RemoteVersion, target: str) -> Response:
    request = context.request
    offer = offered(request.headers)
    if offer is not None and context.info.verb != "watch":
        return await _opened(aggregation, context, remote, target, offer)
    # The parser of answers does not know which answers have no body: a HEAD is sent as a GET.
    method = "GET" if request.method == "HEAD" else request.method
    try:
        answer = await aggregation.client.open(
            remote.server, method, target, context.user, _header_lines(context), request.body, TIMEOUT_SECONDS
        )
    except (ServiceError, AuthoritiesError, CallFailed) as error:
        return _failure(error)
    if request.method == "HEAD":
        answer.close()
        return _response(answer.status, answer.headers, b"")
    stream = ForwardedStream(answer)
    if is_long_running(context.info):
        return _response(answer.status, answer.headers, stream)
    most = _WHOLE_IN_PROCESS if request.peer.in_process else _WHOLE_BYTES
    try:
        whole = await within(context.services.clock, TIMEOUT_SECONDS, stream.read(most))
    except TimeoutError:
        raise Timeout.of("request did not complete within the allotted timeout") from None
    except Broken as error:
        raise ServiceUnavailable(f"the answer of the extension API server is incomplete: {error}") from None
    return _response(answer.status, answer.headers, stream if whole is None else whole)


async def _opened(
    aggregation: Aggregation, context: Context, remote: RemoteVersion, target: str, offer: Offer
) -> Response:
    """Opens a WebSocket, or returns the refusal of the extension server."""
    from setpoint.server.aggregation.forwarded_socket import ForwardedSocket

    try:
        socket = await aggregation.client.open_socket(
            remote.server, target, context.user, _header_lines(context), offer.protocols, TIMEOUT_SECONDS
        )
    except (ServiceError, AuthoritiesError, CallFailed) as error:
        return _failure(error)
    except Refused as refused:
        return _response(refused.answer.status, refused.answer.headers, refused.answer.body)
    headers = [(PROTOCOL, socket.protocol)] if socket.protocol else []
    stream = ForwardedSocket(socket, aggregation.shares(remote.server), context.user.name)
    return Response(200, "text/plain", stream, headers)


def _failure(error: Exception) -> Response:
    """Returns the answer for a server that cannot be reached. Raises Timeout."""
    if isinstance(error, ServiceError):
        return _plain(503, "service unavailable")
    if isinstance(error, AuthoritiesError):
        return _plain(500, str(error))
    if str(error) == DEADLINE:
        raise Timeout.of("request did not complete within the allotted timeout")
    return _plain(503, f"error trying to reach service: {error}")


class ForwardedStream:
    """The body of an answer, passed on while it arrives."""

    def __init__(self, answer: OpenAnswer) -> None:
        self._pieces: AsyncIterator[bytes] = answer.pieces()
        self._first: list[bytes] = []
        # A stream that no client reads must not keep the connection.
        self._closing = finalize(self, answer.close)
        self._closing.atexit = False

    async def read(self, most: int) -> bytes | None:
        """Returns the whole body, or None if the body has more bytes. Raises Broken."""
        size = 0
        try:
            async for piece in self._pieces:
                self._first.append(piece)
                size += len(piece)
                if size > most:
                    return None
        except BaseException:
            self._closing()
            raise
        self._closing()
        return b"".join(self._first)

    async def run(self, sink: Sink) -> None:
        copying, closed = asyncio.ensure_future(self._copy(sink)), asyncio.ensure_future(sink.wait_closed())
        try:
            await asyncio.wait((copying, closed), return_when=asyncio.FIRST_COMPLETED)
            if copying.done():
                copying.result()
        finally:
            for task in (copying, closed):
                task.cancel()
            await asyncio.gather(copying, closed, return_exceptions=True)
            self._closing()

    async def _copy(self, sink: Sink) -> None:
        for piece in self._first:
            sink.write(Frame(piece))
        self._first.clear()
        async for piece in self._pieces:
            if not (sink.write(Frame(piece)) and await sink.drain()):
                return


def _target(context: Context) -> str:
    """Returns the path and query to forward. The path is decoded and encoded again, so that the extension server finds
    the same segments that were authorized. Raises BadRequest."""
    request = context.request
    path = unquote(request.path)
    if any(segment in ("", ".", "..") for segment in path.strip("/").split("/")):
        raise BadRequest("the path has an empty segment, or a segment . or .., and is not forwarded")
    encoded = quote(path, safe=_SAFE)
    return f"{encoded}?{request.query}" if request.query else encoded


def _header_lines(context: Context) -> str:
    request = context.request
    named = {name.strip().lower() for name in request.headers.get("connection", "").split(",")}
    lines = [
        f"{name}: {value}\r\n"
        for name, value in request.headers.items()
        if name not in _NOT_SENT
        and name not in named
        and not name.startswith((USER_PREFIX, IMPERSONATION, _WEBSOCKET))
        and not set("\r\n\0") & set(value)
    ]
    lines.append(f"Audit-Id: {quote(context.audit_id)}\r\n")
    if request.peer.address and not request.peer.in_process:
        lines.append(f"X-Forwarded-For: {request.peer.address}\r\n")
    return "".join(lines)


def _response(status: int, headers: Mapping[str, str], body: bytes | ForwardedStream) -> Response:
    returned = [(name.title(), value) for name, value in headers.items() if name not in _NOT_RETURNED]
    return Response(status, headers.get("content-type", ""), body, returned)


def _plain(status: int, text: str) -> Response:
    """Returns an error in the form of Go's `http.Error`."""
    headers = [("X-Content-Type-Options", "nosniff")]
    return Response(status, "text/plain; charset=utf-8", f"{text}\n".encode(), headers)
