"""A small HTTPS client for calls from the server: webhooks of admission and of conversion.

A call takes the time it is given and no more, whatever the other side does: looking up the name, connecting, the
handshake and the answer count together, by the server's own clock. Connections are kept and used again. Redirects are
not followed, and an answer larger than agreed is not read to its end. Nothing here blocks the event loop.
"""

import asyncio
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from setpoint.objects.clock import Clock
from setpoint.server.outbound import failure
from setpoint.server.outbound.connection import Answer, Broken, Connection

T = TypeVar("T")

# How long a connection is kept that nobody uses, and how many for one server.
_IDLE_SECONDS = 90.0
_IDLE_CONNECTIONS = 16
# How many sets of trusted authorities are kept ready.
_CONTEXTS = 200
_BODY_BYTES = 16 << 20
# What stands for itself in a path; what is escaped already stays as it is.
_PATH = "/%:@!$&'()*+,;=~-._"


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
    """Calls others, and keeps the connections."""

    def __init__(self, clock: Clock, *, body_bytes: int = _BODY_BYTES) -> None:
        self._clock = clock
        self._body_bytes = body_bytes
        self._idle: dict[_Target, list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._contexts: dict[bytes, ssl.SSLContext] = {}
        self._is_closed = False

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
        except Broken as broken:
            if broken.has_head:
                raise failure.in_body(broken.why) from None
            raise failure.before_answer(method, shown, broken.why) from None

    def close(self) -> None:
        """Ends all connections, and with them the calls that are under way; there will be no others."""
        self._is_closed = True
        for connections in (*self._idle.values(), self._busy):
            for connection in tuple(connections):
                connection.abort()
        self._idle.clear()

    def context(self, authorities: bytes) -> ssl.SSLContext:
        """What trusts the authorities of a bundle. Raises AuthoritiesError."""
        found = self._contexts.get(authorities)
        if found is None:
            found = _context(authorities)
            if len(self._contexts) >= _CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[authorities] = found
        return found

    def take(self, target: _Target) -> Connection | None:
        """A connection that waits for work."""
        waiting = self._idle.get(target)
        while waiting:
            connection = waiting.pop()
            if connection.is_usable:
                self._busy.add(connection)
                return connection
        return None

    def give_back(self, target: _Target, connection: Connection) -> None:
        """Keeps a connection for the next call, and lets go of those that have waited for long."""
        now = self._clock.monotonic()
        connection.idle_since = now
        self._idle.setdefault(target, []).append(connection)
        for other, waiting in tuple(self._idle.items()):
            fresh = [each for each in waiting if each.is_usable and now - each.idle_since < _IDLE_SECONDS]
            kept = fresh[-_IDLE_CONNECTIONS:]
            for each in waiting:
                if each not in kept:
                    each.abort()
            if kept:
                self._idle[other] = kept
            else:
                del self._idle[other]

    async def open(self, target: _Target) -> Connection:
        """A new connection. Raises Broken."""
        if self._is_closed:
            raise Broken("the server is stopping", has_begun=False, has_head=False)
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
                raise Broken(str(error), has_begun=False, has_head=False) from None
            self._busy.add(connection)
            return connection
        raise Broken(first or "no such host", has_begun=False, has_head=False)

    async def _context_of(self, authorities: bytes) -> ssl.SSLContext:
        if not authorities and authorities not in self._contexts:
            # The system's authorities are many: reading them takes a while.
            await asyncio.to_thread(self.context, authorities)
        return self.context(authorities)

    def ended(self, connection: Connection) -> None:
        """An exchange is over, however it went."""
        self._busy.discard(connection)


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
        client = self._client
        while True:
            connection = client.take(self._target) or await client.open(self._target)
            self._connection, was_used = connection, connection.is_used
            try:
                answer = await connection.exchange(request)
            except Broken as broken:
                if was_used and not broken.has_begun:
                    # The other side had closed it while it waited: that says nothing about this call.
                    continue
                raise
            finally:
                client.ended(connection)
            if connection.is_usable:
                client.give_back(self._target, connection)
            return answer


async def _addresses(loop: asyncio.AbstractEventLoop, target: _Target) -> list[str]:
    """The addresses of a host. Raises Broken."""
    with suppress(ValueError):
        return [str(ip_address(target.host))]
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=1)
    except (OSError, UnicodeError) as error:
        raise Broken(failure.of_lookup(target.host, error), has_begun=False, has_head=False) from None
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
