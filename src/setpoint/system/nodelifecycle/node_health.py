"""The conditions and taints of nodes by their signs of life. Pure functions."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.scheduler.plugins.taint_toleration import NO_EXECUTE, NO_SCHEDULE

READY, TRUE, FALSE, UNKNOWN = "Ready", "True", "False", "Unknown"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# The taints of conditions, by type and status.
_TAINTS = {
    (READY, FALSE): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", TRUE): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", TRUE): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", TRUE): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", TRUE): "node.kubernetes.io/pid-pressure",
}
_OWN_KEYS = frozenset((*_TAINTS.values(), _UNSCHEDULABLE))
_REPORTED = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


def ready_status(node: Object) -> str:
    """Returns the status of the condition Ready; empty for a node that never reported one."""
    for each in (node.get("status") or {}).get("conditions") or ():
        if each["type"] == READY:
            found: str = each["status"]
            return found
    return ""


def unknown_conditions(node: Object, now: datetime) -> list[Object]:
    """Returns the conditions of a node that has stopped to report."""
    moment, created = format_time(now), node["metadata"]["creationTimestamp"]
    known = {each["type"]: each for each in (node.get("status") or {}).get("conditions") or ()}
    found = {kind: dict(each) for kind, each in known.items()}
    for kind in _REPORTED:
        if kind not in known:
            found[kind] = {
                "type": kind,
                "status": UNKNOWN,
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": created,
                "lastTransitionTime": moment,
            }
        elif known[kind]["status"] != UNKNOWN:
            found[kind] |= {
                "status": UNKNOWN,
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": moment,
            }
    return list(found.values())


def wanted_taints(node: Object, *, evicts: bool | None, now: datetime) -> list[Object] | None:
    """Returns the taints of a node by its conditions and its cordon; None without a change. `evicts` means a NoExecute
    taint of a node that is not ready; None keeps the present ones of this kind."""
    present = list(node["spec"].get("taints") or ())
    status = ready_status(node)
    conditions = (node.get("status") or {}).get("conditions") or ()
    wanted = {
        (_TAINTS[each["type"], each["status"]], NO_SCHEDULE)
        for each in conditions
        if (each["type"], each["status"]) in _TAINTS
    }
    if node["spec"].get("unschedulable"):
        wanted.add((_UNSCHEDULABLE, NO_SCHEDULE))
    own = {(key, NO_SCHEDULE) for key in _OWN_KEYS}
    if evicts is not None or status == TRUE:
        own |= {(NOT_READY, NO_EXECUTE), (UNREACHABLE, NO_EXECUTE)}
        if evicts and status in (FALSE, UNKNOWN):
            wanted.add((_TAINTS[READY, status], NO_EXECUTE))
    has = {_identity(each) for each in present}
    kept = [each for each in present if _identity(each) not in own or _identity(each) in wanted]
    added = [{"key": key, "effect": effect, "timeAdded": format_time(now)} for key, effect in sorted(wanted - has)]
    return [*kept, *added] if added or len(kept) != len(present) else None


def has_execute_taint(node: Object) -> bool:
    """Returns True for a node with a NoExecute taint because of its state."""
    return any(
        each["effect"] == NO_EXECUTE and each["key"] in (NOT_READY, UNREACHABLE)
        for each in node["spec"].get("taints") or ()
    )


def _identity(taint: Object) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def wanted_labels(node: Object) -> Object:
    """Returns the missing labels of older names for the system and the architecture."""
    labels = node["metadata"].get("labels") or {}
    pairs = (("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch"))
    return {older: labels[name] for name, older in pairs if name in labels and labels.get(older) != labels[name]}


def zone_of(node: Object) -> str:
    """Returns the region and the zone of a node."""
    labels = node["metadata"].get("labels") or {}
    return "/".join(labels.get(f"topology.kubernetes.io/{each}", "") for each in ("region", "zone"))


class Zones:
    """The states of nodes by zone, which limit evictions: none while all nodes have failed, and of the nodes of a zone
    one in ten seconds; none while most of a small zone have failed, and fewer of a large one."""

    RATE, SLOW_RATE = 0.1, 0.01
    LARGE, MANY, SHARE = 50, 2, 0.55

    def __init__(self) -> None:
        self._zones: dict[str, str] = {}
        self._failed: dict[str, bool] = {}
        self._numbers: dict[str, list[int]] = {}
        self._due: dict[str, float] = {}
        self._total = [0, 0]

    def set(self, name: str, zone: str, failed: bool) -> bool:
        """Records the state of a node. Returns True if this changes the rate of evictions from other nodes."""
        if self._zones.get(name) == zone and self._failed.get(name) == failed:
            return False
        zones = {zone, self._zones.get(name, zone)}
        before = [self._rate(each) for each in zones], self.is_all_failed
        self.remove(name)
        self._zones[name], self._failed[name] = zone, failed
        self._count(zone, failed, 1)
        return before != ([self._rate(each) for each in zones], self.is_all_failed)

    def remove(self, name: str) -> None:
        """Forgets a node."""
        zone = self._zones.pop(name, None)
        if zone is not None:
            self._count(zone, self._failed.pop(name), -1)

    def _count(self, zone: str, failed: bool, number: int) -> None:
        self._numbers.setdefault(zone, [0, 0])[failed] += number
        self._total[failed] += number

    def failed(self) -> Sequence[str]:
        """Returns the failed nodes."""
        return [name for name, failed in self._failed.items() if failed]

    @property
    def is_all_failed(self) -> bool:
        return self._total[0] == 0

    def _rate(self, zone: str) -> float | None:
        """Returns the nodes of a zone that may be tainted in a second; None while no node may be tainted."""
        ready, failed = self._numbers.get(zone, (0, 0))
        if self.is_all_failed:
            return None
        if ready and failed > self.MANY and failed / (ready + failed) >= self.SHARE:
            return None if ready + failed <= self.LARGE else self.SLOW_RATE
        return self.RATE

    def wait(self, zone: str, now: float) -> float | None:
        """Returns the seconds until a node of a zone may be tainted, and takes the turn if there are none to wait; None
        while no node may be tainted."""
        rate = self._rate(zone)
        if rate is None:
            return None
        wait = max(self._due.get(zone, now) - now, 0.0)
        if not wait:
            self._due[zone] = now + 1 / rate
        return wait
