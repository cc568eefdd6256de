"""The facts of a pod that controllers need after every change: a few fields, decoded from the bytes of the pod.

Ten thousand pods change at a time, and more than ten handlers examine each change. So the facts are decoded once for
all handlers, and stay with the entry of the cache; the whole pod is decoded only for a reconcile that needs the pod.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from sys import intern
from typing import Any, NamedTuple

import msgspec

from setpoint.cache.entry import CachedObject
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import ENDED

# The condition of a pod that will be deleted because of a disruption.
_TARGET = "DisruptionTarget"


class _Named(msgspec.Struct, gc=False):
    name: str = ""


class _Present(msgspec.Struct, gc=False):
    """A value whose fields do not matter."""


class _ClaimSource(msgspec.Struct, rename="camel", gc=False):
    claim_name: str = ""


class _Volume(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: _Present | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[_Named] | None = None
    priority: int | None = None
    hostname: str | None = None
    subdomain: str | None = None
    volumes: list[_Volume] | None = None


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class _Address(msgspec.Struct, rename="camel", gc=False):
    ip: str | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    pod_ips: list[_Address] | None = msgspec.field(default=None, name="podIPs")
    nominated_node_name: str | None = None
    start_time: str | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _Named
    spec: _Spec
    status: _Status | None = None


_read = msgspec.json.Decoder(_Pod).decode
_NO_STATUS = _Status()


class ClaimUse(NamedTuple):
    """The use of a claim by a volume of a pod."""

    volume: str
    claim: str
    is_ephemeral: bool


class PodFacts(msgspec.Struct, frozen=True, gc=False):
    """The facts of one state of a pod. Texts that many pods have in common are shared."""

    # The node; empty for a pod without one.
    node: str
    phase: str
    scheduler: str
    has_gates: bool
    priority: int
    hostname: str
    subdomain: str
    nominated_node: str
    addresses: tuple[str, ...]
    claims: tuple[ClaimUse, ...]
    start_time: str
    is_ready: bool
    # The time of the last change of the readiness; empty if unknown.
    ready_changed: str
    # The reason of the condition DisruptionTarget, while its status is True; None without one.
    disruption: str | None

    @classmethod
    def read(cls, raw: bytes) -> "PodFacts":
        """Decodes the facts from the bytes of a pod."""
        return _facts(_read(raw))

    @classmethod
    def of(cls, pod: Object) -> "PodFacts":
        """Returns the facts of a decoded pod."""
        return _facts(msgspec.convert(pod, _Pod))

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED

    def seconds_to_available(self, min_ready_seconds: int, now: datetime) -> float | None:
        """Returns the seconds until a ready pod is available, 0 for an available pod, and None for one that is not
        ready."""
        if not self.is_ready:
            return None
        if not min_ready_seconds:
            return 0.0
        if not self.ready_changed:
            return None
        due = parse_time(self.ready_changed) + timedelta(seconds=min_ready_seconds)
        return max((due - now).total_seconds(), 0.0)


def facts_of(entry: CachedObject[Any]) -> PodFacts:
    """Returns the facts of a pod in the cache."""
    return entry.view(PodFacts)


def _facts(pod: _Pod) -> PodFacts:
    spec, status = pod.spec, pod.status or _NO_STATUS
    ready: _Condition | None = None
    target: _Condition | None = None
    # Of conditions of the same type, the first one counts.
    for condition in reversed(status.conditions or ()):
        if condition.type == "Ready":
            ready = condition
        elif condition.type == _TARGET:
            target = condition
    return PodFacts(
        node=intern(spec.node_name or ""),
        phase=intern(status.phase or ""),
        scheduler=intern(spec.scheduler_name or ""),
        has_gates=bool(spec.scheduling_gates),
        priority=spec.priority or 0,
        hostname=spec.hostname or "",
        subdomain=spec.subdomain or "",
        nominated_node=intern(status.nominated_node_name or ""),
        addresses=tuple([each.ip or "" for each in status.pod_ips or ()]),
        claims=tuple(_claims(pod.metadata.name, spec.volumes or ())),
        start_time=intern(status.start_time or ""),
        is_ready=ready is not None and ready.status == "True",
        ready_changed="" if ready is None else intern(ready.last_transition_time or ""),
        disruption=None if target is None or target.status != "True" else intern(target.reason or ""),
    )


def _claims(name: str, volumes: Iterable[_Volume]) -> Iterable[ClaimUse]:
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.name, volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimUse(volume.name, f"{name}-{volume.name}", True)
