"""How the controllers of a server do, asked by a client of it."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.client.client import Client

# Where a server tells of them; the page itself is `page`.
PATH = "/admin/controllers"
_LOOK_SECONDS = 0.1
# As `controller.overview` has them, which brings all controllers along.
_LOADING, _FAILED = "Loading", "Failed"


class Known(NamedTuple):
    """What a server tells: the controllers of its app, its own, and whose output there is."""

    hosted: list[Object]
    built_in: list[Object]
    logs: list[str]

    def are_decided(self, modules: Collection[str]) -> bool:
        """Whether it is known of these files or modules that they run, or why they do not."""
        states = {row["module"]: row["state"] for row in self.hosted}
        return all(states.get(module, _LOADING) != _LOADING for module in modules)

    @property
    def failures(self) -> list[str]:
        """Why some do not run."""
        return [row["note"] for row in self.hosted if row["state"] == _FAILED]


async def ask(client: "Client") -> Known:
    """Raises NotFound for a server that tells nothing of controllers."""
    from setpoint.client.requests import decode

    found = decode((await client.raw("GET", PATH)).body)
    return Known(found["controllers"], found["builtIn"], found["logs"])


async def loaded(client: "Client", modules: Collection[str], seconds: float) -> Known:
    """Waits until each of these files or modules runs, or it is known why it does not; but no longer than so many
    seconds."""
    until = client.clock.monotonic() + seconds
    while True:
        known = await ask(client)
        if known.are_decided(modules) or client.clock.monotonic() > until:
            return known
        await client.clock.sleep(_LOOK_SECONDS)
