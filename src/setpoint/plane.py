"""Assembles a control plane: a store, and the API server over it.

`async with ControlPlane() as plane` gives a server in this process, without sockets, ready to be asked; several live
side by side. `listen` opens it to others, over TLS with an authority of its own.
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

# As whom workloads are run.
_WORKLOADS = "system:setpoint:workloads"
_IN_PROCESS = Peer("in process", in_process=True)
_DURABILITIES: tuple["Durability", ...] = ("full", "normal", "off")
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class PlaneError(Exception):
    """A control plane cannot be had as it was asked for; says why, and what to do."""


class ControlPlane:
    """A control plane. Enter it to start it; leaving it ends its watches, its connections and its store.

    `config` is everything that can be chosen, as a configuration file has it; the other arguments count before it.
    `store` is a store, which stays open afterwards, or says which one to open: `memory`, `sqlite:PATH` or `etcd:URL`.
    `data` is where its authority and its administrator's token are kept; by default that is beside the SQLite file, and
    nowhere for the others. `token` is the administrator's, if it is not to be a secret of its own. `service_cidr` are
    the addresses for Services. `admission` are plugins, or functions (`server.admission.functions`), that decide about
    writes besides its own; `with_admission` and `without_admission` are the names of admission plugins to have that are
    off by default, and to do without. `webhook_services` says where the services are that webhooks refer to:
    `{"namespace/name": "host:port"}`. `conversions` are functions that convert custom resources from one version to
    another, by the names of their definitions (`server.registry.conversion.functions`). Without `aggregated_discovery`
    clients are told group by group what there is, as by older servers. `extensions` answer below the objects of custom
    resources, and `pages` for paths that are no resources, before the server itself does. `authorization` is the mode:
    `RBAC`, `AlwaysAllow` or `AlwaysDeny`.
    `auditor` records requests (`server.access.audit`); it stays open afterwards. `system` are the names of the system
    controllers to run (`system.controller_names`), or whether to run them at all. `workloads` has it run processes and
    containers: settings, or whether to do so at all. With `read_only`, which says why, it only shows what its store
    has: it refuses every write, makes none itself, and calls no webhook.
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
        """`authentication` says who is known beside the administrator, and how. Raises PlaneError."""
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
        # What controllers remember of their reconciles; those of other processes can be added to its sources.
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
        """Raises PlaneError, or what the store raises."""
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
            # Others may write to it as well: definitions, roles, policies.
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
        """What runs processes and containers, if this control plane does."""
        if self._host is None:
            raise PlaneError("this control plane runs no workloads: use ControlPlane(workloads=True)")
        return self._host.workloads

    @property
    def runs_workloads(self) -> bool:
        """Whether it runs processes and containers."""
        return self._host is not None

    @property
    def controllers(self) -> "list[Controller]":
        """The controllers that come with it and run: those of every cluster, and of workloads."""
        own = self._system.controllers if self._system is not None else ()
        return [*own, *(self._host.controllers if self._host is not None else ())]

    async def _remembered(self, wanted: "Wanted") -> "Reconciles":
        from setpoint.controller.reconciles import remembered
        from setpoint.objects.reconcile_report import Reconciles

        controllers = self.controllers
        return Reconciles(remembered(controllers, wanted), [each.name for each in controllers])

    async def workloads_started(self) -> None:
        """Returns when the controllers of workloads work. Raises PlaneError if they cannot: a control plane that takes
        objects and does nothing about them is of no use."""
        if self._host is not None:
            try:
                await self._host.started()
            except Exception as error:
                raise PlaneError(f"workloads cannot be run: {type(error).__name__}: {error}") from error

    def end(self) -> None:
        """Asks for the end of the workloads, as clients do at `/admin/execution`; `ended` tells when that has come."""
        if self._host is not None:
            self._host.shutdown.ask("Stopping", None)

    async def ended(self) -> None:
        """Returns when a client has asked at `/admin/execution` for the end, and the workloads are cleaned up; without
        workloads, never. Raises PlaneError if they cannot be run."""
        if self._host is None:
            await asyncio.Event().wait()
        else:
            await self.workloads_started()
            await self._host.shutdown.ended()

    def start_system(self, names: bool | Collection[str] = True) -> None:
        """Starts system controllers, unless they run already. They begin when others have had their turn."""
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
        """Imports the modules that only some requests need, in a thread, so that no request waits for them. Call it in
        a process that many users share, once it listens."""
        from setpoint.server.preload import preload

        await preload(self._started.services.offload)

    async def settle(self) -> None:
        """Returns when the system controllers have done all that follows from what was written up to now: dependents
        are gone, namespaces are empty. So a test need not wait and look."""
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
        """Reads again what may change while it runs: the token file, the audit policy, and certificates that somebody
        else keeps.

        Where one cannot be read the old one holds, and PlaneError says so.
        """
        if self._authenticating is not None:
            try:
                self._authenticating.reload()
            except (OSError, ValueError) as error:
                raise PlaneError(f"the token file cannot be read: {error}") from error
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
                raise PlaneError(f"the certificates cannot be read: {error}") from error

    @property
    def handler(self) -> Handler:
        """Answers requests of this process; whoever asks without credentials is the administrator."""
        return self._handle

    def client(
        self, *, user: str = "", groups: Sequence[str] = (), token: str = "", field_manager: str = ""
    ) -> "Client":
        """A client in this process, without sockets. Without a user or a token it is the administrator's."""
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
            raise RuntimeError("this control plane is not running: use it inside `async with`")
        return self._server

    @property
    def services(self) -> "Services":
        """Returns what the server works with: its store and its registry."""
        return self._started.services

    @property
    def webhook_services(self) -> ServiceResolver:
        """Where the services are that webhooks refer to; may be changed while it runs."""
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
        """Where it listens; empty while it does not."""
        return self._url

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: "bool | Certificates" = True, names: Sequence[str] = ()
    ) -> str:
        """Serves at an address, and returns its URL. Port 0 picks a free one; `names` are what else clients call it.

        `tls` may name the files of certificates that somebody else keeps: then those count, and our own authority is
        not needed.
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
        """Has the cluster tell where it is, until it ends."""
        services, address = self._started.services, address_of(host)
        await advertise(services, address, port)

        async def end() -> None:
            with suppress(StoreError):  # who cannot be told is gone as well
                await withdraw(services, address, port)

        self._stack.push_async_callback(end)

    async def listen_unix(self, path: Path | str) -> None:
        """Serves at a unix socket that only our own user may open; clients authenticate as elsewhere."""
        await self._edge().listen_unix(str(path))

    @property
    def authority(self) -> bytes | None:
        """The certificate by which clients know it, PEM; None where it has no authority of its own."""
        return self._identity.authority.pair.certificate if self._identity is not None else None

    def kubeconfig(self, user: str = "", groups: Sequence[str] = (), *, lifetime: timedelta | None = None) -> str:
        """The text of the administrator's kubeconfig, for the address it listens at.

        With a `user` it is one for that user, in these groups, by a certificate that our authority signs now: good for
        a year, or for `lifetime`. That takes TLS and an authority of our own: PlaneError where there is none.
        """
        authority = self._identity.authority if self._identity else None
        certificate = authority.pair.certificate if authority else None
        if not user:
            return kubeconfig(self.url, authority=certificate, token=self.token)
        if authority is None:
            raise PlaneError(f"there is no authority to sign a certificate for {user}: listen with tls=True first")
        # As for those of servers, the clocks that judge it are real.
        pair = authority.issue_client(user, groups, SystemClock().now(), lifetime)
        return kubeconfig(
            self.url, authority=certificate, certificate=pair.certificate, key=pair.key, user=user, mark=KEPT
        )

    def write_kubeconfig(self, path: Path | str) -> None:
        """Writes it, in one step and for our own user alone. A file of somebody else's is left as it is: PlaneError."""
        path = Path(path)
        with suppress(FileNotFoundError):
            if not is_ours(path.read_text(errors="replace")):
                raise PlaneError(
                    f"{path} holds a kubeconfig that is not ours; it is left as it is. Choose another file"
                )
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
        # Other machines judge certificates, and their clocks are real even where ours is not.
        self._identity = Identity(called, SystemClock(), self._data)
        return self._identity


