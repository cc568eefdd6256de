"""The HTTP client of the server for webhooks, token issuers and extension API servers.

The client uses the connections of `client/http` and reports errors in the wording of Go's client, which users search
for. The timeout of a call covers name lookup, connection, TLS handshake and response, measured by the server's clock.
Connections are reused. Redirects are not followed, and responses are limited in size. No call blocks the event loop.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from setpoint.client.http.connection import Broken, HttpConnection
from setpoint.client.http.pool import Pool
from setpoint.client.transport import Answer, TransportError
from setpoint.objects.clock import Clock
from setpoint.server.certificate_pair import load_pair
from setpoint.server.outbound import failure
from setpoint.server.outbound.call_metrics import CallMetrics

if TYPE_CHECKING:
    from setpoint.client.http.websocket import WebSocket

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.BaseProtocol)

# The maximum number of idle connections per server.
_IDLE_CONNECTIONS = 16
# The maximum number of cached TLS contexts.
_CONTEXTS = 200
_BODY_BYTES = 16 << 20
# Characters that are not escaped in a path; existing escapes are kept.
_PATH = "/%:@!$&'()*+,;=~-._"


class _NoConnection(Exception):  # noqa: N818 - a signal between opening a connection and the call
    """No connection could be opened. The message gives the reason in Go's wording."""


class AuthoritiesError(ValueError):
    """A CA bundle contains no certificate."""


class OutboundTarget(NamedTuple):
    """The location of a server. `url` is its URL; `address` is the address to connect to, if different from the URL's
    host."""

    url: str
    # PEM; empty: the authorities that the system trusts.
    authorities: bytes = b""
    address: tuple[str, int] | None = None
    # True if the certificate of the server is not verified.
    is_insecure: bool = False
    # The certificate of this client and its key, PEM; empty for a client without a certificate.
    pair: bytes = b""


class _Trust(NamedTuple):
    """The properties of a TLS context."""

    authorities: bytes
    is_insecure: bool = False
    pair: bytes = b""


class _Target(NamedTuple):
    """The key of pooled connections."""

    host: str
    port: int
    server_name: str
    trust: _Trust | None


