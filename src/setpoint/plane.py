"""Assembles a control plane: a store, and the API server over that store.

`async with ControlPlane() as plane` starts a server in this process, without sockets; several can run side by side.
`listen` opens the server to other processes, over TLS with its own certificate authority.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict

from setpoint.config import Config, plane_options
from setpoint.controller.reconciles_page import ReconcilesPage
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids, SystemIds
from setpoint.server import secret_files
from setpoint.server.access.authentication.assembly import Authentication, assemble
from setpoint.server.access.authentication.settings import AuthenticationSettings
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.modes import authorizer_of
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.server.app import Server
from setpoint.server.bootstrap.kubernetes_service import address_of, advertise, withdraw
from setpoint.server.edge.kubeconfig import KEPT, is_ours, kubeconfig
from setpoint.server.edge.limits import Limits
from setpoint.server.history.purge import follow as follow_purges
from setpoint.server.message import Handler, Peer, Request, Response
from setpoint.server.outbound.service_resolver import ServiceError, ServiceResolver
from setpoint.server.publish.nonresource.metrics import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.registry.kinds.core.service.allocator import SERVICE_CIDR
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.extension import Extension
from setpoint.server.request.observer import Plain
from setpoint.store.contract import Retention, Store, StoreError
from setpoint.store.files import make_directory
from setpoint.system.controller_names import chosen

if TYPE_CHECKING:
    from ssl import SSLContext

    from setpoint.client.client import Client
    from setpoint.controller.controller import Controller
    from setpoint.objects.reconcile_report import Reconciles, Wanted
    from setpoint.server.access.audit.auditor import Auditor
    from setpoint.server.edge.identity import Identity
    from setpoint.server.edge.listener import Listener
    from setpoint.server.edge.tls import Certificates, Provided
    from setpoint.server.history.secret_retention import SecretRetention
    from setpoint.server.registry.conversion.functions import ConversionFunction
    from setpoint.server.request.context import Services
    from setpoint.store.sqlite import Durability
    from setpoint.system.system import System
    from setpoint.workload.assembly import WorkloadHost
    from setpoint.workload.workloads import Workloads, WorkloadSettings

# The user that the workload controllers act as.
_WORKLOADS = "system:setpoint:workloads"
_IN_PROCESS = Peer("in process", in_process=True)
_DURABILITIES: tuple["Durability", ...] = ("full", "normal", "off")
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class PlaneError(Exception):
    """The control plane cannot be started as requested. The message says why, and how to fix the problem."""


class ControlPlane:
    """A control plane. Entering the context starts the plane; leaving the context closes its watches, connections and
    store.

    `config` has all settings, as in a configuration file; the other arguments override the configuration.

    `store` is a store, which stays open afterwards, or the specification of a store to open: `memory`, `sqlite:PATH` or
    `etcd:URL`. `data` is the directory for the certificate authority and the administrator's token; by default next to
    the SQLite file, and none for other stores. `token` is the administrator's token; by default a random one.
    `service_cidr` is the address range for Services.

    `admission` are additional admission plugins or functions (`server.admission.functions`); `with_admission` and
    `without_admission` are the names of built-in admission plugins to enable and to disable. `webhook_services` maps
    the services of webhooks to addresses: `{"namespace/name": "host:port"}`. `conversions` are functions that convert
    custom resources between versions, by the names of their definitions (`server.registry.conversion.functions`).
    Without `aggregated_discovery`, the server supports only unaggregated discovery, as older servers do. `extensions`
    serve subresources of custom resources, and `pages` serve paths that are not resources; both take precedence over
    the server. `authorization` is the mode: `RBAC`, `AlwaysAllow` or `AlwaysDeny`. `auditor` records requests
    (`server.access.audit`), and stays open afterwards.

    `system` are the names of the system controllers to run (`system.controller_names`), or True for all and False for
    none. `workloads` enables the workloads (processes and containers): settings, or True or False. `read_only` is the
    reason for which the server only serves the content of its store: the server then rejects every write, writes no
    objects, and calls no webhooks.
    """

    def __init__(
        self,
        store: Store | str | None = None,
        *,
        config: Config | None = None,
        data: Path | str | None = None,
        token: str = "",
        clock: Clock | None = None,
        ids: Ids | None = None,
        limits: Limits | None = None,
        authentication: AuthenticationSettings | None = None,
        authorization: str | None = None,
        service_cidr: str | None = None,
        admission: Sequence[Plugin] = (),
        with_admission: Collection[str] | None = None,
        without_admission: Collection[str] | None = None,
        webhook_services: Mapping[str, str] | None = None,
        conversions: "Mapping[str, ConversionFunction] | None" = None,
        aggregated_discovery: bool = True,
        extensions: Sequence[Extension] = (),
        pages: Sequence[Plain] = (),
        auditor: "Auditor | None" = None,
        system: bool | Collection[str] | None = None,
        workloads: "bool | WorkloadSettings | None" = None,
        read_only: str = "",
    ) -> None:
        """`authentication` has the additional methods of authentication. Raises PlaneError."""
        self.config = config = config or Config()
        self._given = config.store if store is None else store
        self._data = _data_directory(self._given, data or config.data or None)
        self._token = token or config.token
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._limits = limits or plane_options.edge_limits(config.limits)
        self._authentication = authentication or plane_options.authentication(config.authentication)
        self._service_cidr = _network(service_cidr or config.service_cidr)
        self._admission = admission
        self._with_admission = config.admission.enabled if with_admission is None else with_admission
        self._without_admission = config.admission.disabled if without_admission is None else without_admission
        self._conversions = conversions
        self._extensions, self._pages = extensions, pages
        # The recorded reconciles of the controllers; those of other processes can be added as sources.
        self.reconciles = ReconcilesPage([self._remembered])
        self._auditor = auditor
        try:
            self._resolver = ServiceResolver(config.webhooks.services if webhook_services is None else webhook_services)
            self._authorizer = authorizer_of(authorization or config.authorization.mode)
            self._system_names = chosen(config.controllers if system is None else system)
        except (ServiceError, ValueError) as error:
            raise PlaneError(str(error)) from None
        self._aggregated_discovery = aggregated_discovery
        self._read_only = read_only
        self._stack = AsyncExitStack()
        self._server: Server | None = None
        self._authenticating: Authentication | None = None
        self._listener: Listener | None = None
        self._identity: Identity | None = None
        self._certificates: Identity | Provided | None = None
        self._url = ""
        self._system: System | None = None
        self._host = self._workload_host(config.workloads if workloads is None else workloads)
        self._starting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Starts the control plane. Raises PlaneError, or the errors of the store."""
        async with AsyncExitStack() as stack:
            store = self._given
            if isinstance(store, str):
                store = await open_store(store, self._clock, self._ids, plane_options.retention(self.config))
                stack.push_async_callback(store.close)
            metrics = Metrics()
            if self._auditor is None and self.config.audit.log_path:
                self._auditor = self._open_auditor()
                stack.callback(self._close_auditor)
            authentication = self._authenticating = assemble(
                self._authentication, {self.token: ADMIN}, self._clock, self._data
            )
            stack.callback(authentication.close)
            own_pages = self._host.pages if self._host is not None else ()
            self._server = Server(
                store,
                clock=self._clock,
                ids=self._ids,
                authenticator=authentication.credentials,
                issuer=authentication.issuer,
                authorizer=self._authorizer,
                admission=(*self._admission, *(self._host.admission if self._host is not None else ())),
                with_admission=self._with_admission,
                without_admission=self._without_admission,
                resolver=self._resolver,
                conversions=self._conversions,
                service_cidr=self._service_cidr,
                plain=(
                    *self._pages,
                    self.reconciles,
                    *own_pages,
                    *standard(metrics, aggregated_discovery=self._aggregated_discovery),
                ),
                extensions=(*self._extensions, *(self._host.extensions if self._host is not None else ())),
                observer=metrics,
                auditor=self._auditor,
                overload=self.config.overload,
                event_ttl=self.config.event_ttl_seconds,
                history_window_seconds=self.config.history_window_seconds,
                read_only=self._read_only,
            )
            services = self._server.services
            stack.callback(self._server.close)
            # Other servers may write to the same store: definitions, roles, policies.
            services.views.shared = not isinstance(self._given, str) or self._given.startswith("etcd:")
            if self._host is not None:
                from setpoint.workload.kinds.definitions import definitions

                await provide(services, definitions())
            await self._server.start()
            if services.views.shared:
                stack.callback(services.views.close)
                following = asyncio.create_task(services.definitions.follow())
                stack.callback(following.cancel)
                purges = asyncio.create_task(follow_purges(services))
                stack.callback(purges.cancel)
            if (seconds := self.config.history.secret_seconds) and not self._read_only:
                retaining = asyncio.create_task(_secret_retention(services, seconds).run())
                stack.callback(retaining.cancel)
            if self._host is not None:
                stack.push_async_callback(self._host.stop)
                await self._host.start(self.client(user=_WORKLOADS, groups=[MASTERS]))
            self._stack = stack.pop_all()
        if not self._read_only:
            self.start_system(self._system_names)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop_system()
        await self._stack.aclose()
        self._server = self._listener = self._identity = None
        self._url = ""

    def _workload_host(self, wanted: "bool | WorkloadSettings") -> "WorkloadHost | None":
        if not wanted:
            return None
        from setpoint.workload.assembly import WorkloadHost

        return WorkloadHost(None if isinstance(wanted, bool) else wanted, self._ids)

    @property
    def workloads(self) -> "Workloads":
        """The workload runtime, which runs processes and containers. Raises PlaneError if workloads are disabled."""
        if self._host is None:
            raise PlaneError("workloads are disabled: use ControlPlane(workloads=True)")
        return self._host.workloads

    @property
    def runs_workloads(self) -> bool:
        """True if the control plane runs processes and containers."""
        return self._host is not None

    @property
    def controllers(self) -> "list[Controller]":
        """The running built-in controllers: the system controllers, and those of workloads."""
        own = self._system.controllers if self._system is not None else ()
        return [*own, *(self._host.controllers if self._host is not None else ())]

    async def _remembered(self, wanted: "Wanted") -> "Reconciles":
        from setpoint.controller.reconciles import remembered
        from setpoint.objects.reconcile_report import Reconciles

        controllers = self.controllers
        return Reconciles(remembered(controllers, wanted), [each.name for each in controllers])

    async def workloads_started(self) -> None:
        """Waits until the workload controllers run. Raises PlaneError if they cannot start."""
        if self._host is not None:
            try:
                await self._host.started()
            except Exception as error:
                raise PlaneError(f"cannot run workloads: {type(error).__name__}: {error}") from error

    def end(self) -> None:
        """Requests the shutdown of the workloads, as clients do at `/admin/execution`; `ended` returns when the
        shutdown is complete."""
        if self._host is not None:
            self._host.shutdown.ask("Stopping", None)

    async def ended(self) -> None:
        """Waits until a client has requested the shutdown at `/admin/execution`, and the workloads are cleaned up;
        without workloads, waits forever. Raises PlaneError if the workloads cannot run."""
        if self._host is None:
            await asyncio.Event().wait()
        else:
            await self.workloads_started()
            await self._host.shutdown.ended()

    def start_system(self, names: bool | Collection[str] = True) -> None:
        """Starts system controllers in the background, unless they run already."""
        names = chosen(names)
        if names and self._starting is None:
            self._starting = asyncio.create_task(self._start_system(names))

    async def _start_system(self, names: Collection[str]) -> None:
        from setpoint.system.assembly import Home
        from setpoint.system.system import System

        self._system = System(Home(self._started), names)
        await self._system.start()
        if self._identity is not None:
            await self._system.publish(self._identity.authority.pair.certificate.decode())

    async def _stop_system(self) -> None:
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
        system, self._system = self._system, None
        if system is not None:
            await system.stop()

    async def preload(self) -> None:
        """Imports the modules that only some requests need, in a thread, so that no request waits for an import. Call
        this method in a process with many users, after `listen`."""
        from setpoint.server.preload import preload

        await preload(self._started.services.offload)

    async def settle(self) -> None:
        """Waits until the system controllers have processed all earlier writes: dependents are deleted, namespaces are
        empty. Tests can use this method instead of polling."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        if self._system is not None:
            await self._system.settle()

    def _open_auditor(self) -> "Auditor":
        from setpoint.server.access.audit.factory import AuditError, open_auditor

        try:
            return open_auditor(self.config.audit, self._clock)
        except AuditError as error:
            raise PlaneError(str(error)) from error

    def _close_auditor(self) -> None:
        if self._auditor is not None:
            self._auditor.close()
            self._auditor = None

    def reload(self) -> None:
        """Reloads the token file, the audit policy, and externally managed certificates.

        If a file cannot be read, the previous content stays in use, and PlaneError is raised.
        """
        if self._authenticating is not None:
            try:
                self._authenticating.reload()
            except (OSError, ValueError) as error:
                raise PlaneError(f"cannot read the token file: {error}") from error
        if self._auditor is not None and self.config.audit.policy_file:
            from setpoint.server.access.audit.factory import AuditError, read_policy

            try:
                self._auditor.policy = read_policy(self.config.audit)
            except AuditError as error:
                raise PlaneError(str(error)) from error
        if self._certificates is not None:
            try:
                self._certificates.renew()
            except (OSError, ValueError) as error:
                raise PlaneError(f"cannot read the certificates: {error}") from error

    @property
    def handler(self) -> Handler:
        """The handler for requests of this process; requests without credentials are the administrator's."""
        return self._handle

    def client(
        self, *, user: str = "", groups: Sequence[str] = (), token: str = "", field_manager: str = ""
    ) -> "Client":
        """Returns a client in this process, without sockets. Without a user or a token, the client acts as the
        administrator."""
        from setpoint.client.client import Client
        from setpoint.client.options import Options
        from setpoint.server.edge.in_process import LocalTransport

        headers = {"authorization": f"Bearer {token}"} if token else {}
        transport = LocalTransport(self._started, {**headers, "user-agent": "setpoint"}, user, groups)
        return Client(transport, clock=self._clock, options=Options(field_manager=field_manager))

    async def _handle(self, request: Request) -> Response:
        return await self._started(request._replace(peer=_IN_PROCESS))

    @property
    def _started(self) -> Server:
        if self._server is None:
            raise RuntimeError("the control plane is not running: use `async with ControlPlane()`")
        return self._server

    @property
    def services(self) -> "Services":
        """The internal services of the server, such as its store and its registry."""
        return self._started.services

    @property
    def webhook_services(self) -> ServiceResolver:
        """The addresses of the services of webhooks; may be changed while the server runs."""
        return self._resolver

    @property
    def token(self) -> str:
        """The administrator's token."""
        if not self._token:
            from setpoint.server.edge.identity import token

            self._token = token(self._data)
        return self._token

    @property
    def url(self) -> str:
        """The URL of the listener; empty before `listen`."""
        return self._url

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: "bool | Certificates" = True, names: Sequence[str] = ()
    ) -> str:
        """Listens at an address, and returns the URL. Port 0 picks a free port; `names` are additional names for the
        certificate.

        `tls` can have the paths of externally managed certificates, which are then used instead of our own authority.
        """
        context = self._tls(host, names, tls) if tls else None
        host, port = await self._edge().listen(host, port, context)
        if not self._read_only:
            await self._advertise(host, port)
        reachable = _ANY_ADDRESS.get(host, host)
        shown = f"[{reachable}]" if ":" in reachable else reachable
        self._url = f"{'https' if tls else 'http'}://{shown}:{port}"
        if self._system is not None and self._identity is not None:
            await self._system.publish(self._identity.authority.pair.certificate.decode())
        return self._url

    async def _advertise(self, host: str, port: int) -> None:
        """Publishes the address in the `kubernetes` Endpoints, until the control plane ends."""
        services, address = self._started.services, address_of(host)
        await advertise(services, address, port)

        async def end() -> None:
            with suppress(StoreError):  # if the store is unavailable, the entry cannot be withdrawn
                await withdraw(services, address, port)

        self._stack.push_async_callback(end)

    async def listen_unix(self, path: Path | str) -> None:
        """Listens at a unix socket that only the current user can open; clients authenticate as usual."""
        await self._edge().listen_unix(str(path))

    @property
    def authority(self) -> bytes | None:
        """The certificate of our certificate authority in PEM; None without our own authority."""
        return self._identity.authority.pair.certificate if self._identity is not None else None

    def kubeconfig(self, user: str = "", groups: Sequence[str] = (), *, lifetime: timedelta | None = None) -> str:
        """Returns the text of a kubeconfig for the listener, by default the administrator's.

        With a `user`, returns a kubeconfig for that user and groups, with a client certificate signed by our authority
        and valid for a year, or for `lifetime`. Raises PlaneError without TLS and our own authority.
        """
        authority = self._identity.authority if self._identity else None
        certificate = authority.pair.certificate if authority else None
        if not user:
            return kubeconfig(self.url, authority=certificate, token=self.token)
        if authority is None:
            raise PlaneError(f"no certificate authority to sign a certificate for {user}: listen with tls=True first")
        # The certificate is verified with real clocks, as those of servers.
        pair = authority.issue_client(user, groups, SystemClock().now(), lifetime)
        return kubeconfig(
            self.url, authority=certificate, certificate=pair.certificate, key=pair.key, user=user, mark=KEPT
        )

    def write_kubeconfig(self, path: Path | str) -> None:
        """Writes the administrator's kubeconfig atomically, readable by the current user only. Raises PlaneError if the
        file exists and was not written by Setpoint."""
        path = Path(path)
        with suppress(FileNotFoundError):
            if not is_ours(path.read_text(errors="replace")):
                raise PlaneError(f"{path} exists and was not written by Setpoint: choose another file")
        make_directory(path.parent)
        secret_files.write(path, self.kubeconfig().encode())

    def _edge(self) -> "Listener":
        if self._listener is None:
            from setpoint.server.edge.listener import Listener

            self._listener = Listener(self._started, self._clock, self._limits, repeat=self._started.repeat)
            self._started.services.measured.append(self._listener.descriptors)
            self._stack.push_async_callback(self._listener.close)
        return self._listener

    def _tls(self, host: str, names: Sequence[str], given: "bool | Certificates") -> "SSLContext":
        certificates = self._certificates = self._own(host, names) if isinstance(given, bool) else _provided(given)
        renewing = asyncio.create_task(_renew(certificates))
        self._stack.callback(renewing.cancel)
        return certificates.context

    def _own(self, host: str, names: Sequence[str]) -> "Identity":
        from setpoint.server.edge.identity import Identity

        called = [address_of(host), *names] if host else names
        # Other machines verify the certificates, with real clocks even if ours is simulated.
        self._identity = Identity(called, SystemClock(), self._data)
        return self._identity


