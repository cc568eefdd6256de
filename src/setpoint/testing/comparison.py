"""Compares objects of different runs, without fields that differ from run to run."""

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

# Fields set by the server or at random, anywhere in an object.
_CHANCE = frozenset(("uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime"))
_COUNTED = frozenset(("generation", "observedGeneration"))


def comparable(obj: AnyObject, *, generations: bool = False) -> Object:
    """Returns a copy of an object without UIDs, versions, times and managed fields at any depth.

    Generations are removed as well, unless `generations` is set.

        assert comparable(first) == comparable(second)
    """
    dropped = _CHANCE if generations else _CHANCE | _COUNTED
    found = _without(thaw(tree_of(obj)), dropped)
    assert isinstance(found, dict)
    return found


def _without(value: Json, dropped: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return {name: _without(item, dropped) for name, item in value.items() if name not in dropped}
    return [_without(item, dropped) for item in value] if isinstance(value, list) else value