def _provided(files: "Certificates") -> "Provided":
    from setpoint.server.edge.tls import Provided

    return Provided(files)


def _secret_retention(services: "Services", seconds: float) -> "SecretRetention":
    """Raises PlaneError where the store cannot do it."""
    from setpoint.server.history.secret_retention import SecretRetention

    if not services.store.purges_single_keys:
        raise PlaneError(
            "history.secretSeconds: a store in etcd cannot remove the past of Secrets alone; bound the history of "
            "everything with history.seconds, or leave it out"
        )
    return SecretRetention(services, seconds)


async def _renew(certificates: "Identity | Provided") -> None:
    while True:
        await SystemClock().sleep(certificates.renewal_seconds)
        with suppress(OSError, ValueError):  # the old certificate is still good, and the next try is soon
            certificates.renew()


def _network(cidr: str) -> str:
    """A range of addresses for Services, in its one form."""
    try:
        network = ip_network(cidr)
    except ValueError as error:
        raise PlaneError(f"{cidr!r} is no range of addresses for Services, such as {SERVICE_CIDR}: {error}") from error
    if network.num_addresses < 4:
        raise PlaneError(f"{cidr} has too few addresses for Services: take a larger range, such as {SERVICE_CIDR}")
    return str(network)


def _data_directory(store: Store | str, data: Path | str | None) -> Path | None:
    if data is not None:
        return Path(data)
    if isinstance(store, str) and store.startswith("sqlite:"):
        path, _ = _durability(store.removeprefix("sqlite:"))
        return Path(f"{path}.keys")
    return None


def _durability(where: str) -> tuple[Path, "Durability"]:
    """The path of a file, and how safely it is written. Raises PlaneError."""
    path, found, durability = where.rpartition("?durability=")
    if not found:
        return Path(where), "full"
    chosen: Durability | None = next((each for each in _DURABILITIES if each == durability), None)
    if chosen is None:
        raise PlaneError(f"durability is one of {', '.join(_DURABILITIES)}; not {durability!r}")
    return Path(path), chosen


class _Kept(TypedDict, total=False):
    retention: Retention


async def open_store(spec: str, clock: Clock, ids: Ids, retention: Retention | None = None) -> Store:
    """Opens the store that `memory`, `sqlite:PATH` or `etcd:URL` means; `memory:PATH` is one in memory that a file
    keeps from its end to the next start, `sqlite:PATH?durability=off` one that survives us, but not the machine.
    Without a retention it keeps as much of the past as it does by default. Raises PlaneError, OSError or StoreError."""
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
                f"the store in etcd needs more packages ({error}): pip install 'setpoint[etcd]'"
            ) from error
        return await EtcdStore.open(EtcdConfig.from_url(where), clock=clock, ids=ids, **kept)
    raise PlaneError(f"{spec!r} is no store: it should read memory, sqlite:PATH or etcd:URL")