def _provided(files: "Certificates") -> "Provided":
    from setpoint.server.edge.tls import Provided

    return Provided(files)


def _secret_retention(services: "Services", seconds: float) -> "SecretRetention":
    """Returns the retention of Secrets. Raises PlaneError if the store does not support the removal of single keys."""
    from setpoint.server.history.secret_retention import SecretRetention

    if not services.store.purges_single_keys:
        raise PlaneError(
            "history.secretSeconds: etcd cannot remove the history of Secrets alone; limit the history of "
            "all objects with history.seconds, or remove this setting"
        )
    return SecretRetention(services, seconds)


async def _renew(certificates: "Identity | Provided") -> None:
    while True:
        await SystemClock().sleep(certificates.renewal_seconds)
        with suppress(OSError, ValueError):  # the old certificate is still valid, and the next attempt follows soon
            certificates.renew()


def _network(cidr: str) -> str:
    """Returns the address range for Services in canonical form."""
    try:
        network = ip_network(cidr)
    except ValueError as error:
        raise PlaneError(f"invalid address range for Services {cidr!r} (example: {SERVICE_CIDR}): {error}") from error
    if network.num_addresses < 4:
        raise PlaneError(f"{cidr} has too few addresses for Services: use a larger range, such as {SERVICE_CIDR}")
    return str(network)


