"""What a completed walk came to: every output as it was given, and the version that the server had it in. A walk that
puts out the same, and finds the same versions in the cache, has nothing to do, and asks nobody."""

from typing import NamedTuple

from setpoint.cache.cache import Cache, NotCached
from setpoint.cache.informer import Informer
from setpoint.client.kinds import KindRef
from setpoint.controller.context import Context
from setpoint.controller.read_tracker import Look
from setpoint.flow.fsm.outputs import Output
from setpoint.flow.inventory import Identity
from setpoint.flow.policy import How
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object


class Place(NamedTuple):
    """One output: as it was given, and where it is."""

    body: int
    how: How
    version: str
    look: Look
    namespace: str


class Settled:
    """All outputs of a walk, by what they call themselves."""

    def __init__(self, places: dict[Identity, Place]) -> None:
        self.places = places
        self._looks = frozenset(place.look for place in places.values())

    def seen_by(self, ctx: Context) -> None:
        """Has every output bring the object back, those that this walk did not come to as well."""
        ctx.looked_again(self._looks)

    def unchanged(self, ctx: Context, outputs: list[Output]) -> list[Object] | None:
        """The objects of outputs that are as they should be, as the cache has them; None where one may not be."""
        if ctx.client.has_doubts:
            return None
        found: list[Object] = []
        informers: dict[tuple[GroupVersionKind, str], Informer[Object] | None] = {}
        cache = ctx.client.cache
        for given, how, _ in outputs:
            place = self.places.get(given.identity)
            if place is None or place.body != hash(given.body) or place.how != how or place.look.kind != given.gvk:
                return None
            where = given.gvk, place.namespace
            if where not in informers:
                informers[where] = _informer(cache, *where)
            informer = informers[where]
            held = None if informer is None else informer.store.get(place.look.key)
            if held is None or held.meta.resource_version != place.version:
                return None
            found.append(held.object)
        return found


def _informer(cache: Cache, kind: GroupVersionKind, namespace: str) -> Informer[Object] | None:
    """Who has the objects of a kind: all of them, or those of sets."""
    ref = KindRef(kind)
    try:
        return cache.informer(ref, namespace)
    except NotCached:
        parts = (each for each in cache.informers if each.kind == ref and each.scope.transform is None)
        return next(parts, None)
