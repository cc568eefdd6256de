"""Deduplication of events: client-go's rules for core/v1 Events.

A repeated event increments the count of the existing one. If an object has many events with the same reason and
different messages (10 within 600 s of each other), they are combined into one with the latest message. A source may
send at most 25 events about one object in a burst, and then one every five minutes. The module does no I/O: the clock
is injected, and the sender reports the server's response (`record_written`).
"""

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.controller.ratelimit import Bucket
from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

AGGREGATE, AGGREGATE_SECONDS = 10, 600.0
BURST, RATE = 25, 1 / 300
REMEMBERED = 4096
COMBINED = "(combined from similar events): "

V = TypeVar("V")


class EventWrite(NamedTuple):
    """An event to create, or to update if there is a patch."""

    event: Object
    patch: Object | None
    # The key of the event in the caches.
    key: str


class Recent(Generic[V]):
    """An LRU cache of a limited number of keys."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        found = self._values.get(key)
        if found is not None:
            self._values.move_to_end(key)
        return found

    def put(self, key: str, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)


class _SimilarEvents:
    """The messages of events that are equal otherwise, and the time of the last one."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.last = 0.0


class _ObservedEvent(NamedTuple):
    """An event that was sent, as stored by the server."""

    times: int
    first: str
    name: str
    resource_version: str


class Correlator:
    """Deduplicates the events of one sender."""

    def __init__(self, clock: Clock, *, max_entries: int = REMEMBERED, burst: int = BURST, rate: float = RATE) -> None:
        self._clock = clock
        self._burst = burst
        self._rate = rate
        self._similar: Recent[_SimilarEvents] = Recent(max_entries)
        self._seen: Recent[_ObservedEvent] = Recent(max_entries)
        self._buckets: Recent[Bucket] = Recent(max_entries)

    def correlate(self, event: Object, combined_name: str) -> EventWrite | None:
        """Returns the event to send; None to drop the event. A combined event gets the given name."""
        event, key = self._aggregate(event, combined_name)
        write = self._observe(event, key)
        return write if self._is_within_rate(event) else None

    def record_written(self, event: Object, key: str) -> None:
        """Records an event as the server has stored it."""
        seen = _ObservedEvent(
            int(event.get("count") or 1),
            event.get("firstTimestamp") or "",
            event["metadata"]["name"],
            event["metadata"].get("resourceVersion") or "",
        )
        self._seen.put(key, seen)

    def _aggregate(self, event: Object, name: str) -> tuple[Object, str]:
        now = self._clock.monotonic()
        reporter = (event.get("reportingComponent", ""), event.get("reportingInstance", ""))
        key = "\0".join((*_source_and_object(event), event["reason"], *reporter))
        similar = self._similar.get(key)
        if similar is None or now - similar.last > AGGREGATE_SECONDS:
            similar = _SimilarEvents()
        similar.texts[event["message"]] = None
        similar.last = now
        self._similar.put(key, similar)
        if len(similar.texts) < AGGREGATE:
            path = event["involvedObject"].get("fieldPath", "")
            return event, "\0".join((*_source_and_object(event), path, event["reason"], event["message"]))
        # Removes one, so that the set never exceeds the threshold.
        del similar.texts[next(iter(similar.texts))]
        moment = format_time(self._clock.now())
        combined = {
            **event,
            "metadata": {"name": name, "namespace": event["metadata"]["namespace"]},
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "message": COMBINED + event["message"],
        }
        return combined, key

    def _observe(self, event: Object, key: str) -> EventWrite:
        seen = self._seen.get(key)
        patch: Object | None = None
        if seen is not None:
            patch = {"count": seen.times + 1, "lastTimestamp": event["lastTimestamp"], "message": event["message"]}
            metadata = {**event["metadata"], "name": seen.name, "resourceVersion": seen.resource_version}
            event = {**event, "metadata": metadata, "firstTimestamp": seen.first, "count": seen.times + 1}
        self.record_written(event, key)
        return EventWrite(event, patch, key)

    def _is_within_rate(self, event: Object) -> bool:
        key = "\0".join(_source_and_object(event))
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = Bucket(self._clock, self._rate, self._burst)
        self._buckets.put(key, bucket)
        return bucket.take()


def _source_and_object(event: Object) -> tuple[str, ...]:
    source: dict[str, Any] = event.get("source") or {}
    about: dict[str, Any] = event["involvedObject"]
    named = ("kind", "namespace", "name", "uid", "apiVersion")
    return (
        source.get("component", ""),
        source.get("host", ""),
        *(about.get(name, "") for name in named),
        event["type"],
    )
