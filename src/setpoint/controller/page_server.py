"""The HTTP pages of a manager: metrics, health and recent reconciles.

Each address has its own server; several pages may share one. A server uses plain HTTP, or TLS with a generated
certificate or certificate files. A `PageAuthorizer` restricts a page to users that the API server authorizes
(`TokenReview` and `SubjectAccessReview`, cached as long as in controller-runtime).
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.server.edge.limits import Limits
from setpoint.server.message import Request, Response

if TYPE_CHECKING:
    from ssl import SSLContext

    from setpoint.server.edge.listener import Listener
    from setpoint.server.edge.tls import Certificates

TEXT = "text/plain; charset=utf-8"
# The seconds for which responses of the API server are cached: the user, an allowed and a denied request.
TOKEN_SECONDS, ALLOWED_SECONDS, DENIED_SECONDS = 60.0, 300.0, 30.0
_MOST_REMEMBERED = 4096
_PATIENCE_SECONDS = 60.0

Page: TypeAlias = Callable[[Request], Awaitable[Response | None]]
V = TypeVar("V")

_log = logging.getLogger(__name__)


class RenewedCertificate(Protocol):
    """A certificate that is kept up to date: a generated one, or that of files."""

    renewal_seconds: float

    @property
    def context(self) -> "SSLContext": ...

    def renew(self) -> bool: ...


class Address(NamedTuple):
    """An address to listen on. Parsed from `HOST:PORT`, `:PORT`, or `HOST:0` for any free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses an address. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"invalid address {text!r}: expected HOST:PORT or :PORT")
        return cls(host.strip("[]") or "0.0.0.0", int(port))


