"""Calls from the server to others: webhooks of admission and of conversion, and issuers of tokens.

It asks over the connections of `client/http`, and says what goes wrong in Go's words, which is what people search for.
A call takes the time it is given and no more, whatever the other side does: looking up the name, connecting, the
handshake and the answer count together, by the server's own clock. Connections are kept and used again. Redirects are
not followed, and an answer larger than agreed is not read to its end. Nothing here blocks the event loop.
"""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from setpoint.client.http.connection import Broken, Connection
from setpoint.client.http.pool import Pool
from setpoint.client.transport import Answer
from setpoint.objects.clock import Clock
from setpoint.server.outbound import failure

T = TypeVar("T")

# How many connections that nobody uses are kept for one server.
_IDLE_CONNECTIONS = 16
# How many sets of trusted authorities are kept ready.
_CONTEXTS = 200
_BODY_BYTES = 16 << 20
# What stands for itself in a path; what is escaped already stays as it is.
_PATH = "/%:@!$&'()*+,;=~-._"


class _NoConnection(Exception):  # noqa: N818 - a signal between opening a connection and the call
    """None was made; why, in Go's words."""


class AuthoritiesError(ValueError):
    """A bundle holds no certificate of an authority."""


class Endpoint(NamedTuple):
    """Where a server is. `url` is what it is called; `address` is where it listens, where its name does not say."""

    url: str
    # PEM; empty for those that the system trusts.
    authorities: bytes = b""
    address: tuple[str, int] | None = None


class _Target(NamedTuple):
    """What connections are kept apart by."""

    host: str
    port: int
    server_name: str
    authorities: bytes | None


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What some work gives. Raises TimeoutError when its time is over; nothing of the work goes on then."""
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


class Client:
    """Calls others, and keeps the connections. With `offline`, which says why, every call fails before a connection is
    made."""

    def __init__(self, clock: Clock, *, body_bytes: int = _BODY_BYTES, offline: str = "") -> None:
        self._clock = clock
        self._body_bytes = body_bytes
        self._offline = offline
        self._pool: Pool[_Target] = Pool(clock.monotonic, max_idle=_IDLE_CONNECTIONS)
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def post(self, endpoint: Endpoint, body: bytes, *, timeout: float, query: str = "") -> Answer:
        """Sends JSON, and gives whatever the server answers. Raises CallFailed, or AuthoritiesError."""
        headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return await self._exchange("POST", endpoint, query, headers, body, timeout)

    async def get(self, endpoint: Endpoint, *, timeout: float) -> Answer:
        """Gives whatever the server answers. Raises CallFailed, or AuthoritiesError."""
        return await self._exchange("GET", endpoint, urlsplit(endpoint.url).query, "", b"", timeout)

    async def _exchange(
        self, method: str, endpoint: Endpoint, query: str, headers: str, body: bytes, timeout: float
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
        try:
            return await within(self._clock, timeout, call.run(head.encode() + body))
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

    def close(self) -> None:
        """Ends all connections, and with them the calls that are under way; there will be no others."""
        self._pool.close()

    def context(self, authorities: bytes) -> ssl.SSLContext:
        """What trusts the authorities of a bundle. Raises AuthoritiesError."""
        found = self._contexts.get(authorities)
        if found is None:
            found = _context(authorities)
            if len(self._contexts) >= _CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[authorities] = found
        return found

    async def exchange(self, target: _Target, request: bytes, on: Callable[[Connection], None]) -> Answer:
        """Sends a request and gives the answer; `on` is told which connection it goes over. Raises Broken, or that
        there was no connection."""
        connection, answer = await self._pool.ask(target, request, lambda: self._open(target), may_repeat=True, on=on)
        self._pool.give_back(target, connection)
        return answer

    async def _open(self, target: _Target) -> Connection:
        if self._pool.closed:
            raise _NoConnection("the server is stopping")
        if self._offline:
            raise _NoConnection(f"this server makes no calls: {self._offline}")
        context = None if target.authorities is None else await self._context_of(target.authorities)
        loop = asyncio.get_running_loop()
        first: str | None = None
        for host in await _addresses(loop, target):
            shown = f"[{host}]:{target.port}" if ":" in host else f"{host}:{target.port}"
            try:
                _, connection = await loop.create_connection(
                    lambda: Connection(self._body_bytes),
                    host,
                    target.port,
                    ssl=context,
                    server_hostname=target.server_name if context else None,
                )
            except OSError as error:
                first = first or failure.of_dial(shown, error)
                continue
            except ValueError as error:  # a name that no certificate can have
                raise _NoConnection(str(error)) from None
            return connection
        raise _NoConnection(first or "no such host")

    async def _context_of(self, authorities: bytes) -> ssl.SSLContext:
        if not authorities and authorities not in self._contexts:
            # The system's authorities are many: reading them takes a while.
            await asyncio.to_thread(self.context, authorities)
        return self.context(authorities)


class _Call:
    """One call on its way."""

    def __init__(self, client: Client, endpoint: Endpoint, secure: bool, host: str, port: int | None) -> None:
        self._client = client
        address = endpoint.address or (host, port or (443 if secure else 80))
        self._target = _Target(*address, host, endpoint.authorities if secure else None)
        self._connection: Connection | None = None

    @property
    def has_head(self) -> bool:
        """Whether the answer has begun."""
        return self._connection is not None and self._connection.has_head

    async def run(self, request: bytes) -> Answer:
        return await self._client.exchange(self._target, request, self._goes_over)

    def _goes_over(self, connection: Connection) -> None:
        self._connection = connection


async def _addresses(loop: asyncio.AbstractEventLoop, target: _Target) -> list[str]:
    """The addresses of a host."""
    with suppress(ValueError):
        return [str(ip_address(target.host))]
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=1)
    except (OSError, UnicodeError) as error:
        raise _NoConnection(failure.of_lookup(target.host, error)) from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _context(authorities: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # A certificate that is itself in the bundle is trusted, whoever signed it: most webhooks sign their own.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not authorities:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise AuthoritiesError("unable to load root certificates: unable to parse bytes as PEM block") from None
    return context
