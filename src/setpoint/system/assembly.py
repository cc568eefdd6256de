"""Where the system controllers live: in the process of a server, which they ask without sockets."""

from collections.abc import Sequence

from setpoint.client.client import Client
from setpoint.objects.clock import Clock
from setpoint.server.app import Server
from setpoint.server.edge.in_process import LocalTransport
from setpoint.server.ports import TokenIssuer


class Home:
    """A server, as its controllers know it."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        """A client that asks as this user."""
        name = user.rpartition(":")[2]
        transport = LocalTransport(self._server, {"user-agent": f"setpoint/{name}"}, user, groups, is_controller=True)
        return Client(transport, clock=self.clock)

    @property
    def clock(self) -> Clock:
        return self._server.services.clock

    @property
    def issuer(self) -> TokenIssuer:
        """Who issues the tokens of service accounts."""
        return self._server.services.issuer

    async def revision(self) -> int:
        """The newest revision of the store."""
        return await self._server.services.store.revision()

    async def count_quotas(self) -> None:
        """Has what every quota counts counted anew."""
        if self._server.services.ledger is not None:
            await self._server.services.ledger.settle_all()

    def tell_progress(self) -> None:
        """Has every watch say how far it has come."""
        for watch in tuple(self._server.services.watches):
            watch.tell_progress()
