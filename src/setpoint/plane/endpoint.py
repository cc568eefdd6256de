"""The endpoint of a control plane for other processes: its sockets, certificates and kubeconfigs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from setpoint.objects.clock import Clock, SystemClock
from setpoint.plane.errors import PlaneError
from setpoint.plane.shared_publication import SharedPublication
from setpoint.server.app import Server
from setpoint.server.bootstrap.client_authority import publish_client_authority, publish_front_proxy
from setpoint.server.bootstrap.kubernetes_service import address_of, advertise, withdraw
from setpoint.server.bootstrap.system_objects import track_legacy_tokens
from setpoint.server.edge.kubeconfig import KEPT, kubeconfig
from setpoint.server.edge.limits import Limits
from setpoint.server.message import Request, RequestHandler, Response
from setpoint.server.server_keys import ServerKeys
from setpoint.server.telemetry.verbs import RECEIVER_PATH
from setpoint.store.contract import StoreError

if TYPE_CHECKING:
    from ssl import SSLContext

    from setpoint.server.dashboard.logins import Logins
    from setpoint.server.dashboard.settings import DashboardSettings
    from setpoint.server.dashboard.site import Door, Site
    from setpoint.server.edge.certificates import Authority
    from setpoint.server.edge.front_proxy import FrontProxy
    from setpoint.server.edge.identity import Identity
    from setpoint.server.edge.listener import Listener
    from setpoint.server.edge.tls import Certificates, Provided

_LOOPBACK = "127.0.0.1"
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class PlaneEndpoint:
    """Opens a server to other processes. `stack` closes the sockets at the end; `keys` has the certificate authority.
    `renewed` is called after each renewal of the certificates. `shares_store` is True if other servers may write to the
    store."""

    def __init__(
        self,
        server: Server,
        clock: Clock,
        limits: Limits,
        keys: ServerKeys,
        stack: AsyncExitStack,
        renewed: Callable[[], Awaitable[None]],
        dashboard: "DashboardSettings | None" = None,
        *,
        shares_store: bool = False,
    ) -> None:
        self.url = ""
        self._shares_store = shares_store
        self._dashboard = dashboard
        self._logins: Logins | None = None
        self._site: Site | None = None
        # Answers requests of OpenTelemetry exporters, which have a key instead of credentials.
        self.receiver: RequestHandler | None = None
        if dashboard is not None:
            from setpoint.server.dashboard import logins

            server.services.logins = self._logins = logins.Logins(clock)
        self._renewed = renewed
        self._server, self._clock, self._limits, self._keys, self._stack = server, clock, limits, keys, stack
        self._listener: Listener | None = None
        self._identity: Identity | None = None
        self._certificates: Identity | Provided | None = None
        self._front_proxy: FrontProxy | None = None
        server.services.front_proxy = self._front_proxy_pair

    async def listen(
        self, host: str, port: int, tls: "bool | Certificates", names: Sequence[str], *, advertised: bool
    ) -> str:
        """Listens at an address, and returns the URL. If `advertised`, the address is also published in the
        `kubernetes` Endpoints."""
        context = self._tls(host, names, tls) if tls else None
        edge = self._edge()
        if self._site is not None:
            self._site.door = _door(host, names, "https" if tls else "http")
        host, port = await edge.listen(host, port, context)
        if advertised:
            await self._advertise(host, port)
            await track_legacy_tokens(self._server.services)
            await self._server.api_services.register(self._server.services)
        self.url = _url("https" if tls else "http", host, port)
        certificates = self._certificates
        if advertised and certificates is not None:
            if certificates.client_authority:
                await publish_client_authority(self._server.services, certificates.client_authority)
            await self._front_proxy_pair()
        return self.url

    async def listen_page(self, port: int) -> str:
        """Listens for browsers at a port of the loopback interface, without TLS, and returns the URL of the dashboard.
        All requests but those of the page are refused."""
        from setpoint.server.edge.listener import Listener

        site = self._site_before(self._server, pages_only=True)
        listener = Listener(site, self._clock, self._limits, priority=self._server.services.priority)
        self._stack.push_async_callback(listener.close)
        host, port = await listener.listen(_LOOPBACK, port)
        return f"{_url('http', host, port)}/dashboard/"

    def end_logins(self) -> None:
        """Ends all sessions of browsers."""
        if self._logins is not None:
            self._logins.clear()

    def _site_before(self, handler: RequestHandler, *, pages_only: bool = False) -> "Site":
        from setpoint.server.dashboard.site import Door, Site

        if self._dashboard is None or self._logins is None:
            raise PlaneError("the control plane has no dashboard: use Serving(dashboard=...)")
        door = Door("http", pages_only=pages_only)
        return Site(handler, self._dashboard, self._logins, self._server.services.offload, door)

    async def _front_proxy_pair(self) -> bytes:
        """Returns the certificate and key that this server presents to extension API servers. At the first call, their
        authority is published for those servers."""
        if self._front_proxy is None:
            from setpoint.server.edge.front_proxy import CLIENT, FrontProxy

            # Other programs verify the certificate, with real clocks even if ours is simulated.
            found = self._front_proxy = FrontProxy(SystemClock(), self._keys)
            await publish_front_proxy(self._server.services, found.authority, CLIENT)
        return self._front_proxy.pair()

    async def _advertise(self, host: str, port: int) -> None:
        """Publishes the address in the `kubernetes` Endpoints, until the control plane ends."""
        services, address = self._server.services, address_of(host)
        if self._shares_store:
            publication = SharedPublication(services, address, port)
            await publication.start()
            self._stack.push_async_callback(publication.end)
            return
        await advertise(services, address, port)

        async def end() -> None:
            with suppress(StoreError):  # if the store is unavailable, the entry cannot be withdrawn
                await withdraw(services, address, port)

        self._stack.push_async_callback(end)

    async def listen_unix(self, path: str) -> None:
        await self._edge().listen_unix(path)

    @property
    def authority(self) -> bytes | None:
        """The certificate of our certificate authority in PEM; None without our own authority."""
        return self._identity.authority.pair.certificate if self._identity is not None else None

    @property
    def signer(self) -> "Authority | None":
        """Our certificate authority; None without our own authority."""
        return self._identity.authority if self._identity is not None else None

    @property
    def server_authority(self) -> str:
        """The certificates in PEM that verify the server's certificate; empty without TLS."""
        return self._certificates.server_authority if self._certificates is not None else ""

    def kubeconfig(self, token: str) -> str:
        """Returns the kubeconfig of the administrator with this token."""
        return kubeconfig(self.url, authority=self.authority, token=token)

    def user_kubeconfig(self, user: str, groups: Sequence[str], lifetime: timedelta | None) -> str:
        """Returns a kubeconfig with a new client certificate for a user. Raises PlaneError without our own
        authority."""
        if self._identity is None:
            raise PlaneError(f"no certificate authority to sign a certificate for {user}: listen with tls=True first")
        # The certificate is verified with real clocks, as those of servers.
        pair = self._identity.authority.issue_client(user, groups, SystemClock().now(), lifetime)
        return kubeconfig(
            self.url, authority=self.authority, certificate=pair.certificate, key=pair.key, user=user, mark=KEPT
        )

    def renew(self) -> None:
        """Reads or creates the certificates again. Raises OSError or ValueError."""
        if self._certificates is not None:
            self._certificates.renew()

    def _edge(self) -> "Listener":
        if self._listener is None:
            from setpoint.server.edge.listener import Listener

            server, services = self._server, self._server.services
            if self._dashboard is not None:
                self._site = self._site_before(server)
            handler: RequestHandler = self._site or server
            if self.receiver is not None:
                handler = partial(_answer, handler, self.receiver)
            self._listener = Listener(
                handler, self._clock, self._limits, repeat=server.repeat, priority=services.priority
            )
            services.measured.append(self._listener.descriptors)
            self._stack.push_async_callback(self._listener.close)
        return self._listener

    def _tls(self, host: str, names: Sequence[str], configured: "bool | Certificates") -> "SSLContext":
        certificates = self._certificates = (
            self._own(host, names) if isinstance(configured, bool) else _provided(configured)
        )
        renewing = asyncio.create_task(self._renew(certificates))
        self._stack.callback(renewing.cancel)
        return certificates.context

    async def _renew(self, certificates: "Identity | Provided") -> None:
        while True:
            await SystemClock().sleep(certificates.renewal_seconds)
            with suppress(OSError, ValueError):  # the old certificate is still valid, and the next attempt follows soon
                certificates.renew()
                await self._renewed()

    def _own(self, host: str, names: Sequence[str]) -> "Identity":
        from setpoint.server.edge.identity import Identity

        called = [address_of(host), *names] if host else names
        # Other machines verify the certificates, with real clocks even if ours is simulated.
        self._identity = Identity(called, SystemClock(), self._keys)
        return self._identity


def _url(scheme: str, host: str, port: int) -> str:
    reachable = _ANY_ADDRESS.get(host, host)
    return f"{scheme}://{f'[{reachable}]' if ':' in reachable else reachable}:{port}"


def _door(host: str, names: Sequence[str], scheme: str) -> "Door":
    """Returns the door of a listener: its address and its names; any address if the listener has all addresses."""
    from setpoint.server.dashboard.site import Door

    is_any = not host or host in _ANY_ADDRESS
    return Door(scheme, frozenset((*names, "*" if is_any else host)))


def _answer(server: RequestHandler, receiver: RequestHandler, request: Request) -> Coroutine[Any, Any, Response]:
    """Answers a request: those below the path of the receiver pass no pipeline."""
    return receiver(request) if request.path.startswith(RECEIVER_PATH) else server(request)


def _provided(files: "Certificates") -> "Provided":
    from setpoint.server.edge.tls import Provided

    return Provided(files)
