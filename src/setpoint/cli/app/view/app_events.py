"""The Events of the App object, mostly about the controllers of the app."""

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
    """An Event of the app."""

    text: str
    bad: bool


async def happenings(client: Client, app: str) -> AsyncIterator[Happening]:
    """Yields the Events of an app from now on; never ends."""
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
            pass  # other code detects that the server is gone
        await client.clock.sleep(_AGAIN_SECONDS)
