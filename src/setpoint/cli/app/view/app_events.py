"""What is told of the app itself, of the controllers that run with it above all: the events of its App object."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.client.watch import BOOKMARK, DELETED
from setpoint.objects.errors import APIError

_EVENT = "v1/Event"
_NAMESPACE = "default"
_AGAIN_SECONDS = 0.5


class Happening(NamedTuple):
    """Something that was told."""

    text: str
    bad: bool


async def happenings(client: Client, app: str) -> AsyncIterator[Happening]:
    """What happens to an app from now on; has no end."""
    fields = {"involvedObject.kind": "App", "involvedObject.name": app}
    while True:
        try:
            version = (await client.list(_EVENT, _NAMESPACE, fields=fields)).resource_version
            async with client.watch(_EVENT, _NAMESPACE, fields=fields, resource_version=version) as events:
                async for event in events:
                    if event.type not in (DELETED, BOOKMARK):
                        tree = event.object
                        yield Happening(tree.get("message") or tree.get("reason", ""), tree.get("type") == "Warning")
        except (APIError, TransportError):
            pass  # whether the server is there is for others to find out
        await client.clock.sleep(_AGAIN_SECONDS)