class OpenAnswer:
    """An answer whose body is read while the body arrives. Call `close` at the end, in every case."""

    def __init__(self, pool: Pool[_Target], target: _Target, connection: HttpConnection, answer: Answer) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._body = answer.body
        self._pool, self._target = pool, target
        self._connection: HttpConnection | None = connection

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body. Raises Broken."""
        if self._body:
            yield self._body
        elif self._connection is not None:
            async for piece in self._connection.pieces():
                yield piece

    def close(self) -> None:
        """Returns the connection to the pool, or closes the connection if the body was not read to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.release(self._target, connection)


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of the work. Cancels the work and raises TimeoutError after `seconds`."""
    task = asyncio.ensure_future(work)
    alarm = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        alarm.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # of work that failed while the caller was cancelled: asyncio would report an unread one


class Client:
    """Calls other servers and pools the connections. If `offline` gives a reason, every call fails without a
    connection."""

    def __init__(
        self, clock: Clock, *, body_bytes: int = _BODY_BYTES, offline: str = "", metrics: CallMetrics | None = None
    ) -> None:
        self._clock = clock
        self._metrics = metrics or CallMetrics()
        self._body_bytes = body_bytes
        self._offline = offline
        self._pool: Pool[_Target] = Pool(clock.monotonic, max_idle=_IDLE_CONNECTIONS)
        self._contexts: dict[_Trust, ssl.SSLContext] = {}

    async def post(self, endpoint: OutboundTarget, body: bytes, *, timeout: float, query: str = "") -> Answer:
        """Sends JSON and returns the response with any status. Raises CallFailed or AuthoritiesError."""
        headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return await self._exchange("POST", endpoint, query, headers, body, timeout)

    async def get(self, endpoint: OutboundTarget, *, timeout: float) -> Answer:
        """Returns the response with any status. Raises CallFailed or AuthoritiesError."""
        return await self._exchange("GET", endpoint, urlsplit(endpoint.url).query, "", b"", timeout)

    async def _exchange(
        self, method: str, endpoint: OutboundTarget, query: str, headers: str, body: bytes, timeout: float
    ) -> Answer:
        split = urlsplit(endpoint.url)
        path = quote(split.path, safe=_PATH) or "/"
        target = f"{path}?{query}" if query else path
        shown = f"{split.scheme}://{split.netloc}{target}"
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: {split.netloc}\r\nUser-Agent: setpoint\r\n"
            f"Accept: application/json\r\n{headers}\r\n"
        )
        call = _Call(self, endpoint, split.scheme == "https", split.hostname or "", split.port)
        code, started = 0, self._clock.monotonic()
        try:
            answer = await within(self._clock, timeout, call.run(head.encode() + body))
            code = answer.status
            return answer
        except TimeoutError:
            if call.has_head:
                raise failure.in_body(failure.DEADLINE) from None
            raise failure.before_answer(method, shown, failure.DEADLINE) from None
        except _NoConnection as none:
            raise failure.before_answer(method, shown, str(none)) from None
        except Broken as broken:
            why = failure.of_exchange(broken, self._body_bytes)
            if broken.has_head:
                raise failure.in_body(why) from None
            raise failure.before_answer(method, shown, why) from None
        finally:
            self._metrics.record(method, split.netloc, code, self._clock.monotonic() - started)

    def close(self) -> None:
        """Closes all connections, which aborts pending calls. Later calls fail."""
        self._pool.close()

    async def open(
        self, method: str, endpoint: OutboundTarget, target: str, headers: str, body: bytes, *, timeout: float
    ) -> OpenAnswer:
        """Sends a request for `target`, a path with a query, and returns the answer after its head; the timeout ends
        there. `headers` are complete lines. Raises CallFailed, whose message has no URL, or AuthoritiesError."""
        split = urlsplit(endpoint.url)
        length = f"Content-Length: {len(body)}\r\n" if body or method not in ("GET", "DELETE") else ""
        head = f"{method} {target} HTTP/1.1\r\nHost: {split.netloc}\r\n{headers}{length}\r\n"
        place = _target(endpoint, split.scheme == "https", split.hostname or "", split.port)
        code, started = 0, self._clock.monotonic()
        sending = self._pool.send(
            place, head.encode() + body, lambda: self._open(place), may_repeat=method == "GET", stream=True
        )
        try:
            connection, answer = await within(self._clock, timeout, sending)
            code = answer.status
        except TimeoutError:
            raise failure.CallFailed(failure.DEADLINE) from None
        except _NoConnection as none:
            raise failure.CallFailed(str(none)) from None
        except Broken as broken:
            raise failure.CallFailed(failure.of_exchange(broken, self._body_bytes)) from None
        finally:
            self._metrics.record(method, split.netloc, code, self._clock.monotonic() - started)
        return OpenAnswer(self._pool, place, connection, answer)

    async def open_socket(
        self, endpoint: OutboundTarget, target: str, headers: str, protocols: Sequence[str], *, timeout: float
    ) -> "WebSocket":
        """Opens a WebSocket at `target`, on a connection of its own. Raises CallFailed, AuthoritiesError, or Refused
        with the answer of a server that does not accept."""
        from setpoint.client.http.websocket import WebSocket

        split = urlsplit(endpoint.url)
        place = _target(endpoint, split.scheme == "https", split.hostname or "", split.port)

        def request(more: Mapping[str, str]) -> bytes:
            lines = "".join(f"{name}: {value}\r\n" for name, value in more.items())
            return f"GET {target} HTTP/1.1\r\nHost: {split.netloc}\r\n{headers}{lines}\r\n".encode()

        async def shake_hands() -> WebSocket:
            found = await self._connect(place, WebSocket)
            await found.begin(request, protocols)
            return found

        try:
            return await within(self._clock, timeout, shake_hands())
        except TimeoutError:
            raise failure.CallFailed(failure.DEADLINE) from None
        except (_NoConnection, TransportError) as error:
            raise failure.CallFailed(str(error)) from None

    def context(self, trust: _Trust) -> ssl.SSLContext:
        """Returns the TLS context with these properties. Raises AuthoritiesError."""
        found = self._contexts.get(trust)
        if found is None:
            found = _context(trust)
            if len(self._contexts) >= _CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[trust] = found
        return found

    async def exchange(self, target: _Target, request: bytes, on: Callable[[HttpConnection], None]) -> Answer:
        """Sends a request and returns the response; calls `on` with the connection. Raises Broken or _NoConnection."""
        connection, answer = await self._pool.send(target, request, lambda: self._open(target), may_repeat=True, on=on)
        self._pool.release(target, connection)
        return answer

    async def _open(self, target: _Target) -> HttpConnection:
        return await self._connect(target, lambda: HttpConnection(self._body_bytes))

    async def _connect(self, target: _Target, create: Callable[[], P]) -> P:
        """Returns a new connection. Raises _NoConnection or AuthoritiesError."""
        if self._pool.closed:
            raise _NoConnection("the server is stopping")
        if self._offline:
            raise _NoConnection(f"this server makes no calls: {self._offline}")
        context = None if target.trust is None else await self._context_of(target.trust)
        loop = asyncio.get_running_loop()
        first: str | None = None
        for host in await _addresses(loop, target):
            shown = f"[{host}]:{target.port}" if ":" in host else f"{host}:{target.port}"
            try:
                _, connection = await loop.create_connection(
                    create,
                    host,
                    target.port,
                    ssl=context,
                    server_hostname=target.server_name if context else None,
                )
            except OSError as error:
                first = first or failure.of_dial(shown, error)
                continue
            except ValueError as error:  # a host name that is invalid in certificates
                raise _NoConnection(str(error)) from None
            return connection
        raise _NoConnection(first or "no such host")

    async def _context_of(self, trust: _Trust) -> ssl.SSLContext:
        if not trust.authorities and not trust.is_insecure and trust not in self._contexts:
            # Loading the system's authorities is slow.
            await asyncio.to_thread(self.context, trust)
        return self.context(trust)


class _Call:
    """One call in progress."""

    def __init__(self, client: Client, endpoint: OutboundTarget, secure: bool, host: str, port: int | None) -> None:
        self._client = client
        self._target = _target(endpoint, secure, host, port)
        self._connection: HttpConnection | None = None

    @property
    def has_head(self) -> bool:
        """True once the head of the response was received."""
        return self._connection is not None and self._connection.has_head

    async def run(self, request: bytes) -> Answer:
        return await self._client.exchange(self._target, request, self._use)

    def _use(self, connection: HttpConnection) -> None:
        self._connection = connection


def _target(endpoint: OutboundTarget, secure: bool, host: str, port: int | None) -> _Target:
    address = endpoint.address or (host, port or (443 if secure else 80))
    trust = _Trust(endpoint.authorities, endpoint.is_insecure, endpoint.pair) if secure else None
    return _Target(*address, host, trust)


async def _addresses(loop: asyncio.AbstractEventLoop, target: _Target) -> list[str]:
    """Returns the IP addresses of a host. Raises _NoConnection."""
    with suppress(ValueError):
        return [str(ip_address(target.host))]
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=1)
    except (OSError, UnicodeError) as error:
        raise _NoConnection(failure.of_lookup(target.host, error)) from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _context(trust: _Trust) -> ssl.SSLContext:
    authorities = trust.authorities
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Trusts certificates in the bundle regardless of their issuer, because most webhooks are self-signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if trust.pair:
        load_pair(context, trust.pair)
    if trust.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if not authorities:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise AuthoritiesError("unable to load root certificates: unable to parse bytes as PEM block") from None
    return context
