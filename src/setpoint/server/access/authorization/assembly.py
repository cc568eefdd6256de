"""All that authorization is for one server, put together: who decides, what is asked of those who write roles, and the
roles that the server keeps itself."""

from setpoint.server.access.authorization.aggregation import Aggregation
from setpoint.server.access.authorization.escalation import Escalation
from setpoint.server.access.authorization.rbac import RBAC
from setpoint.server.access.authorization.roles import Roles
from setpoint.server.request.context import Authorizer, Services


class Authorization:
    """`authorizer` decides, `escalation` is the last of the rules that mutate, `aggregation` is a reaction."""

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self.authorizer = authorizer or RBAC()
        # Roles hold whoever decides: nobody gives away more than they allow.
        self._roles = self.authorizer.roles if isinstance(self.authorizer, RBAC) else Roles()
        self.escalation = Escalation(self._roles)
        self.aggregation = Aggregation()

    def attach(self, services: Services) -> None:
        """Tells which server this is for."""
        self._services = services
        for part in (self._roles, self.authorizer, self.aggregation):
            part.attach(services)

    async def provide(self) -> None:
        """Makes the default roles and bindings, or brings them up to date."""
        from setpoint.server.access.authorization.provision import provide

        await provide(self._services, self.aggregation)
