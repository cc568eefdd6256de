"""How the controllers of the server that is meant do."""

from typing import TYPE_CHECKING

from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.session.controllers.status_query import Known


async def read_controllers(client: "Client") -> "Known":
    """Raises Failure for a server that tells nothing of controllers."""
    from setpoint.objects.errors import NotFound
    from setpoint.session.controllers.status_query import ask

    try:
        return await ask(client)
    except NotFound:
        raise Failure(
            "this server tells nothing of controllers: only those of `setpoint up` and `setpoint serve` do. "
            "`setpoint dev` shows what a controller does on any cluster",
            NOT_FOUND,
        ) from None
