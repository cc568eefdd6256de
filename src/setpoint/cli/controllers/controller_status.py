"""Reads the status of the controllers of the selected server."""

from typing import TYPE_CHECKING

from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.session.controllers.status_query import ControllerStatus


async def read_controllers(client: "Client") -> "ControllerStatus":
    """Returns the status of the controllers. Raises Failure if the server does not report controllers."""
    from setpoint.objects.errors import NotFound
    from setpoint.session.controllers.status_query import read_status

    try:
        return await read_status(client)
    except NotFound:
        raise Failure(
            "this server does not report controllers: only servers of `setpoint up` and `setpoint serve` do. Use "
            "`setpoint dev` to watch a controller on any cluster",
            NOT_FOUND,
        ) from None
