"""Queries the status of a server's controllers."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.client import Client

# The path of the status page; implemented in `page`.
PATH = "/admin/controllers"
_LOOK_SECONDS = 0.1
# The same values as in `controller.overview`, which would import all controllers.
_LOADING, _FAILED = "Loading", "Failed"


class ControllerStatus(NamedTuple):
    """The status of a server's controllers: of its app and built in, and the names of logs."""

    hosted: list[Object]
    built_in: list[Object]
    logs: list[str]

    def are_decided(self, modules: Collection[str]) -> bool:
        """Returns True if each of these modules runs or has failed."""
        states = {row["module"]: row["state"] for row in self.hosted}
        return all(states.get(module, _LOADING) != _LOADING for module in modules)

    @property
    def failures(self) -> list[str]:
        """The reasons of failed modules."""
        return [row["note"] for row in self.hosted if row["state"] == _FAILED]


async def read_status(client: "Client") -> ControllerStatus:
    """Returns the status. Raises NotFound if the server does not report controllers."""
    from setpoint.client.requests import decode

    found = decode((await client.raw("GET", PATH)).body)
    return ControllerStatus(found["controllers"], found["builtIn"], found["logs"])


async def loaded(client: "Client", modules: Collection[str], seconds: float) -> ControllerStatus:
    """Waits until each of these modules runs or has failed, up to a number of seconds. Returns the status."""
    until = client.clock.monotonic() + seconds
    while True:
        known = await read_status(client)
        if known.are_decided(modules) or client.clock.monotonic() > until:
            return known
        await client.clock.sleep(_LOOK_SECONDS)
