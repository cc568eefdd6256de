"""How the controllers of a server do, as its page tells it."""

from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.failing import NOT_FOUND, Failure
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.client import Client

PATH = "/admin/controllers"


class Known(NamedTuple):
    """What a server tells: the controllers of its app, its own, and whose output there is."""

    hosted: list[Object]
    built_in: list[Object]
    logs: list[str]


async def read_controllers(client: "Client") -> Known:
    """Raises Failure for a server that has no such page."""
    from setpoint.client.requests import decode
    from setpoint.objects.errors import NotFound

    try:
        found = decode((await client.raw("GET", PATH)).body)
    except NotFound:
        raise Failure(
            "this server tells nothing of controllers: only those of `setpoint up` and `setpoint serve` do. "
            "`setpoint dev` shows what a controller does on any cluster",
            NOT_FOUND,
        ) from None
    return Known(found["controllers"], found["builtIn"], found["logs"])
