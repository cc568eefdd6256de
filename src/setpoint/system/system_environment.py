"""The environment of the system controllers: they run in the process of a server, and call the server without
sockets."""

from collections.abc import Sequence

from setpoint.client.client import Client
from setpoint.objects.clock import Clock
from setpoint.server.app import Server
from setpoint.server.edge.in_process import LocalTransport
from setpoint.server.ports import TokenIssuer
from setpoint.store.contract import TooLate


class ServerInterface:
    """The interface of a server for its controllers."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        """Returns a client that acts as a user."""
        name = user.rpartition(":")[2]
        headers = {"user-agent": f"setpoint/{name}"}
        transport = LocalTransport(self._server.pipeline, headers, user, groups, is_controller=True)
        # System controllers watch every resource, deprecated ones too; their warnings concern no user.
        return Client(transport, clock=self.clock, on_warning=_ignore)

    @property
    def clock(self) -> Clock:
        return self._server.services.clock

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
