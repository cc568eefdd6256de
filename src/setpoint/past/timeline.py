"""The combined history of several objects, in chronological order."""

import asyncio
from collections.abc import Iterable

from setpoint.client.client import Client
from setpoint.past.moment import Moment
from setpoint.past.object_ref import ObjectReference
from setpoint.past.queries import NotInHistory, read_history
from setpoint.past.revision import Revision, folded

# The number of concurrent requests.
_AT_ONCE = 8


async def timeline(
    client: Client, places: Iterable[ObjectReference], *, since: Moment | None = None, until: Moment | None = None
) -> list[Revision]:
    """Returns the revisions of some objects, oldest first, with insignificant ones folded. Raises NoPast."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def read(place: ObjectReference) -> list[Revision]:
        async with turn:
            try:
                return await read_history(client, place, since=since, until=until)
            except NotInHistory:
                return []

    listed = await asyncio.gather(*(read(place) for place in dict.fromkeys(places)))
    return sorted(
        (revision for found in listed for revision in folded(found)),
        key=lambda revision: (revision.number, str(revision.place)),
    )
