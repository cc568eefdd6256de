"""The life of the system controllers of a server.

Servers that share a store elect the one that runs the controllers, by a Lease, as kube-controller-manager does.
Otherwise every server would repeat the work of the others. A server that stands by takes over as soon as the holder
releases the Lease, which a stopping server does, or after the holder has not renewed the Lease for its duration.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from setpoint.controller.leader import Elector, LeaderElection
from setpoint.objects.metrics import MetricFamily
from setpoint.plane.component_checks import check_lease
from setpoint.plane.errors import PlaneError
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.app import Server
from setpoint.server.request.context import Services
from setpoint.store.contract import StoreError
from setpoint.system.node_setting import NodeSetting
from setpoint.system.system_environment import ServerInterface

if TYPE_CHECKING:
    from setpoint.controller.controller import Controller
    from setpoint.system.system import System

ELECTION = LeaderElection("setpoint-system-controllers", "kube-system")
# The user that writes the Lease: the server itself.
_SERVER = "system:apiserver"
_RETRY_SECONDS, _LEAST_SECONDS = 1.0, 0.1

_log = logging.getLogger(__name__)


class SystemRunner:
    """Runs the system controllers on a server, with `is_elected` on one of the servers that share its store.

    `publish` is called when they have started.
    """

    def __init__(
        self,
        server: Server,
        names: Collection[str],
        nodes: NodeSetting,
        publish: Callable[[], Awaitable[None]],
        *,
        is_elected: bool,
    ) -> None:
        self._server, self._names, self._nodes, self._publish = server, names, nodes, publish
        # The running controllers; None before their start, and while another server runs them.
        self.system: System | None = None
        self._elector: Elector | None = None
        # Set when the controllers run here, or another server is known to lead.
        self._decided = asyncio.Event()
        if is_elected:
            interface = ServerInterface(server)
            self._elector = Elector(
                interface.client_of(_SERVER, [MASTERS]), ELECTION, ids=interface.ids, pause=self._stand_by
            )
            server.services.measured.append(self)
        self._running = asyncio.create_task(self._start() if self._elector is None else self._elect(self._elector))

    @property
    def controllers(self) -> "Sequence[Controller]":
        return self.system.controllers if self.system is not None else ()

    async def started(self) -> None:
        """Waits until the controllers run here, or another server leads. Raises the error of a failed start."""
        if self._decided.is_set():
            return
        deciding = asyncio.ensure_future(self._decided.wait())
        try:
            await asyncio.wait((self._running, deciding), return_when=asyncio.FIRST_COMPLETED)
        finally:
            deciding.cancel()
        if self._running.done():
            self._running.result()

    async def processed(self) -> None:
        """Waits until the controllers have processed all earlier writes. Does not wait for those of another server."""
        await self.started()
        if self.system is not None:
            await self.system.wait_processed()

    async def check(self) -> None:
        """Raises PlaneError unless the controllers run, on this server or on the elected one."""
        if self.system is not None and self.system.is_running:
            return
        if self.system is None and self._elector is not None:
            await check_lease(self._server.services, ELECTION.name)
        else:
            raise PlaneError("the system controllers are starting, or one has failed: the log of the server says why")

    async def stop(self) -> None:
        """Stops the controllers. If this server leads, releases the Lease."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._end()
        if self._elector is not None:
            self._server.services.measured.remove(self)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the metric of the election."""
        assert self._elector is not None
        leads = [({"name": ELECTION.name}, int(self._elector.is_leader))]
        yield MetricFamily("leader_election_master_status", "gauge", "1 if this process leads, else 0.", leads)

    async def _start(self) -> None:
        from setpoint.system.system import System

        fence = self._elector.fence if self._elector is not None else None
        system = self.system = System(ServerInterface(self._server, fence), self._names, self._nodes)
        self._server.services.measured.append(system)
        await system.start()
        await self._publish()
        self._decided.set()

    async def _end(self) -> None:
        system, self.system = self.system, None
        if system is not None:
            self._server.services.measured.remove(system)
            await system.stop()

    async def _elect(self, elector: Elector) -> None:
        while True:
            try:
                await elector.run(self._lead)
            except Exception:
                _log.exception("the system controllers could not start, retrying")
            await self._server.services.clock.sleep(_RETRY_SECONDS)

    async def _lead(self) -> None:
        """Runs the controllers until the term ends."""
        try:
            await self._start()
            await asyncio.Event().wait()
        finally:
            await self._end()

    async def _stand_by(self, seconds: float) -> None:
        """Waits for a time, or until the holder has released the Lease."""
        assert self._elector is not None
        services = self._server.services
        waits = [asyncio.ensure_future(services.clock.sleep(seconds))]
        if self._elector.leader:
            self._decided.set()
            waits.append(asyncio.ensure_future(_released(services)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()


async def _released(services: Services) -> None:
    """Waits until the Lease has no holder."""
    resource = services.registry.resource("coordination.k8s.io", "v1", "leases")
    assert resource is not None, "leases are not served"
    key = resource.storage.key(ELECTION.namespace, ELECTION.name)
    watch = services.store.watch(key)
    try:
        while True:
            item = await services.store.get(key)
            if item is None or not (resource.item(item).get("spec") or {}).get("holderIdentity"):
                break
            await watch.next()
    except StoreError as error:
        _log.info("the Lease of the system controllers cannot be followed: %s", error)
    finally:
        watch.close()
    # Bounds the attempts while the Lease cannot be followed, or can be read but not written.
    await services.clock.sleep(_LEAST_SECONDS)