class PageServer:
    """Serves pages at one address."""

    def __init__(
        self,
        address: str,
        pages: Sequence[Page],
        *,
        tls: "bool | Certificates | RenewedCertificate" = False,
        clock: Clock | None = None,
        limits: Limits | None = None,
        name: str = "pages",
        on_renewal: Callable[[bool], None] | None = None,
    ) -> None:
        """Creates the server. Raises ValueError for an invalid address.

        `tls` is True for a generated certificate, the files of a certificate, or a certificate that is kept up to date.
        """
        self.name = name
        self.pages = list(pages)
        self._address = Address.parse(address)
        self._tls = tls
        self._clock = clock or SystemClock()
        self._limits = limits
        self._on_renewal = on_renewal
        self._listener: Listener | None = None
        self._renewing: asyncio.Task[None] | None = None
        # The URL while the server runs; else empty.
        self.url = ""

    async def start(self) -> None:
        """Starts the server. Raises OSError or ValueError."""
        from setpoint.server.edge.listener import Listener

        kept = self._certificate()
        self._listener = Listener(self._handle, self._clock, self._limits)
        try:
            host, port = await self._listener.listen(*self._address, kept.context if kept else None)
        except OSError as error:
            where = f"{self._address.host}:{self._address.port}"
            raise OSError(error.errno, f"cannot serve {self.name} at {where}: {error.strerror}") from error
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        self.url = f"{'https' if kept else 'http'}://{f'[{shown}]' if ':' in shown else shown}:{port}"
        if kept is not None:
            self._renewing = asyncio.ensure_future(self._renew(kept))
        _log.info("%s: served at %s", self.name, self.url)

    async def stop(self, graceful: float | None = _PATIENCE_SECONDS) -> None:
        """Stops accepting requests, and waits for running ones."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None
        if self._listener is not None:
            await self._listener.close(_PATIENCE_SECONDS if graceful is None else graceful)
            self._listener = None
        self.url = ""

    @property
    def is_serving(self) -> bool:
        return bool(self.url)

    def _certificate(self) -> RenewedCertificate | None:
        from setpoint.server.edge.tls import Certificates, Provided

        if isinstance(self._tls, Certificates):
            return Provided(self._tls)
        if not isinstance(self._tls, bool):
            return self._tls
        if not self._tls:
            return None
        from setpoint.server.edge.identity import Identity
        from setpoint.server.server_keys import ServerKeys

        # Clients verify the certificate with the real time, even if the injected clock is virtual.
        return Identity([self._address.host], SystemClock(), ServerKeys())

    async def _renew(self, kept: RenewedCertificate) -> None:
        while True:
            await self._clock.sleep(kept.renewal_seconds)
            try:
                renewed = kept.renew()
            except (OSError, ValueError) as error:  # the old certificate stays in use until the next attempt
                _log.warning("%s: cannot read the certificate: %s", self.name, error)
                renewed = False
                if self._on_renewal is not None:
                    self._on_renewal(False)
            if renewed and self._on_renewal is not None:
                self._on_renewal(True)

    async def _handle(self, request: Request) -> Response:
        try:
            for page in self.pages:
                found = await page(request)
                if found is not None:
                    return found
        except Exception:
            _log.exception("%s: a request for %s failed", self.name, request.path)
            return Response(500, TEXT, b"internal server error\n")
        return Response(404, TEXT, b"404 page not found\n")


def at(path: str, answer: Callable[[Request], Awaitable[Response]]) -> Page:
    """Returns a read-only page at one path."""

    async def page(request: Request) -> Response | None:
        if request.path.rstrip("/") != path:
            return None
        if request.method not in ("GET", "HEAD"):
            return Response(405, TEXT, b"method not allowed\n", (("Allow", "GET, HEAD"),))
        return await answer(request)

    return page


class PageAuthorizer:
    """Restricts pages to users that the API server authorizes, by token, for the path as a non-resource URL."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._users: _ExpiringCache[Mapping[str, Any] | None] = _ExpiringCache(client.clock)
        self._allowed: _ExpiringCache[bool] = _ExpiringCache(client.clock)

    def guard(self, page: Page) -> Page:
        """Returns the page, restricted to authorized users."""

        async def guarded(request: Request) -> Response | None:
            if (refusal := await self._refusal(request)) is not None:
                return refusal
            return await page(request)

        return guarded

    async def _refusal(self, request: Request) -> Response | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Response(401, TEXT, b"Unauthorized\n")
        try:
            user = await self._user(token)
            if user is None:
                return Response(401, TEXT, b"Unauthorized\n")
            if await self._may(user, request):
                return None
        except (APIError, TransportError) as error:
            _log.warning("cannot authorize the request for %s: %s", request.path, error)
            return Response(500, TEXT, b"Authorization failed\n")
        name = user.get("username", "")
        return Response(403, TEXT, f"Authorization denied for user {name}\n".encode())

    async def _user(self, token: str) -> Mapping[str, Any] | None:
        key = sha256(token.encode()).hexdigest()
        known = self._users.get(key)
        if known is not None:
            return known[0]
        review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._client.create(review)).get("status") or {}
        user = (status.get("user") or {}) if status.get("authenticated") else None
        self._users.put(key, user, TOKEN_SECONDS)
        return user

    async def _may(self, user: Mapping[str, Any], request: Request) -> bool:
        attributes = {"path": request.path, "verb": request.method.lower()}
        key = repr((sorted(user.items(), key=str), attributes))
        known = self._allowed.get(key)
        if known is not None:
            return known[0]
        spec: dict[str, Any] = {"nonResourceAttributes": attributes, "user": user.get("username", "")}
        spec |= {name: user[name] for name in ("groups", "uid", "extra") if user.get(name)}
        review: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        allowed = bool(((await self._client.create(review)).get("status") or {}).get("allowed"))
        self._allowed.put(key, allowed, ALLOWED_SECONDS if allowed else DENIED_SECONDS)
        return allowed


class _ExpiringCache(Generic[V]):
    """A cache of responses with an expiry each."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[V, float]] = OrderedDict()

    def get(self, key: str) -> tuple[V] | None:
        found = self._answers.get(key)
        if found is None or found[1] <= self._clock.monotonic():
            return None
        return (found[0],)

    def put(self, key: str, value: V, seconds: float) -> None:
        self._answers[key] = (value, self._clock.monotonic() + seconds)
        self._answers.move_to_end(key)
        if len(self._answers) > _MOST_REMEMBERED:
            self._answers.popitem(last=False)
