"""The arithmetic of a rollout: surge, unavailability and proportional scaling. Pure functions of the objects."""

from collections.abc import Iterable, Sequence
from math import ceil, floor

from setpoint.objects.tree import Object

DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
ROLLING, RECREATE = "RollingUpdate", "Recreate"
_INT32 = 2**31 - 1


def replicas_of(obj: Object) -> int:
    """Returns the desired replicas of a deployment or replica set."""
    found: int | None = obj["spec"].get("replicas")
    return 1 if found is None else found


def reported(replica_set: Object, field: str) -> int:
    """Returns a number of the status of a replica set."""
    found: int = (replica_set.get("status") or {}).get(field) or 0
    return found


def total(replica_sets: Iterable[Object]) -> int:
    """Returns the sum of the desired replicas."""
    return sum(map(replicas_of, replica_sets))


def active(replica_sets: Iterable[Object]) -> list[Object]:
    """Returns the replica sets that have, or should have, pods."""
    return [each for each in replica_sets if replicas_of(each) > 0]


def by_age(replica_sets: Iterable[Object]) -> list[Object]:
    """Returns replica sets from the oldest to the newest."""
    return sorted(replica_sets, key=_age)


def _age(replica_set: Object) -> tuple[str, str]:
    metadata = replica_set["metadata"]
    return metadata["creationTimestamp"], metadata["name"]


def is_rolling(deployment: Object) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == ROLLING


def scaled(value: int | str | None, whole: int, *, up: bool) -> int:
    """Returns an absolute number, or a percentage of the whole, rounded up or down."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * whole / 100
    return ceil(part) if up else floor(part)


def _limits(deployment: Object) -> tuple[int, int]:
    """Returns the surge and the unavailability. If both round to zero, one pod may be unavailable, because a rollout
    could not proceed otherwise."""
    rolling, wanted = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}, replicas_of(deployment)
    surge = scaled(rolling.get("maxSurge"), wanted, up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), wanted, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def max_surge(deployment: Object) -> int:
    """Returns the number of pods beyond the desired ones during a rollout."""
    return _limits(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    """Returns the number of pods that may be unavailable during a rollout."""
    wanted = replicas_of(deployment)
    return min(_limits(deployment)[1], wanted) if is_rolling(deployment) and wanted else 0


def new_replicas(deployment: Object, replica_sets: Iterable[Object], current: int) -> int:
    """Returns the replicas of the new replica set, which has `current` ones: as many as the surge allows."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    most = wanted + scaled(rolling.get("maxSurge"), wanted, up=True)
    free = most - total(replica_sets)
    return current if free <= 0 else current + min(free, wanted - current)


def annotated(replica_set: Object, name: str) -> int | None:
    """Returns the number in an annotation; None for a missing or an invalid one."""
    text = (replica_set["metadata"].get("annotations") or {}).get(name, "")
    if not (text.isascii() and text.isdecimal()):
        return None
    return int(text) if int(text) <= _INT32 else None


def is_saturated(deployment: Object, replica_set: Object | None) -> bool:
    """Returns True if a replica set has all replicas of its deployment, and all are available."""
    wanted = replicas_of(deployment)
    return (
        replica_set is not None
        and replicas_of(replica_set) == wanted == annotated(replica_set, DESIRED)
        and reported(replica_set, "availableReplicas") == wanted
    )


def proportional_sizes(deployment: Object, replica_sets: Sequence[Object]) -> list[tuple[Object, int]]:
    """Returns the new sizes of the active replica sets of a deployment that was scaled during a rollout: each grows or
    shrinks in proportion to its size, and the largest one gets the remainder."""
    wanted = replicas_of(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total(replica_sets)
    # From the largest to the smallest; among equals the newest first for growing, the oldest first for shrinking.
    aged = by_age(replica_sets)
    ordered = sorted(aged[::-1] if to_add > 0 else aged, key=lambda each: -replicas_of(each))
    added = 0
    sizes = []
    for each in ordered:
        part = _proportion(deployment, each, to_add, added) if to_add else 0
        added += part
        sizes.append(replicas_of(each) + part)
    if to_add and sizes:
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return list(zip(ordered, sizes, strict=True))


def _proportion(deployment: Object, replica_set: Object, to_add: int, added: int) -> int:
    if to_add == added:
        return 0
    fraction, left = _fraction(deployment, replica_set), to_add - added
    return min(fraction, left) if to_add > 0 else max(fraction, left)


def _fraction(deployment: Object, replica_set: Object) -> int:
    wanted, size = replicas_of(deployment), replicas_of(replica_set)
    if wanted == 0:
        return -size
    before = annotated(replica_set, MAX) or (deployment.get("status") or {}).get("replicas") or 0
    if not before:
        return 0
    exact = size * (wanted + max_surge(deployment)) / before
    return floor(exact + 0.5) - size