def _data_directory(store: Store | str, data: Path | str | None) -> Path | None:
    if data is not None:
        return Path(data)
    if isinstance(store, str) and store.startswith("sqlite:"):
        path, _ = _durability(store.removeprefix("sqlite:"))
        return Path(f"{path}.keys")
    return None


def _durability(where: str) -> tuple[Path, "Durability"]:
    """Returns the path and the durability of an SQLite store. Raises PlaneError."""
    path, found, durability = where.rpartition("?durability=")
    if not found:
        return Path(where), "full"
    chosen: Durability | None = next((each for each in _DURABILITIES if each == durability), None)
    if chosen is None:
        raise PlaneError(f"durability must be one of {', '.join(_DURABILITIES)}, not {durability!r}")
    return Path(path), chosen


class _Kept(TypedDict, total=False):
    retention: Retention


async def open_store(spec: str, clock: Clock, ids: Ids, retention: Retention | None = None) -> Store:
    """Opens the store of a specification: `memory`, `sqlite:PATH` or `etcd:URL`. `memory:PATH` is a store in memory
    that is saved to a file at the end and loaded at the next start; with `sqlite:PATH?durability=off`, writes survive
    the end of the process but not a crash of the machine. Without a retention, the store's default history is kept.
    Raises PlaneError, OSError or StoreError."""
    kind, _, where = spec.partition(":")
    kept: _Kept = {} if retention is None else {"retention": retention}
    if kind == "memory" and where:
        from setpoint.store.memory import KeptMemoryStore

        return await KeptMemoryStore.open(Path(where), clock=clock, **kept)
    if spec == "memory":
        from setpoint.store.memory import MemoryStore

        return MemoryStore(clock=clock, **kept)
    if kind == "sqlite" and where:
        from setpoint.store.sqlite import SqliteStore

        path, durability = _durability(where)
        make_directory(path.parent)
        return await SqliteStore.open(path, clock=clock, durability=durability, **kept)
    if kind == "etcd" and where:
        try:
            from setpoint.store.etcd import EtcdConfig, EtcdStore
        except ImportError as error:
            raise PlaneError(
                f"the etcd store needs additional packages ({error}): pip install 'setpoint[etcd]'"
            ) from error
        return await EtcdStore.open(EtcdConfig.from_url(where), clock=clock, ids=ids, **kept)
    raise PlaneError(f"invalid store {spec!r}: expected memory, sqlite:PATH or etcd:URL")
