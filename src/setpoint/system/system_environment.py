"""The environment of the system controllers: they run in the process of a server, and call the server without
sockets."""

from collections.abc import Coroutine, Sequence
from typing import Any

from setpoint.client.client import Client
from setpoint.client.mapper import Mapper
from setpoint.controller.fence import Fence, fenced
from setpoint.node.functions import NodeAgents
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.server.app import Server
from setpoint.server.edge.in_process import LocalTransport
from setpoint.server.message import Request, Response
from setpoint.server.ports import TokenIssuer
from setpoint.store.contract import TooLate


class ServerInterface:
    """The interface of a server for its controllers. With a fence, the controllers write only while the server
    leads."""

    def __init__(self, server: Server, fence: Fence | None = None) -> None:
        self._server, self._fence = server, fence
        # The number of requests of the controllers.
        self.request_count = 0
        # The kinds of the server are the same for all users: one discovery serves all controllers.
        self._mapper: Mapper | None = None

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        """Returns a client that acts as a user."""
        name = user.rpartition(":")[2]
        headers = {"user-agent": f"setpoint/{name}"}
        transport = LocalTransport(self._handle, headers, user, groups, is_controller=True)
        # System controllers watch every resource, deprecated ones too; their warnings concern no user.
        priority = self._server.services.priority
        client = Client(transport, clock=self.clock, on_warning=_ignore, mapper=self._mapper, priority=priority)
        self._mapper = client.mapper
        return client if self._fence is None else fenced(client, self._fence)

    def _handle(self, request: Request) -> Coroutine[Any, Any, Response]:
        self.request_count += 1
        return self._server.pipeline(request)

    @property
    def clock(self) -> Clock:
        return self._server.services.clock

    @property
    def ids(self) -> Ids:
        return self._server.services.ids

    @property
    def nodes(self) -> NodeAgents:
        """The agents of the nodes, which the server asks about pods."""
        return self._server.services.nodes

    @property
    def issuer(self) -> TokenIssuer:
        """The issuer of service account tokens."""
        return self._server.services.issuer

    async def revision(self) -> int:
        """Returns the newest revision of the store."""
        return await self._server.services.store.revision()

    async def has_objects(self, group: str, version: str, resource: str) -> bool:
        """Returns True if there are objects of a resource. Does not load the rules of the kind."""
        return await self._server.services.store.count(self._prefix(group, version, resource)) > 0

    async def first_object(self, group: str, version: str, resource: str) -> None:
        """Waits until there is an object of a resource."""
        watch = self._server.services.store.watch(self._prefix(group, version, resource))
        try:
            if not await self.has_objects(group, version, resource):
                await watch.next()
        except TooLate:
            return  # there were writes
        finally:
            watch.close()

    def _prefix(self, group: str, version: str, resource: str) -> str:
        found = self._server.services.registry.resource(group, version, resource)
        assert found is not None
        return found.storage.prefix

    async def count_quotas(self) -> None:
        """Recalculates the usage of all quotas."""
        if self._server.services.ledger is not None:
            await self._server.services.ledger.recount_all()

    def send_bookmarks(self) -> None:
        """Makes every watch report its current resource version."""
        for watch in tuple(self._server.services.watches):
            watch.send_bookmarks()


def _ignore(warning: str) -> None: ...
