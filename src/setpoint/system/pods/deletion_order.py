"""The order in which the pods of a replica set are deleted: the least useful pods first.

The rules are those of kube-controller-manager, applied in turn: not assigned to a node, an earlier phase, not ready, a
lower deletion cost, more pods of the same owner on the node, ready for a shorter time, more restarts, younger. Times
are compared by the logarithm of the age; pods of the same magnitude are ordered by uid, which is a random order that
does not always hit the youngest pods.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cmp_to_key
from math import log2
from typing import NamedTuple

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import PENDING, RUNNING, UNKNOWN, is_active, is_ready, phase_of, ready_since
from setpoint.system.turns import PER_TURN, Timed, in_turns

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {PENDING: 0, UNKNOWN: 1, RUNNING: 2}
_COSTS = range(-(2**31), 2**31)


class _Rank(NamedTuple):
    """The facts that decide about the order."""

    # Whether the pod has a node, its phase, readiness and cost, and the negative number of neighbours.
    first: tuple[bool, int, bool, int, int]
    ready_since: datetime | None
    # The negative restarts of containers and of sidecars.
    restarts: tuple[int, int]
    created: datetime | None
    uid: str
    pod: Object


async def pods_to_delete(timed: Timed, pods: Sequence[Object], related: Sequence[Object], number: int) -> list[Object]:
    """Returns the pods to delete. `related` are the pods of all replica sets of the same owner, which count as
    neighbours on a node."""
    if number >= len(pods):
        return list(pods)
    now = timed.clock.now()
    neighbours: Counter[str] = Counter()
    async for pod in in_turns(timed, related):
        if is_active(pod):
            neighbours[pod["spec"].get("nodeName", "")] += 1

    def compare(one: _Rank, other: _Rank) -> int:
        if one.first != other.first:
            return -1 if one.first < other.first else 1
        by_readiness = _by_time(one.ready_since, other.ready_since, one, other, now) if one.first[2] else 0
        if by_readiness:
            return by_readiness
        if one.restarts != other.restarts:
            return -1 if one.restarts < other.restarts else 1
        return _by_time(one.created, other.created, one, other, now)

    key = cmp_to_key(compare)
    chosen: list[_Rank] = []
    for start in range(0, len(pods), PER_TURN):
        part = sorted((_rank(pod, neighbours) for pod in pods[start : start + PER_TURN]), key=key)
        # Python merges two sorted runs with few comparisons.
        chosen = sorted(chosen + part, key=key)[:number]
        await timed.clock.sleep(0)
    return [rank.pod for rank in chosen]


def _rank(pod: Object, neighbours: Counter[str]) -> _Rank:
    metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
    first = bool(node), _PHASES.get(phase_of(pod), 0), is_ready(pod), _cost(pod), -neighbours[node]
    created = metadata.get("creationTimestamp")
    return _Rank(
        first, ready_since(pod), _restarts(pod), parse_time(created) if created else None, metadata["uid"], pod
    )


def _by_time(one: datetime | None, other: datetime | None, a: _Rank, b: _Rank, now: datetime) -> int:
    """Compares two times: a missing one first, then the later one; times of the same magnitude by the uids."""
    if one == other:
        return 0
    if one is None or other is None:
        return -1 if one is None else 1
    difference = _magnitude(one, now) - _magnitude(other, now)
    if difference:
        return difference
    return -1 if a.uid < b.uid else 1


def _magnitude(moment: datetime, now: datetime) -> int:
    nanoseconds = (now - moment).total_seconds() * 1e9
    return int(log2(nanoseconds)) if nanoseconds >= 1 else -1


def _cost(pod: Object) -> int:
    """Returns the deletion cost of a pod; 0 for a missing or an invalid annotation."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    try:
        cost = int(text)
    except ValueError:
        return 0
    return cost if cost in _COSTS and (text == "0" or not text.startswith(("+", "0"))) else 0


def _restarts(pod: Object) -> tuple[int, int]:
    status, containers = pod.get("status") or {}, pod["spec"].get("initContainers") or ()
    sidecars = {each["name"] for each in containers if each.get("restartPolicy") == "Always"}
    regular = [each.get("restartCount", 0) for each in status.get("containerStatuses") or ()]
    beside = [
        each.get("restartCount", 0) for each in status.get("initContainerStatuses") or () if each["name"] in sidecars
    ]
    return -max(regular, default=0), -max(beside, default=0)
