"""The result of a completed walk: every output as given, with its resource version on the server.

A later walk with the same outputs that finds the same versions in the cache sends no requests.
"""

from typing import NamedTuple

from setpoint.cache.cache import Cache, NotCached
from setpoint.cache.informer import Informer
from setpoint.client.kinds import KindRef
from setpoint.controller.context import Context
from setpoint.controller.read_tracker import Lookup
from setpoint.flow.fsm.outputs import StateOutput
from setpoint.flow.inventory import Identity
from setpoint.flow.policy import How
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object


class OutputLocation(NamedTuple):
    """One output as given, and its location."""

    body: int
    how: How
    version: str
    lookup: Lookup
    namespace: str


class PreviousOutputs:
    """All outputs of a walk, by their identity as given."""

    def __init__(self, places: dict[Identity, OutputLocation]) -> None:
        self.places = places
        self._lookups = frozenset(place.lookup for place in places.values())

    def record_lookups(self, ctx: Context) -> None:
        """Records lookups of all outputs, including unreached ones, so that their changes trigger the object."""
        ctx.record_lookups(self._lookups)

    def unchanged(self, ctx: Context, outputs: list[StateOutput]) -> list[Object] | None:
        """Returns the cached objects of unchanged outputs; None if any may have changed."""
        if ctx.client.has_uncertain_writes:
            return None
        found: list[Object] = []
        informers: dict[tuple[GroupVersionKind, str], Informer[Object] | None] = {}
        cache = ctx.client.cache
        for given, how, _ in outputs:
            place = self.places.get(given.identity)
            if place is None or place.body != hash(given.body) or place.how != how or place.lookup.kind != given.gvk:
                return None
            where = given.gvk, place.namespace
            if where not in informers:
                informers[where] = _informer(cache, *where)
            informer = informers[where]
            entry = None if informer is None else informer.store.get(place.lookup.key)
            if entry is None or entry.meta.resource_version != place.version:
                return None
            found.append(entry.object)
        return found


def _informer(cache: Cache, kind: GroupVersionKind, namespace: str) -> Informer[Object] | None:
    """Returns the informer of a kind: of all objects, or of those in apply sets."""
    ref = KindRef(kind)
    try:
        return cache.informer(ref, namespace)
    except NotCached:
        parts = (each for each in cache.informers if each.kind == ref and each.scope.transform is None)
        return next(parts, None)
