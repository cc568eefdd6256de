"""The limits of a change of replicas: stabilization by recent recommendations, rates, minimum and maximum."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple, TypeAlias

from setpoint.objects.tree import Object

STABILIZATION_SECONDS = 300
UP_SLOWER = "recent recommendations were lower than current one, applying the lowest recent recommendation"
DOWN_SLOWER = "recent recommendations were higher than current one, applying the highest recent recommendation"
_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FAST_UP = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_TOO_FAST_DOWN = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


_Select: TypeAlias = Callable[[Iterable[int]], int]
# The policy that applies, by `selectPolicy`: of several limits the one that allows the largest change is the default.
# `Disabled` has none.
_SELECTIONS: Mapping[str, _Select] = {"Max": max, "Min": min}
_OPPOSITES: Mapping[str, _Select] = {"Max": min, "Min": max}


class Moment(NamedTuple):
    """A number at a time: a recommendation, or a change of replicas."""

    time: datetime
    number: int


@dataclass
class Memory:
    """The recent recommendations and changes of one autoscaler. A restart forgets them, as on a cluster."""

    recommendations: list[Moment] = field(default_factory=list)
    ups: list[Moment] = field(default_factory=list)
    downs: list[Moment] = field(default_factory=list)

    def recommend(self, now: datetime, replicas: int, seconds: float) -> None:
        """Records a recommendation, and forgets those that are older than a window."""
        since = now - timedelta(seconds=seconds)
        self.recommendations = [each for each in self.recommendations if each.time > since]
        self.recommendations.append(Moment(now, replicas))

    def changed(self, now: datetime, before: int, after: int, behavior: Object | None) -> None:
        """Records a change of replicas, for as long as a policy looks back."""
        if behavior is None:
            return
        for name, moments, change in (("scaleUp", self.ups, after - before), ("scaleDown", self.downs, before - after)):
            policies = (behavior.get(name) or {}).get("policies") or ()
            longest = max((each["periodSeconds"] for each in policies), default=0)
            moments[:] = [each for each in moments if each.time >= now - timedelta(seconds=longest)]
            if change > 0:
                moments.append(Moment(now, change))


class Limits(NamedTuple):
    """The minimum, the maximum, and the behavior of an autoscaler."""

    least: int
    most: int
    behavior: Object | None


class Limited(NamedTuple):
    """The replicas after all limits, with the reasons and messages of two conditions."""

    replicas: int
    able: tuple[str, str]
    is_limited: bool
    limit: tuple[str, str]


def limited(current: int, wanted: int, limits: Limits, memory: Memory, now: datetime) -> Limited:
    """Applies the limits to the replicas that the metrics demand."""
    if limits.behavior is None:
        since = now - timedelta(seconds=STABILIZATION_SECONDS)
        stable = max((each.number for each in memory.recommendations if each.time > since), default=wanted)
        stable = max(stable, wanted)
        memory.recommend(now, wanted, STABILIZATION_SECONDS)
        able = ("ScaleDownStabilized", DOWN_SLOWER)
        replicas, limit = _by_defaults(current, stable, limits)
    else:
        stable = _stabilized(current, wanted, limits.behavior, memory, now)
        able = ("ScaleUpStabilized", UP_SLOWER) if wanted >= current else ("ScaleDownStabilized", DOWN_SLOWER)
        replicas, limit = _by_rate(current, stable, limits, memory, now)
    if stable == wanted:
        able = ("ReadyForNewScale", "recommended size matches current size")
    return Limited(replicas, able, replicas != stable, limit)


def _by_defaults(current: int, wanted: int, limits: Limits) -> tuple[int, tuple[str, str]]:
    fastest = max(2 * current, 4)
    most, why = (fastest, _TOO_FAST_UP) if limits.most > fastest else (limits.most, _TOO_MANY)
    if wanted < limits.least:
        return limits.least, _TOO_FEW
    return (most, why) if wanted > most else (wanted, _WITHIN)


def _stabilized(current: int, wanted: int, behavior: Object, memory: Memory, now: datetime) -> int:
    windows = {
        "scaleUp": _window(behavior, "scaleUp", 0),
        "scaleDown": _window(behavior, "scaleDown", STABILIZATION_SECONDS),
    }

    def recent(name: str) -> list[int]:
        since = now - timedelta(seconds=windows[name])
        return [each.number for each in memory.recommendations if each.time > since]

    lowest, highest = min([wanted, *recent("scaleUp")]), max([wanted, *recent("scaleDown")])
    memory.recommend(now, wanted, max(windows.values()))
    return min(max(current, lowest), highest)


def _window(behavior: Object, name: str, default: int) -> int:
    found = (behavior.get(name) or {}).get("stabilizationWindowSeconds")
    return default if found is None else int(found)


def _by_rate(current: int, wanted: int, limits: Limits, memory: Memory, now: datetime) -> tuple[int, tuple[str, str]]:
    behavior = limits.behavior or {}
    if wanted > current:
        fastest = max(_up_limit(current, behavior.get("scaleUp") or {}, memory, now), current)
        most, why = (fastest, _TOO_FAST_UP) if limits.most > fastest else (limits.most, _TOO_MANY)
        return (most, why) if wanted > most else (wanted, _WITHIN)
    if wanted < current:
        fastest = min(_down_limit(current, behavior.get("scaleDown") or {}, memory, now), current)
        least, why = (fastest, _TOO_FAST_DOWN) if limits.least < fastest else (limits.least, _TOO_FEW)
        return (least, why) if wanted < least else (wanted, _WITHIN)
    return wanted, _WITHIN


def _before(current: int, policy: Object, memory: Memory, now: datetime) -> int:
    """Returns the replicas at the beginning of the period of a policy."""
    since = now - timedelta(seconds=policy["periodSeconds"])

    def changes(moments: Iterable[Moment]) -> int:
        return sum(each.number for each in moments if each.time > since)

    return current - changes(memory.ups) + changes(memory.downs)


def _up_limit(current: int, rules: Object, memory: Memory, now: datetime) -> int:
    select = _SELECTIONS.get(rules.get("selectPolicy") or "Max")
    if select is None:
        return current
    found = []
    for policy in rules.get("policies") or ():
        start, value = _before(current, policy, memory, now), policy["value"]
        found.append(start + value if policy["type"] == "Pods" else ceil(start * (1 + value / 100)))
    return select(found) if found else current


def _down_limit(current: int, rules: Object, memory: Memory, now: datetime) -> int:
    select = _OPPOSITES.get(rules.get("selectPolicy") or "Max")
    if select is None:
        return current
    found = []
    for policy in rules.get("policies") or ():
        start, value = _before(current, policy, memory, now), policy["value"]
        found.append(start - value if policy["type"] == "Pods" else int(start * (1 - value / 100)))
    return select(found) if found else current
