"""Assembles a control plane: a store, and the API server over that store.

`async with ControlPlane() as plane` starts a server in this process, without sockets; several can run side by side.
`listen` opens the server to other processes, over TLS with its own certificate authority.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from setpoint.config import Config, plane_options
from setpoint.controller.reconciles_page import ReconcilesPage
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids, SystemIds
from setpoint.plane.component_checks import check_lease
from setpoint.plane.config_checks import secret_retention, service_network
from setpoint.plane.endpoint import PlaneEndpoint
from setpoint.plane.errors import PlaneError
from setpoint.plane.own_endpoints import OwnEndpoints
from setpoint.plane.store_specification import data_directory, open_store
from setpoint.server import secret_files
from setpoint.server.access.authentication.assembly import Authentication, assemble
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.modes import authorizer_of
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.server.app import Server
from setpoint.server.edge.kubeconfig import is_ours
from setpoint.server.history.purge import follow as follow_purges
from setpoint.server.message import Peer, Request, RequestHandler, Response
from setpoint.server.outbound.service_resolver import ServiceError, ServiceResolver
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.server_keys import ServerKeys
from setpoint.server.server_options import AccessControl, ServerSettings, Serving
from setpoint.store.cached.publishing import SharedPublishing
from setpoint.store.contract import SharedIdentity, Store
from setpoint.store.files import make_directory
from setpoint.system.controller_names import POLICY_STATUS, QUOTA, ROLE_AGGREGATION, chosen, excluded_from_server
from setpoint.system.node_setting import NodeSetting, parse_nodes

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.controller.controller import Controller
    from setpoint.objects.reconcile_report import ReconcileQuery, Reconciles
    from setpoint.past.runs.run_history import RunHistory
    from setpoint.plane.controllers_endpoint import HostedReports
    from setpoint.plane.plane_snapshot import PlaneSnapshot
    from setpoint.plane.system_runner import SystemRunner
    from setpoint.plane.telemetry import PlaneTelemetry
    from setpoint.server.access.audit.auditor import Auditor
    from setpoint.server.edge.tls import Certificates
    from setpoint.server.registry.conversion.functions import ConversionFunction
    from setpoint.server.request.context import Services
    from setpoint.store.memory import MemoryStore
    from setpoint.workload.workload_host import WorkloadHost
    from setpoint.workload.workloads import Workloads, WorkloadSettings

# The user that the workload controllers act as.
_WORKLOADS = "system:setpoint:workloads"
# The user whose thread reads a store for a copy of the control plane.
_COPIES = "system:setpoint:copies"
_NOT_RUNNING = "the control plane is not running: use `async with ControlPlane()`"
_IN_PROCESS = Peer("in process", in_process=True)


class ControlPlane:
    """A control plane. Entering the context starts the plane; leaving the context closes its watches, connections and
    store.

    `config` has all settings, as in a configuration file; `store`, `data` and `token` override the configuration.

    `store` is a store, which stays open afterwards, or the specification of a store to open: `memory`, `sqlite:PATH` or
    `etcd:URL`. `data` is the directory for the certificate authority and the administrator's token; by default next to
    the SQLite file, and none for other stores. `token` is the administrator's token; by default a random one.

    `admission` are additional admission plugins or functions (`server.admission.functions`). `conversions` are
    functions that convert custom resources between versions, by the names of their definitions
    (`server.registry.conversion.functions`). `auditor` records requests (`server.access.audit`), and stays open
    afterwards. `serving` adds subresources of custom resources and pages at other paths, which take precedence over the
    server's own, or restricts the server to reads. Without `aggregated_discovery`, the server supports only
    unaggregated discovery, as older servers do.

    `system` are the names of the system controllers to run (`system.controller_names`), or True for the defaults and
    False for none. `nodes` are `none`, or simulated ones (`simulated`, `simulated:3`, or a setting with scripts of
    `system.node_scripts`): with nodes, the controllers of Kubernetes' workloads and a scheduler are among the defaults.
    `workloads` enables the workloads (processes and containers): settings, or True or False. `telemetry` is the
    directory of stored traces, metrics and logs, which the server then returns; with `config.telemetry.enabled` the
    workloads send theirs to the server. `runs` returns the runs of an app, given the services of the server and the
    revision at which the current run begins; the server returns and purges them. The function is called on first use.
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
        admission: Sequence[Plugin] = (),
        conversions: "Mapping[str, ConversionFunction] | None" = None,
        auditor: "Auditor | None" = None,
        serving: Serving = Serving(),  # noqa: B008 - immutable
        aggregated_discovery: bool = True,
        system: bool | Collection[str] | None = None,
        nodes: str | NodeSetting | None = None,
        workloads: "bool | WorkloadSettings | None" = None,
        telemetry: Path | None = None,
        runs: "Callable[[Services, int], RunHistory] | None" = None,
    ) -> None:
        """Raises PlaneError."""
        self.config = config = config or Config()
        self._store_argument = config.store if store is None else store
        self._keys = ServerKeys(data_directory(self._store_argument, data or config.data or None))
        self._token = token or config.token
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._limits = plane_options.edge_limits(config.limits)
        self._service_cidr = service_network(config.service_cidr)
        self._admission = admission
        self._conversions = conversions
        self._serving, self._read_only = serving, bool(serving.read_only)
        # The recorded reconciles of the controllers; those of other processes can be added as sources.
        self.reconciles = ReconcilesPage([self._recorded_runs])
        get_runs = None if runs is None else lambda: self.runs
        self._own_endpoints = OwnEndpoints(
            self.answer, lambda: self.controllers, self._workloads, get_runs, config.usage
        )
        self._make_runs = runs
        self._known_runs: RunHistory | None = None
        self._first_revision = 0
        self._auditor = auditor
        try:
            self._resolver = ServiceResolver(config.webhooks.services)
            self._authorizer = authorizer_of(config.authorization.mode)
            self._nodes = parse_nodes(config.nodes if nodes is None else nodes)
            if config.stages:
                from setpoint.system.stages.stage_files import nodes_with_files

                self._nodes = nodes_with_files(self._nodes, config.stages)
            self._system_names = chosen(config.controllers if system is None else system, self._nodes)
            # A caller may start the system controllers itself, later.
            given = config.controllers if system is None or isinstance(system, bool) else system
            self._excluded = excluded_from_server(given)
        except (ServiceError, ValueError) as error:
            raise PlaneError(str(error)) from None
        self._aggregated_discovery = aggregated_discovery
        self._stack = AsyncExitStack()
        self._server: Server | None = None
        self._authenticating: Authentication | None = None
        self._opened: PlaneEndpoint | None = None
        self._runner: SystemRunner | None = None
        # True if other servers may write to the store.
        self._shares_store = False
        self._host = self._workload_host(config.workloads if workloads is None else workloads)
        self._telemetry_directory = telemetry
        self._telemetry: PlaneTelemetry | None = None
        # A store with initial objects, and whether the system objects are among them.
        self._initial: MemoryStore | None = None
        self._provisioned = False
        # False for a fork that another plane serves: forks of forks would evade the limits.
        self.serves_forks = not self._read_only

    @classmethod
    def with_objects(cls, store: "MemoryStore", **settings: Any) -> Self:
        """Returns a control plane, not yet started, that begins with the objects of a store in memory, which belongs to
        the plane from now on. Objects that every cluster has are added at the start if missing."""
        made = cls("memory", **settings)
        made._initial = store
        return made

    async def snapshot(self) -> "PlaneSnapshot[ControlPlane]":
        """Returns the current state, from which other control planes can continue. Takes constant time for a store in
        memory, and reads the whole store otherwise, in a thread."""
        from setpoint.plane.plane_snapshot import PlaneSnapshot, forked_clock, forked_ids
        from setpoint.server.access.audit.audit_settings import Audit
        from setpoint.store.memory import MemorySnapshot, in_memory

        services = self.services
        found = await services.store.snapshot()
        clock, ids = forked_clock(self._clock), forked_ids(self._ids)
        is_in_memory = isinstance(found, MemorySnapshot)
        store = in_memory(found) if is_in_memory else await services.offload.run(_COPIES, partial(in_memory, found))
        settings = {
            # The files of this plane stay its own.
            "config": structs.replace(self.config, data="", identity_key="", token="", audit=Audit()),
            "admission": self._admission,
            "conversions": self._conversions,
            "serving": self._serving,
            "aggregated_discovery": self._aggregated_discovery,
            "system": self._system_names,
            "nodes": str(self._nodes),
            "workloads": False,
        }
        return PlaneSnapshot(store, clock, ids, partial(_continued, settings))

    async def fork(self, at: int | None = None) -> "ControlPlane":
        """Returns a new control plane in memory, not yet started, that continues from the current state or from an
        earlier revision, with the same revisions, past, admission and system controllers. The fork runs no workloads,
        and writes to one of the planes do not affect the other. Raises TooEarly or TooLate for a revision that cannot
        be read.

            async with await plane.fork(at=120) as fork:
                await fork.client().delete("v1/ConfigMap", "settings", "default")
        """
        return (await self.snapshot()).plane(at)

    async def __aenter__(self) -> Self:
        """Starts the control plane. Raises PlaneError, or the errors of the store."""
        async with AsyncExitStack() as stack:
            store = self._initial or self._store_argument
            if isinstance(store, str):
                store = await open_store(store, self._clock, self._ids, plane_options.retention(self.config))
            self._shares_store = isinstance(store, SharedPublishing)
            if isinstance(self._store_argument, str):
                stack.push_async_callback(store.close)
            await self._share_identity(store)
            if self._auditor is None and self.config.audit.log_path:
                self._auditor = self._open_auditor()
                stack.callback(self._close_auditor)
            authentication = self._authenticating = assemble(
                plane_options.authentication(self.config.authentication), {self.token: ADMIN}, self._clock, self._keys
            )
            stack.callback(authentication.close)
            self._server = self._assemble_server(store, authentication)
            services = self._server.services
            if self.serves_forks:
                from setpoint.plane.forks import Forks

                services.forks = hosted = Forks(self.snapshot, services)
                stack.push_async_callback(hosted.close)
            services.components["controller-manager"] = self._check_controllers
            services.components["scheduler"] = partial(check_lease, services, "kube-scheduler")
            stack.callback(self._server.close)
            # Other servers may write to the same store: definitions, roles, policies.
            services.views.shared = not isinstance(self._store_argument, str) or self._store_argument.startswith(
                "etcd:"
            )
            if self._host is not None:
                from setpoint.workload.kinds.definitions import definitions

                await provide(services, definitions())
            await self._server.start(provisioned=self._provisioned)
            if services.views.shared:
                stack.callback(services.views.close)
                following = asyncio.create_task(services.definitions.follow())
                stack.callback(following.cancel)
                purges = asyncio.create_task(follow_purges(services))
                stack.callback(purges.cancel)
            if (seconds := self.config.history.secret_seconds) and not self._read_only:
                retaining = asyncio.create_task(secret_retention(services, seconds).run())
                stack.callback(retaining.cancel)
            await self._open_telemetry(services, stack)
            if self._make_runs is not None:
                self._first_revision = await store.revision()
                services.past_copies.append(lambda: self.runs)
                stack.push_async_callback(self._close_runs)
            if self._host is not None:
                self._host.shutdown.on_begin = self._before_shutdown
                stack.push_async_callback(self._host.stop)
                await self._host.start(self.client(user=_WORKLOADS, groups=[MASTERS]))
            self._stack = stack.pop_all()
            self._opened = PlaneEndpoint(
                self._server,
                self._clock,
                self._limits,
                self._keys,
                self._stack,
                self._publish_authority,
                self._serving.dashboard,
                shares_store=self._shares_store,
            )
            self._opened.receiver = self._telemetry.receiver if self._telemetry is not None else None
        if not self._read_only:
            self.start_system(self._system_names)
        return self

    async def _share_identity(self, store: Store) -> None:
        """Takes the keys that the servers of a shared store have in common. Raises PlaneError."""
        if isinstance(store, SharedIdentity):
            from setpoint.plane.shared_identity import share

            await share(self._keys, store, self.config.identity_key)
        elif self.config.identity_key:
            raise PlaneError("identityKey (--identity-key): only servers that share an etcd share an identity")

    async def _open_telemetry(self, services: "Services", stack: AsyncExitStack) -> None:
        """Serves stored telemetry, and receives that of workloads if enabled."""
        settings, directory = self.config.telemetry, self._telemetry_directory
        receives = settings.enabled and self._host is not None and self._host.reports_telemetry
        if not receives and directory is None:
            return
        from setpoint.plane.telemetry import PlaneTelemetry

        found = self._telemetry = PlaneTelemetry(settings, self._clock, directory)
        stack.push_async_callback(found.close)
        found.open(services)
        if receives and self._host is not None:
            await found.receive(services)
            self._host.exporters = found

    def _assemble_server(self, store: Store, authentication: Authentication) -> Server:
        config, host, metrics = self.config, self._host, Metrics()
        own_pages = standard(metrics, aggregated_discovery=self._aggregated_discovery)
        return Server(
            store,
            clock=self._clock,
            ids=self._ids,
            access=AccessControl(authentication.credentials, authentication.issuer, self._authorizer, self._auditor),
            admission=(*self._admission, *(host.admission if host is not None else ())),
            conversions=self._conversions,
            serving=replace(
                self._serving,
                subresources=(*self._serving.subresources, *(host.extensions if host is not None else ())),
                endpoints=(*self._serving.endpoints, *self._own_endpoints.endpoints),
                pages=(*self._serving.pages, self.reconciles, *(host.pages if host is not None else ()), *own_pages),
            ),
            settings=ServerSettings(
                enabled_plugins=config.admission.enabled,
                disabled_plugins=config.admission.disabled,
                aggregates_roles=ROLE_AGGREGATION not in self._excluded,
                checks_policies=POLICY_STATUS not in self._excluded,
                counts_quotas=QUOTA not in self._excluded,
                service_cidr=self._service_cidr,
                overload=config.overload,
                event_ttl_seconds=config.event_ttl_seconds,
                history_window_seconds=config.history_window_seconds,
                state_cache_bytes=config.state_cache_bytes,
            ),
            resolver=self._resolver,
            observer=metrics,
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.services.is_stopping = True
        await self._stop_system()
        await self._stack.aclose()
        self._server = self._opened = None

    def _workload_host(self, wanted: "bool | WorkloadSettings") -> "WorkloadHost | None":
        if not wanted:
            return None
        from setpoint.machine.chosen import problem

        if (found := problem()) is not None:
            raise PlaneError(str(found))
        from setpoint.workload.workload_host import WorkloadHost

        return WorkloadHost(None if isinstance(wanted, bool) else wanted, self._ids)

    @property
    def workloads(self) -> "Workloads":
        """The workload runtime, which runs processes and containers. Raises PlaneError if workloads are disabled."""
        if self._host is None:
            raise PlaneError("workloads are disabled: use ControlPlane(workloads=True)")
        return self._host.workloads

    def _workloads(self) -> "Workloads | None":
        return self._host.workloads if self._host is not None else None

    @property
    def runs_workloads(self) -> bool:
        """True if the control plane runs processes and containers."""
        return self._host is not None

    @property
    def controllers(self) -> "list[Controller]":
        """The running built-in controllers: the system controllers, and those of workloads."""
        own = self._runner.controllers if self._runner is not None else ()
        return [*own, *(self._host.controllers if self._host is not None else ())]

    def attach_controllers(self, hosted: "HostedReports") -> None:
        """Includes the controllers of other processes in lists of controllers and reconciles."""
        self._own_endpoints.hosted = hosted
        self.reconciles.sources.append(hosted.reconciles)

    def detach_controllers(self, hosted: "HostedReports") -> None:
        """Excludes attached controllers again."""
        self._own_endpoints.hosted = None
        self.reconciles.sources.remove(hosted.reconciles)

    @property
    def runs(self) -> "RunHistory":
        """The runs of the app. Raises PlaneError if the control plane has none."""
        if self._known_runs is None:
            if self._make_runs is None:
                raise PlaneError("no runs are kept: use ControlPlane(runs=...)")
            self._known_runs = self._make_runs(self.services, self._first_revision)
        return self._known_runs

    async def _before_shutdown(self) -> None:
        if self._make_runs is not None:
            await self.runs.before_shutdown()

    async def _close_runs(self) -> None:
        if self._known_runs is not None:
            await self._known_runs.close()

    async def _recorded_runs(self, wanted: "ReconcileQuery") -> "Reconciles":
        from setpoint.controller.reconciles import recorded_runs
        from setpoint.objects.reconcile_report import Reconciles

        controllers = self.controllers
        return Reconciles(recorded_runs(controllers, wanted), [each.name for each in controllers])

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
            self._host.shutdown.request("Stopping", None)

    async def ended(self) -> None:
        """Waits until a client has requested the shutdown at `/admin/execution`, and the workloads are cleaned up;
        without workloads, waits forever. Raises PlaneError if the workloads cannot run."""
        if self._host is None:
            await asyncio.Event().wait()
        else:
            await self.workloads_started()
            await self._host.shutdown.ended()

    def start_system(self, names: bool | Collection[str] = True) -> None:
        """Starts system controllers in the background, unless they run already. Servers that share a store elect the
        one that runs them."""
        names = chosen(names, self._nodes)
        if names and self._runner is None:
            from setpoint.plane.system_runner import SystemRunner

            server = self._started
            self._runner = SystemRunner(
                server, names, self._nodes, self._publish_authority, is_elected=self._shares_store
            )

    async def _publish_authority(self) -> None:
        """Publishes the authority of the server's certificate in every namespace, and signs certificates of clients, if
        the system controllers run here."""
        system = self._runner.system if self._runner is not None else None
        if system is not None and self._opened is not None and (authority := self._opened.server_authority):
            await system.publish(authority)
            if (signer := self._opened.signer) is not None:
                await system.sign_with(signer)

    async def _check_controllers(self) -> None:
        """Raises PlaneError unless the system controllers run, in servers of this store or in a
        kube-controller-manager."""
        if self._runner is not None:
            await self._runner.check()
        else:
            await check_lease(self._started.services, "kube-controller-manager")

    async def _stop_system(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.stop()

    async def preload(self) -> None:
        """Imports the modules that only some requests need, in a thread, so that no request waits for an import. Call
        this method in a process with many users, after `listen`."""
        from setpoint.server.preload import preload

        await preload(self._started.services.offload)

    def pulse(self) -> object:
        """Returns a value that changes with every step of the system controllers, for tests in virtual time."""
        system = self._runner.system if self._runner is not None else None
        return None if system is None else system.pulse()

    async def system_started(self) -> None:
        """Waits until the system controllers run, and the nodes exist. If another server runs the controllers of a
        shared store, does not wait for them."""
        if self._runner is not None:
            await self._runner.started()

    async def settle(self) -> None:
        """Waits until the system controllers have processed all earlier writes: dependents are deleted, namespaces are
        empty. Tests can use this method instead of polling. If another server runs the controllers of a shared store,
        does not wait for them."""
        if self._runner is not None:
            await self._runner.processed()

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
        """Reloads the token file, the audit policy, and externally managed certificates. Ends the sessions of browsers.

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
        if self._opened is not None:
            self._opened.end_logins()  # their users may no longer be in the token file
            try:
                self._opened.renew()
            except (OSError, ValueError) as error:
                raise PlaneError(f"cannot read the certificates: {error}") from error

    @property
    def handler(self) -> RequestHandler:
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
        server = self._started
        transport = LocalTransport(server.pipeline, {**headers, "user-agent": "setpoint"}, user, groups)
        options = Options(field_manager=field_manager)
        return Client(transport, clock=self._clock, options=options, priority=server.services.priority)

    async def answer(self, request: Request) -> Response:
        """Answers a request of the peer that the request names, which may be in this process."""
        return await self._started(request)

    async def _handle(self, request: Request) -> Response:
        return await self._started(request._replace(peer=_IN_PROCESS))

    @property
    def _started(self) -> Server:
        if self._server is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._server

    @property
    def _endpoint(self) -> PlaneEndpoint:
        if self._opened is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._opened

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

            self._token = token(self._keys)
        return self._token

    @property
    def url(self) -> str:
        """The URL of the listener; empty before `listen`."""
        return self._opened.url if self._opened is not None else ""

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: "bool | Certificates" = True, names: Sequence[str] = ()
    ) -> str:
        """Listens at an address, and returns the URL. Port 0 picks a free port; `names` are additional names for the
        certificate.

        `tls` can have the paths of externally managed certificates, which are then used instead of our own authority.
        """
        url = await self._endpoint.listen(host, port, tls, names, advertised=not self._read_only)
        if self._authenticating is not None:
            # A kube-controller-manager beside this server reads the key, which the first token would create too late.
            self._authenticating.issuer.keep_key()
        await self._publish_authority()
        return url

    async def listen_page(self, port: int = 0) -> str:
        """Serves the dashboard over plain HTTP at a port of the loopback interface, and returns its URL. Raises
        PlaneError without a dashboard (`Serving(dashboard=...)`), and OSError."""
        return await self._endpoint.listen_page(port)

    async def listen_unix(self, path: Path | str) -> None:
        """Listens at a unix socket that only the current user can open; clients authenticate as usual."""
        await self._endpoint.listen_unix(str(path))

    @property
    def authority(self) -> bytes | None:
        """The certificate of our certificate authority in PEM; None without our own authority."""
        return self._opened.authority if self._opened is not None else None

    def kubeconfig(self, user: str = "", groups: Sequence[str] = (), *, lifetime: timedelta | None = None) -> str:
        """Returns the text of a kubeconfig for the listener, by default the administrator's.

        With a `user`, returns a kubeconfig for that user and groups, with a client certificate signed by our authority
        and valid for a year, or for `lifetime`. Raises PlaneError without TLS and our own authority.
        """
        if user:
            return self._endpoint.user_kubeconfig(user, groups, lifetime)
        return self._endpoint.kubeconfig(self.token)

    def write_kubeconfig(self, path: Path | str) -> None:
        """Writes the administrator's kubeconfig atomically, readable by the current user only. Raises PlaneError if the
        file exists and was not written by Setpoint."""
        path = Path(path)
        with suppress(FileNotFoundError):
            if not is_ours(path.read_text(errors="replace")):
                raise PlaneError(f"{path} exists and was not written by Setpoint: choose another file")
        make_directory(path.parent)
        secret_files.write(path, self.kubeconfig().encode())


def _continued(settings: Mapping[str, Any], store: "MemoryStore", clock: Clock, ids: Ids) -> ControlPlane:
    """Returns a control plane on a copy of the store of another one."""
    made = ControlPlane.with_objects(store, clock=clock, ids=ids, **settings)
    made._provisioned = True
    return made
