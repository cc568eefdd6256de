"""Applies an app file to its session: creates, changes and deletes objects.

The objects applied last are stored beside the store, so that only the differences of a changed file are applied.
Concurrent applies are serialized with a lock.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from setpoint.app.changes import ObjectChange, Renewal, changes, no_renewal
from setpoint.client.kinds import ref_of
from setpoint.client.mapper import NoMatch
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object, copy
from setpoint.server import secret_files
from setpoint.session.controllers.status_query import read_status
from setpoint.session.locks import file_lock
from setpoint.session.paths import Places
from setpoint.session.selection import with_selection, without_parts
from setpoint.workload.kinds.api_names import RESTART_REQUESTED

if TYPE_CHECKING:
    from setpoint.client.client import Client

FIELD_MANAGER = "setpoint up"
_APP = "App"
_DEFINITION = "CustomResourceDefinition"
_ESTABLISHED_SECONDS = 30.0
_GONE_SECONDS = 120.0
# The time limit for the controllers of an app to define the kinds of its objects.
_SERVED_SECONDS = 20.0
_LOOK_SECONDS = 0.05


class Applied(msgspec.Struct, frozen=True):
    """The rendered objects that were applied last."""

    objects: list[Object] = []
    # The times of restart requests whose reason is not in the object itself, by `_key`.
    stamps: dict[str, str] = {}
    # Objects that an apply was about to create. After an interruption they may exist.
    pending: list[Object] = []


def read_applied(places: Places) -> Applied:
    """Returns the objects applied last; empty if there are none."""
    try:
        return msgspec.json.decode(places.applied.read_bytes(), type=Applied)
    except (OSError, msgspec.DecodeError):
        return Applied()


def planned(before: Applied, objects: Sequence[Object], renewal: Renewal = no_renewal) -> list[ObjectChange]:
    """Returns the changes from the objects applied last to the objects of an app, and the renewals."""
    known = {_key(tree) for tree in (*before.objects, *objects)}
    unfinished = [tree for tree in before.pending if _key(tree) not in known]
    return changes([*before.objects, *unfinished], objects, renewal)


async def apply_app(
    client: "Client",
    places: Places,
    objects: Sequence[Object],
    on_wait: Callable[[str], None] = lambda _: None,
    *,
    added_to: bool = False,
    renewal: Renewal = no_renewal,
) -> list[ObjectChange]:
    """Applies the objects of an app to a session and returns the changes; with `added_to`, the other objects of the
    session stay. Replaces the workloads of the app for which `renewal` returns a reason. Calls `on_wait` with the name
    of each object that must be deleted first. Raises APIError, TransportError, OSError.
    """
    wanted = set(map(_key, objects))

    def after(before: Applied) -> Sequence[Object]:
        return with_selection(before.objects, objects) if added_to else objects

    return await _change(client, places, after, on_wait, lambda tree: renewal(tree) if _key(tree) in wanted else "")


async def remove_parts(
    client: "Client", places: Places, names: Collection[str], on_wait: Callable[[str], None] = lambda _: None
) -> list[ObjectChange]:
    """Removes services and tasks from a session and returns the changes. Raises as `apply_app`."""
    return await _change(client, places, lambda before: without_parts(before.objects, names), on_wait)


async def _change(
    client: "Client",
    places: Places,
    after: Callable[[Applied], Sequence[Object]],
    on_wait: Callable[[str], None],
    renewal: Renewal = no_renewal,
) -> list[ObjectChange]:
    """Changes the objects of a session. `after` returns the desired objects, given those applied last."""
    client = client.with_options(field_manager=FIELD_MANAGER)
    async with file_lock(places.data / "applying", client.clock):
        before = read_applied(places)
        objects = after(before)
        found = planned(before, objects, renewal)
        if not found:
            return []
        now = format_micro_time(client.clock.now())
        wanted = set(map(_key, objects))
        stamps = {key: stamp for key, stamp in before.stamps.items() if key in wanted}
        stamps |= {_key(each.new): now for each in found if each.new is not None and _needs_explicit_restart(each)}
        made = [each.new for each in found if each.what == "added" and each.new is not None]
        _write(places, msgspec.structs.replace(before, pending=[*before.pending, *made]))
        await _delete(client, [each.old for each in found if each.old is not None and _is_deletion(each)], on_wait)
        changed = [_stamped(each.new, stamps) for each in found if each.new is not None]
        await _apply(client, changed, _SERVED_SECONDS if _has_controllers(objects) else 0.0)
        _write(places, Applied(list(objects), stamps))
        return found


def _is_deletion(change: ObjectChange) -> bool:
    return change.what == "removed" or change.effect in ("recreate", "rerun")


def _needs_explicit_restart(change: ObjectChange) -> bool:
    """Returns True if a restart must be requested, because no field of the object causes one."""
    return change.effect == "restart" or (change.effect == "rolling" and not change.fields)


def _stamped(tree: Object, stamps: Mapping[str, str]) -> Object:
    """Returns the object with the restart annotation. For replica sets the annotation is part of the template and must
    stay there: its removal would restart the replicas again.
    """
    stamp = stamps.get(_key(tree))
    if stamp is None:
        return tree
    made: Object = copy(tree)
    place = made["spec"]["template"] if made["kind"] == "ExecutableReplicaSet" else made["metadata"]
    place["annotations"] = {**(place.get("annotations") or {}), RESTART_REQUESTED: stamp}
    return made


async def _apply(client: "Client", objects: Iterable[Object], timeout: float) -> None:
    """Applies the objects sequentially, in the order in which they can be created. Waits for kinds that do not exist
    yet.
    """
    defined: list[Object] = []
    for tree in objects:
        if defined and tree["kind"] != _DEFINITION:
            await _established(client, defined)
            defined = []
        applied = await _applied(client, tree, timeout)
        if tree["kind"] == _DEFINITION:
            defined.append(applied)
    await _established(client, defined)


async def _applied(client: "Client", tree: Object, timeout: float) -> Object:
    """Applies an object. If its kind is missing, waits until a controller of the app has defined the kind."""
    deadline = client.clock.monotonic() + timeout
    while True:
        try:
            return await client.apply(tree, force=True)
        except NoMatch as error:
            if not timeout:
                raise
            # A controller that failed to load defines no kinds.
            known = await read_status(client)
            if known.failures or client.clock.monotonic() > deadline:
                why = "; ".join(known.failures) or "no controller of the app has defined the kind"
                raise NoMatch(f"{error} {why}") from None
            await client.clock.sleep(_LOOK_SECONDS)


def _has_controllers(objects: Iterable[Object]) -> bool:
    return any(tree["kind"] == _APP and tree["spec"].get("controllers") for tree in objects)


async def _established(client: "Client", definitions: Iterable[Object]) -> None:
    for definition in definitions:
        await client.wait_for(
            ref_of(definition), meta.name(definition), until="condition=Established", timeout=_ESTABLISHED_SECONDS
        )


async def _delete(client: "Client", objects: Iterable[Object], on_wait: Callable[[str], None]) -> None:
    """Deletes the objects and waits until they are gone, so that their names and ports are free."""
    waiting = []
    for tree in objects:
        kind, name, namespace = ref_of(tree), meta.name(tree), meta.namespace(tree)
        with suppress(NotFound, NoMatch):
            await client.delete(kind, name, namespace)
            waiting.append((kind, name, namespace))
    for kind, name, namespace in waiting:
        on_wait(name)
        with suppress(NotFound):
            await client.wait_for(kind, name, namespace, until="delete", timeout=_GONE_SECONDS)


def _key(tree: Object) -> str:
    group, _, _ = tree["apiVersion"].rpartition("/")
    return f"{group}/{tree['kind']}/{meta.namespace(tree)}/{meta.name(tree)}"


def _write(places: Places, applied: Applied) -> None:
    secret_files.write(places.applied, msgspec.json.encode(applied))
