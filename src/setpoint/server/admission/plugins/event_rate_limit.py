"""EventRateLimit: limits the rate at which events are written."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.refusal import all_of
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion")


class RateLimit(NamedTuple):
    """The permitted events per second and the burst, for each `Server`, `Namespace`, `User` or `SourceAndObject`."""

    type: str
    qps: float
    burst: int
    # The maximum number of separately counted keys.
    cache_size: int = 4096


class _Bucket(NamedTuple):
    tokens: float
    since: float


class EventRateLimit(Plugin):
    """Refuses events that exceed any of the limits. Without limits, admits all events."""

    name = "EventRateLimit"

    def __init__(self, limits: Sequence[RateLimit] = ()) -> None:
        self._limits = [(limit, OrderedDict[str, _Bucket]()) for limit in limits]

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.stored_kind.kind == "Event" and not resource.stored_kind.group and verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.dry_run or operation.object is None:
            return
        now = context.services.clock.monotonic()
        problems = []
        for limit, buckets in self._limits:
            key = _key(limit.type, context, operation, operation.object)
            if not _take_token(limit, buckets, key, now):
                problems.append(f"limit reached on type {limit.type} for key {key}")
        if problems:
            raise TooManyRequests.of(all_of(problems), retry_after_seconds=1)


def _take_token(limit: RateLimit, buckets: OrderedDict[str, _Bucket], key: str, now: float) -> bool:
    """Takes a token from the bucket of a key. Returns False if the bucket is empty."""
    bucket = buckets.pop(key, _Bucket(limit.burst, now))
    tokens = min(float(limit.burst), bucket.tokens + (now - bucket.since) * limit.qps)
    buckets[key] = _Bucket(tokens - 1 if tokens >= 1 else tokens, now)
    if len(buckets) > limit.cache_size:
        buckets.popitem(last=False)
    return tokens >= 1


def _key(kind: str, context: Context, operation: Operation, event: Object) -> str:
    if kind == "Namespace":
        return operation.namespace
    if kind == "User":
        return context.user.name
    if kind == "SourceAndObject":
        source, involved = event.get("source") or {}, event.get("involvedObject") or event.get("regarding") or {}
        parts = [source.get("component"), source.get("host"), *(involved.get(name) for name in _INVOLVED)]
        return "".join(part or "" for part in parts)
    return ""
