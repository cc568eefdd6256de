"""The stores that sessions have left on the disk, and the purge of an object's past in one of them.

A session that has ended keeps its store, and one that ended unexpectedly has its store put aside by the next run. No
server answers for them; the purge opens the file itself.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.clock import SystemClock
from setpoint.objects.gvk import GroupResource
from setpoint.objects.ids import SystemIds
from setpoint.objects.provenance import Actor
from setpoint.session.places import Places
from setpoint.session.registry import Session

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.past.place import Place

_READ_ONLY = "a stored run is not changed"


class StoredRun(NamedTuple):
    """The store of a run that no server has open."""

    session: Session
    store: Path


def stored_runs(session: Session) -> list[StoredRun]:
    """The stores of a session: of the run that ended unexpectedly before, and its own unless it runs."""
    if not session.data:
        return []
    places = Places.of_session(session)
    stores = [Places(places.crashed).store, *([] if session.is_alive else [places.store])]
    return [StoredRun(session, store) for store in stores if store.exists()]


async def purge_stored(
    run: StoredRun,
    find: "Callable[[Client], Awaitable[Place]]",
    reason: str,
    through: int | None,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Removes the past values of an object from a stored run; returns how many there were. `find` says which object is
    meant, given a client that knows the kinds of the run. Raises StoreError, and what `find` raises."""
    from setpoint.plane import ControlPlane
    from setpoint.server.purge import Requested, remove
    from setpoint.store.contract import Retention, Selection
    from setpoint.store.sqlite import SqliteStore

    clock = SystemClock()
    store = await SqliteStore.open(run.store, clock=clock, retention=Retention())
    try:
        async with ControlPlane(store, system=False, workloads=False, read_only=_READ_ONLY) as plane:
            place = await find(plane.client())
            services = plane.services
            asked = GroupResource(place.gvk.group, place.resource.plural)
            resource = next((each for each in services.registry if each.group_resource == asked), None)
            if resource is None:
                return 0
            key = resource.storage.key(place.namespace, place.name)
            if not await store.history(key, limit=1):
                return 0
            user = environ.get("USER") or str(os.getuid())
            requested = Requested(SystemIds().uid(), Actor(user, field_manager="setpoint"), None, reason)
            return await remove(services, Selection(key, through=through), requested)
    finally:
        await store.close()
