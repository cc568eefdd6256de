"""The authorization components of one server: the authorizer, the escalation check, and role aggregation."""

from setpoint.server.access.authorization.aggregation import Aggregation
from setpoint.server.access.authorization.escalation import Escalation
from setpoint.server.access.authorization.rbac import RBAC
from setpoint.server.access.authorization.roles import Roles
from setpoint.server.request.context import Authorizer, Services


class Authorization:
    """The authorization components: `authorizer` decides, `escalation` is the last mutating admission plugin,
    `aggregation` reacts to writes."""

    def __init__(self, authorizer: Authorizer | None = None, *, aggregates: bool = True) -> None:
        self.authorizer = authorizer or RBAC()
        # The escalation check uses the roles even if another authorizer decides.
        self._roles = self.authorizer.roles if isinstance(self.authorizer, RBAC) else Roles()
        self.escalation = Escalation(self._roles)
        self.aggregation = Aggregation()
        self._aggregates = aggregates

    def attach(self, services: Services) -> None:
        """Sets the server that the components serve."""
        self._services = services
        for part in (self._roles, self.authorizer, self.aggregation):
            part.attach(services)

    async def provide(self) -> None:
        """Creates or updates the default roles and bindings."""
        from setpoint.server.access.authorization.provision import provide

        await provide(self._services, self.aggregation if self._aggregates else None)
