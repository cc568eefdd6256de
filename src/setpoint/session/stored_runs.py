"""Stored runs of sessions, and purging of an object's past values in them.

An ended session keeps its store, which the next run continues. The store of a crashed run is moved aside by the next
run: all of its values are past, so that a purge also removes the last value of the object. No server has these stores
open; the purge opens the file directly.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from setpoint.objects.clock import SystemClock
from setpoint.objects.gvk import GroupResource
from setpoint.objects.ids import SystemIds
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.session.paths import Places
from setpoint.session.registry import Session
from setpoint.store.files import write_private

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.past.object_ref import ObjectReference

_READ_ONLY = "a stored run is read-only"


class StoredRun(NamedTuple):
    """The store of a run that no server has open."""

    session: Session
    places: Places
    # True if no later run continues the store.
    is_over: bool

    @property
    def store(self) -> Path:
        return self.places.store


def stored_runs(session: Session) -> list[StoredRun]:
    """Returns the stores of a session: of the crashed run before, and of the session itself unless running."""
    if not session.data:
        return []
    places = Places.of_session(session)
    runs = [StoredRun(session, Places(places.crashed), is_over=True)]
    if not session.is_alive:
        runs.append(StoredRun(session, places, is_over=False))
    return [run for run in runs if run.store.exists()]


async def purge_stored(
    run: StoredRun,
    find: "Callable[[Client], Awaitable[ObjectReference]]",
    reason: str,
    through: int | None,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Removes the past values of an object from a stored run and returns their number; from the store that the next
    run continues, also from the objects of earlier runs. `find` returns the object, given
    a client with the kinds of the run. Raises StoreError, and the errors of `find`.
    """
    from setpoint.past.runs.run_files import RunFiles, past_of
    from setpoint.plane import ControlPlane, Serving
    from setpoint.server.history.purge import Requested, remove
    from setpoint.store.contract import Retention, Selection
    from setpoint.store.sqlite import SqliteStore

    clock = SystemClock()
    store = await SqliteStore.open(run.store, clock=clock, retention=Retention())
    try:
        async with ControlPlane(store, system=False, workloads=False, serving=Serving(read_only=_READ_ONLY)) as plane:
            place = await find(plane.client())
            services = plane.services
            group_resource = GroupResource(place.gvk.group, place.resource.plural)
            resource = next((each for each in services.registry if each.group_resource == group_resource), None)
            if resource is None:
                return 0
            key = resource.storage.key(place.namespace, place.name)
            selection, copied = Selection(key, through=through), 0
            if not run.is_over:
                past = past_of(selection, await store.get(key), await store.revision())
                copied = await asyncio.to_thread(RunFiles(run.places.runs).purge, past)
            if not await store.history(key, limit=1):
                return copied
            user = environ.get("USER") or str(os.getuid())
            actor = Actor(user, field_manager="setpoint")
            item = await store.get(key)
            if run.is_over and item is not None and (through is None or item.revision <= through):
                await store.commit(key, None, item.revision, actor)
                _remove_applied(run.places, place)
            requested = Requested(SystemIds().uid(), actor, None, reason)
            return copied + await remove(services, selection, requested)
    finally:
        await store.close()


def _remove_applied(places: Places, place: "ObjectReference") -> None:
    """Removes an object from the record of applied objects."""
    from setpoint.session.app_apply import read_applied

    if not places.applied.exists():
        return
    applied = read_applied(places)

    def is_other(tree: Object) -> bool:
        metadata = tree.get("metadata") or {}
        found = tree.get("kind"), metadata.get("name"), metadata.get("namespace") or "default"
        return found != (place.gvk.kind, place.name, place.namespace or "default")

    kept = msgspec.structs.replace(
        applied, objects=list(filter(is_other, applied.objects)), pending=list(filter(is_other, applied.pending))
    )
    write_private(places.applied, msgspec.json.encode(kept))
